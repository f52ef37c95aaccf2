/* util/file.h - reading files of any size, also while they grow.
 *
 * Bytes are read with pread() into the caller's buffer: no mapping, so a file that shrinks under
 * us is a short read, not a SIGBUS, and memory does not depend on the size of the file.
 */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include "util/err.h"

struct file {
	int fd; /* -1: not open */
	uint64_t size_bytes; /* when opened, or at the last file_update_size() */
};

#define FILE_NONE ((struct file){.fd = -1})

/* Opens a regular file for reading. The texts name the problem, not the path: the caller adds it. */
int file_open(const char *path, struct file *ret, struct err *err);
void file_close(struct file *f); /* also of FILE_NONE */

/* Asks the system for the size again; a file can have grown. */
int file_update_size(struct file *f, struct err *err);

/* Reads up to len bytes at offset. *n_read is less than len only at the end of the file. */
int file_read(const struct file *f, uint64_t offset, void *buf, size_t len, size_t *n_read,
	      struct err *err);

/* Reads exactly len bytes; ERR_FORMAT when the file ends before. */
int file_read_all(const struct file *f, uint64_t offset, void *buf, size_t len, struct err *err);

/* The folder of a path, to free(): "/a" of "/a/b", "." of "b". NULL: no memory. */
char *file_folder(const char *path);

#endif
