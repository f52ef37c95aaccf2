/* export/temp_file.h - a temporary file without a name, in $TMPDIR or /tmp; close() removes it. */
#ifndef EXPORT_TEMP_FILE_H
#define EXPORT_TEMP_FILE_H

#include "util/err.h"

int temp_file_open(int *ret_fd, struct err *err);
int temp_file_write(int fd, uint64_t offset, const void *bytes, size_t len, struct err *err);
int temp_file_read(int fd, uint64_t offset, void *bytes, size_t len, struct err *err);

#endif
