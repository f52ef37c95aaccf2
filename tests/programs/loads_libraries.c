/* loads_libraries LIBRARY HOW - dlopens and dlcloses a library that allocates at both ends.
 *
 * HOW: plain, deepbind (its malloc is then libc's own), dlmopen (a libc of its own), thread (in a
 * thread), missing (a library that does not exist).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path, *how;
static unsigned n_blocks;

static int once(void)
{
	int flags = RTLD_NOW | (strcmp(how, "deepbind") ? 0 : RTLD_DEEPBIND);
	char *(*make)(size_t);
	void *library;
	char *block;

	if (!strcmp(how, "missing")) {
		library = dlopen("/nonexistent/library.so", flags);
		n_blocks += strlen(dlerror()) > 0;
		return library != NULL;
	}
	library = strcmp(how, "dlmopen") ? dlopen(path, flags) : dlmopen(LM_ID_NEWLM, path, flags);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	make = (char *(*)(size_t))dlsym(library, "lib_constructors_make");
	block = make(200);
	n_blocks += block[199] == 'm';
	if (strcmp(how, "dlmopen")) /* the block of another libc cannot be freed by this one */
		free(block);
	return dlclose(library);
}

static void *in_thread(void *arg)
{
	*(int *)arg = once();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned rounds = 12;
	int bad = 0, failed;
	pthread_t t;

	if (argc != 3)
		return 2;
	path = argv[1];
	how = argv[2];
	if (!strcmp(how, "dlmopen"))
		rounds = 3;
	for (unsigned i = 0; i < rounds; i++) {
		if (!strcmp(how, "thread")) {
			pthread_create(&t, NULL, in_thread, &failed);
			pthread_join(t, NULL);
		} else {
			failed = once();
		}
		bad += failed;
	}
	printf("%u blocks, %d failed\n", n_blocks, bad);
	return bad != 0;
}
