/* util/clean_path.h - paths of source files without "." and "..".
 *
 * Compilers write paths as they were given: /src/build/../lib/./x.c. clean_path() looks at the text
 * only, not at the file system: "link/.." is removed, although link may be a symbolic link to
 * another folder.
 */
#ifndef UTIL_CLEAN_PATH_H
#define UTIL_CLEAN_PATH_H

#include "base/compiler.h"

#define CLEAN_PATH_BYTES 1024

/* Removes ".", "dir/.." and doubled slashes from a path. ".." stays only at the start of a relative
 * path. Returns buf, or path itself when path has more than CLEAN_PATH_BYTES - 2 bytes. */
const char *clean_path(const char *path, char buf[CLEAN_PATH_BYTES]);

#endif
