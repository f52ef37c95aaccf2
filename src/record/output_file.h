/* record/output_file.h - the names of recordings, and how their files are created.
 *
 * The name is MEMORY_PROFILER_OUTPUT with its placeholders. A run of the recorder may write several
 * files (pieces); %n is the number of the piece, from 0. A file that is there already is never
 * replaced:
 *   - A finished recording of an earlier run moves away, to NAME.old, NAME.old.1, NAME.old.2 ...
 *   - If another process is writing the file, or the file is an earlier piece of this run, the new
 *     file gets a number in front of the ending: app.dat, app.1.dat, app.2.dat ...
 *   - A pattern with neither %n nor %t gives all pieces the same name. Then the second piece is
 *     app.1.dat, the third is app.2.dat, although app.dat may be gone by then.
 *
 * Threads: the writer only.
 */
#ifndef RECORD_OUTPUT_FILE_H
#define RECORD_OUTPUT_FILE_H

#include "record/record.h"

/* Creates the file of a piece, empty, mode 0600, and writes its path (RECORD_PATH_BYTES) to path.
 * A descriptor or -errno. */
long output_file_create(const struct recorder *rec, uint32_t piece, char *path);

/* Removes the file if it is a piece of this run. False: it is not, or it cannot be removed. */
bool output_file_remove(const struct recorder *rec, const char *path);

#endif
