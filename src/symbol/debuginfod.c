/* symbol/debuginfod.c - files from debuginfod servers, by build-id. See search_i.h.
 *
 * The library is loaded when it is first asked for and not linked: it brings an HTTP client and
 * more with it, and most runs never need it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/search_i.h"

struct debuginfod_client;

static struct {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *);
	int (*find[2])(struct debuginfod_client *, const unsigned char *, int, char **);
	bool is_loaded;
} lib;

static void *find_function(void *library, const char *name)
{
	void *function = dlsym(library, name);

	return function;
}

static void load(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	*(void **)&lib.begin = find_function(library, "debuginfod_begin");
	*(void **)&lib.end = find_function(library, "debuginfod_end");
	*(void **)&lib.find[DEBUGINFOD_DEBUG] = find_function(library, "debuginfod_find_debuginfo");
	*(void **)&lib.find[DEBUGINFOD_EXECUTABLE] =
		find_function(library, "debuginfod_find_executable");
	lib.is_loaded = lib.begin && lib.end && lib.find[0] && lib.find[1];
}

char *debuginfod_find(enum debuginfod_kind kind, const uint8_t *build_id, size_t build_id_bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct debuginfod_client *client;
	char *path = NULL;
	int fd;

	pthread_once(&once, load);
	if (!lib.is_loaded || !(client = lib.begin()))
		return NULL;
	fd = lib.find[kind](client, build_id, (int)build_id_bytes, &path);
	if (fd >= 0)
		close(fd);
	lib.end(client);
	if (fd < 0) {
		free(path);
		return NULL;
	}
	return path;
}
