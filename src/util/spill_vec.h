/* util/spill_vec.h - growing an array that lies in memory while it is small, then in a temporary file.
 *
 * As big_vec.h, with a spill (util/spill.h) as the memory: new elements are zero, growing does not
 * copy, large arrays in memory have large pages. Meant for arrays whose elements are used in the order
 * in which they were added, or nearly: the pages of a file come and go, see spill_vec_trim(). Threads:
 * one at a time per array.
 */
#ifndef UTIL_SPILL_VEC_H
#define UTIL_SPILL_VEC_H

#include "util/spill.h"

/* A zeroed struct is empty. The first two fields are the caller's. */
struct spill_vec {
	const char *folder; /* borrowed; NULL: temp_file_folder() */
	size_t budget_bytes; /* in memory; 0: all of it lies in the file */
	struct spill *memory;
	size_t cap; /* elements */
};

/* Makes room for at least n elements of elem_bytes each; *(T **)array may move. -ERR_MEMORY, -ERR_IO:
 * nothing has changed. */
int spill_vec_reserve(struct spill_vec *v, void *array, size_t n, size_t elem_bytes,
		      struct err *err);
void spill_vec_fini(struct spill_vec *v);

/* Removes the pages of an array in a file from this process's memory. */
void spill_vec_trim(const struct spill_vec *v);

#endif
