/* util/temp_file.h - files without a name, for data that does not fit into memory.
 *
 * A file vanishes when its descriptor is closed, also when the process is killed. The caller closes
 * the descriptor and decides what lies at which offset.
 */
#ifndef UTIL_TEMP_FILE_H
#define UTIL_TEMP_FILE_H

#include "util/err.h"

/* The default folder: $TMPDIR, else /var/tmp (which is on a disk more often than /tmp is), else
 * /tmp. */
const char *temp_file_folder(void);

/* Makes a file in the folder. -ERR_IO; the text names the folder. */
int temp_file_create(const char *folder, int *ret_fd, struct err *err);

/* Writes all bytes, or -ERR_IO, such as for a full disk. */
int temp_file_write(int fd, uint64_t offset, const void *bytes, size_t len, struct err *err);

/* Reads all bytes, or -ERR_IO, also when the file ends before. */
int temp_file_read(int fd, uint64_t offset, void *bytes, size_t len, struct err *err);

#endif
