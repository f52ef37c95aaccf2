/* util/temp_file.h - files without a name, for what does not fit into memory.
 *
 * They vanish with their descriptor, also when the process is killed. Offsets are the caller's.
 */
#ifndef UTIL_TEMP_FILE_H
#define UTIL_TEMP_FILE_H

#include "util/err.h"

/* Where to put them when nothing better is known: $TMPDIR, else /var/tmp, which is on a disk more
 * often than /tmp, else that. */
const char *temp_file_folder(void);

/* Makes one in the folder. Errors name the folder. */
int temp_file_create(const char *folder, int *ret_fd, struct err *err);

/* All or an error, such as a full disk. */
int temp_file_write(int fd, uint64_t offset, const void *bytes, size_t len, struct err *err);

/* ERR_IO when the file ends before. */
int temp_file_read(int fd, uint64_t offset, void *bytes, size_t len, struct err *err);

#endif
