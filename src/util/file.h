/* util/file.h - reading files of any size, also while they grow.
 *
 * pread() reads bytes into the caller's buffer. Without a mapping, a file that shrinks meanwhile
 * gives a short read instead of a SIGBUS, and memory does not depend on the size of the file.
 * Threads: any number of readers of one struct file.
 */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include "util/err.h"

struct file {
	int fd; /* -1: not open */
	uint64_t size_bytes; /* when opened, or at the last file_update_size() */
};

#define FILE_NONE ((struct file){.fd = -1})

/* Opens a regular file for reading. -ERR_IO; -ERR_FOREIGN: not a regular file. The text does not
 * name the path: the caller adds it. */
int file_open(const char *path, struct file *ret, struct err *err);
void file_close(struct file *f); /* FILE_NONE does nothing */

/* Asks the system for the size again: the file may have grown. */
int file_update_size(struct file *f, struct err *err);

/* Reads up to len bytes at offset. *n_read is less than len only at the end of the file.
 * -ERR_IO. */
int file_read(const struct file *f, uint64_t offset, void *buf, size_t len, size_t *n_read,
	      struct err *err);

/* Reads exactly len bytes; ERR_FORMAT when the file ends before. */
int file_read_all(const struct file *f, uint64_t offset, void *buf, size_t len, struct err *err);

/* Do both paths lead to one file that exists? */
bool file_is_same(const char *path, const char *other);

/* May the file be believed? It belongs to the user of this process or to root, and only its owner
 * may write to it. Somebody else could have put anything into other files. */
bool file_is_trusted(const struct file *f);

/* The folder of a path, to free(): "/a" of "/a/b", "." of "b". NULL: no memory. */
char *file_folder(const char *path);

#endif
