/* record/program_path.h - the path of the program, by the name under which it was run.
 *
 * /proc/self/exe names the file itself. A file may have several names (redis-server is a link to
 * redis-check-rdb, sh to dash); people look for the name that they started.
 */
#ifndef RECORD_PROGRAM_PATH_H
#define RECORD_PROGRAM_PATH_H

#include "base/compiler.h"

/* Writes the absolute path into path, cut to capacity, with a zero at the end. Returns its length; 0:
 * not known. Threads: any. */
size_t program_path(char *path, size_t capacity);

/* A path that opens the program's file: the link of /proc, also after the file was replaced; where there
 * is no /proc, the path that was executed. Threads: any. */
const char *program_file(void);

#endif
