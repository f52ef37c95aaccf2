/* cli/export_file.h - where an export goes: a file that appears whole or not at all, or the
 * standard output; compressed when its name ends with .gz.
 */
#ifndef CLI_EXPORT_FILE_H
#define CLI_EXPORT_FILE_H

#include <stdio.h>

#include "export/export.h"

struct export_file; /* opaque: defined in export_file.c */

/* Whether path (NULL or "-": the standard output) will do for the format; writes nothing. */
int export_file_check(const char *path, const struct export_format *f, struct err *err);

int export_file_open(const char *path, const struct export_format *f, struct export_file **ret,
		     struct err *err);
FILE *export_file_stream(struct export_file *file);

/* result: of what was written. Less than 0: the file is given up, err stays as it is, and the
 * result is passed on. file is gone in any case. */
int export_file_close(struct export_file *file, int result, struct err *err);

#endif
