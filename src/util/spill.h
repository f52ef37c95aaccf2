/* util/spill.h - an array that lies in memory while it is small and in a temporary file when not.
 *
 * Up to the budget the bytes are ordinary memory. Beyond it they are a mapped file without a name
 * in the folder that the caller gives: used in the same way, through a pointer, but the system can
 * write them out and take the memory back, and spill_trim() makes it do so for this process. The
 * space on disk is reserved before it is mapped: a full disk is an error of spill_resize(), never a
 * SIGBUS later. Nothing of it remains after spill_destroy() or the end of the process.
 *
 * Do not give a folder that itself lies in memory (/tmp may be a tmpfs): that of the output is
 * best.
 * Threads: one at a time for create, resize and destroy; the bytes are the caller's to share.
 * spill_trim() may run while others read and write the bytes.
 */
#ifndef UTIL_SPILL_H
#define UTIL_SPILL_H

#include "util/err.h"

struct spill; /* opaque: defined in spill.c */

/* Makes an empty array. With a budget of 0 it lies in the file from the first byte on. The file is
 * made when it is first needed, so a folder that does not exist is an error only then. */
int spill_create(const char *folder, size_t budget_bytes, struct spill **ret, struct err *err);
void spill_destroy(struct spill *s); /* NULL does nothing */

/* Sets the size of the array: new bytes are zero, bytes beyond the size are lost. The array may
 * move. Costs a system call or more: grow by a share of the size, not by items. -ERR_IO,
 * -ERR_MEMORY, -ERR_LIMIT: nothing has changed. */
int spill_resize(struct spill *s, size_t size_bytes, struct err *err);

/* Copies bytes into the array, which reaches beyond offset + len. Other than stores through
 * spill_data() it does not map the pages of a file: appending costs less. -ERR_IO. */
int spill_write(struct spill *s, size_t offset, const void *bytes, size_t len, struct err *err);

/* The array, valid until the next spill_resize() and aligned to a page. NULL while it is empty. */
void *spill_data(const struct spill *s);
size_t spill_size(const struct spill *s);
bool spill_is_file(const struct spill *s);

/* Removes the pages of an array in a file from this process's memory; they come back, with the same
 * bytes, when they are touched. An array in memory stays as it is. offset and len are bytes; pages
 * that lie in that part only partly may stay. */
void spill_trim(const struct spill *s);
void spill_trim_part(const struct spill *s, size_t offset, size_t len);

#endif
