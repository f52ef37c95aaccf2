/* util/clean_path.c - see clean_path.h. */
#include "util/clean_path.h"

#include <string.h>

/* Where the last part of a path of n bytes begins. */
static size_t last_part(const char *path, size_t n)
{
	while (n > 0 && path[n - 1] != '/')
		n--;
	return n;
}

const char *clean_path(const char *path, char buf[CLEAN_PATH_BYTES])
{
	size_t n_root = path[0] == '/', n = n_root, len;

	if (strlen(path) + 2 > CLEAN_PATH_BYTES)
		return path;
	buf[0] = '/';
	for (const char *p = path; *p; p += len + (p[len] == '/')) {
		size_t last = last_part(buf, n);
		bool is_up;

		len = strcspn(p, "/");
		is_up = len == 2 && p[0] == '.' && p[1] == '.';
		if (len == 0 || (len == 1 && p[0] == '.') || (is_up && n_root && n == n_root))
			continue;
		if (is_up && n > n_root &&
		    !(n - last == 2 && buf[last] == '.' && buf[last + 1] == '.')) {
			n = last > n_root ? last - 1 : n_root;
			continue;
		}
		if (n > n_root)
			buf[n++] = '/';
		memcpy(buf + n, p, len);
		n += len;
	}
	buf[n] = 0;
	return buf;
}
