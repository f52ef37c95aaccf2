/* cli/export_file.h - the output of an export: a file, or the standard output.
 *
 * A regular file appears only when it is complete (util/atomic_file.h). It is compressed if its name
 * ends with .gz, unless the format is compressed by itself.
 */
#ifndef CLI_EXPORT_FILE_H
#define CLI_EXPORT_FILE_H

#include <stdio.h>

#include "export/export.h"

struct export_file; /* opaque: defined in export_file.c */

/* Checks, before a recording is read, whether the format can be written to path (NULL or "-": the
 * standard output). Writes nothing. Returns 0 or -ERR_USAGE. */
int export_file_check(const char *path, const struct export_format *f, struct err *err);

/* Opens the output. Returns 0 or -ERR_x; the caller ends it with export_file_close(). */
int export_file_open(const char *path, const struct export_format *f, struct export_file **ret,
		     struct err *err);

/* The stream to write to. Borrowed until export_file_close(). */
FILE *export_file_stream(struct export_file *file);

/* Closes and frees file. result is what writing returned: if it is 0, the file gets its name, and
 * the result is 0 or -ERR_x of closing; otherwise the file is discarded, and result is returned with
 * err unchanged. An error of an earlier write to the file takes precedence over both. */
int export_file_close(struct export_file *file, int result, struct err *err);

#endif
