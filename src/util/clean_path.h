/* util/clean_path.h - paths of source files without detours.
 *
 * Compilers write paths as they were given: /src/build/../lib/./x.c. The file system is not asked, so
 * "link/.." is taken for nothing, though link may lead elsewhere.
 */
#ifndef UTIL_CLEAN_PATH_H
#define UTIL_CLEAN_PATH_H

#include "base/compiler.h"

#define CLEAN_PATH_BYTES 1024

/* Takes ".", "dir/.." and doubled slashes out of a path, as far as the text tells; ".." is left only at the
 * start of a relative path. Returns buf, or path itself when it is too long. */
const char *clean_path(const char *path, char buf[CLEAN_PATH_BYTES]);

#endif
