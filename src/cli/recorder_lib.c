/* cli/recorder_lib.c - see recorder_lib.h. */
#include "cli/recorder_lib.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MEMORY_PROFILER_LIBDIR
#define MEMORY_PROFILER_LIBDIR "/usr/local/lib"
#endif

#define LIBRARY "libmemory_profiler.so"

/* Puts the absolute path of the first file that matches the glob pattern into path. */
static bool find_file(const char *pattern, char path[PATH_MAX])
{
	glob_t found = {0};
	bool ok = false;

	if (glob(pattern, 0, NULL, &found) == 0)
		ok = found.gl_pathc > 0 && realpath(found.gl_pathv[0], path);
	globfree(&found);
	return ok;
}

/* Copies text to out, with a backslash before each character that is special for glob(). */
static void quote_pattern(const char *text, char *out, size_t capacity)
{
	size_t n = 0;

	for (; *text && n + 3 < capacity; text++) {
		if (strchr("*?[]\\", *text))
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n] = 0;
}

static int find_library(char path[PATH_MAX], struct err *err)
{
	static const char *const relative[] = {"/" LIBRARY, "/../lib/" LIBRARY,
					       "/../lib/*-linux-*/" LIBRARY, "/../lib64/" LIBRARY};
	char self[PATH_MAX], dir[2 * PATH_MAX], pattern[2 * PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return err_set_errno(err, errno, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	quote_pattern(self, dir, sizeof(dir));
	for (size_t i = 0; i < ARRAY_LEN(relative); i++) {
		snprintf(pattern, sizeof(pattern), "%s%s", dir, relative[i]);
		if (find_file(pattern, path))
			return 0;
	}
	if (find_file(MEMORY_PROFILER_LIBDIR "/" LIBRARY, path) ||
	    find_file(MEMORY_PROFILER_LIBDIR "/*-linux-*/" LIBRARY, path))
		return 0;
	return err_set(err, ERR_REFUSED,
		       LIBRARY
		       " is not in %s, not in ../lib from there, and not in " MEMORY_PROFILER_LIBDIR
		       "; build it (make) or install it (make install)",
		       self);
}

int recorder_lib_preload(struct err *err)
{
	const char *old = getenv("LD_PRELOAD");
	char path[PATH_MAX];
	char *value = NULL;
	int r = find_library(path, err);

	if (r < 0)
		return r;
	if (strpbrk(path, " :"))
		return err_set(
			err, ERR_REFUSED,
			"%s: LD_PRELOAD cannot contain a path with a blank or a colon; move this "
			"program and the library to another folder",
			path);
	if (old && *old)
		r = asprintf(&value, "%s:%s", path, old);
	else
		r = asprintf(&value, "%s", path);
	if (r < 0)
		return err_set_memory(err, strlen(path));
	r = setenv("LD_PRELOAD", value, 1) < 0 ? err_set_memory(err, strlen(value)) : 0;
	free(value);
	return r;
}
