/* util/big_vec.h - growing an array that may become very large.
 *
 * As vec.h, but the array has pages of its own: it begins at the start of a page, new elements are
 * zero, and growing moves pages instead of copying bytes. Free it with big_vec_free(). Threads: one
 * at a time per array.
 */
#ifndef UTIL_BIG_VEC_H
#define UTIL_BIG_VEC_H

#include "util/err.h"

/* Makes room for at least n elements of elem_bytes each; *(T **)array may move. -ERR_MEMORY:
 * nothing has changed. */
int big_vec_reserve(void *array, size_t *capacity, size_t n, size_t elem_bytes, struct err *err);

/* capacity and elem_bytes as for big_vec_reserve(). NULL does nothing. */
void big_vec_free(void *array, size_t capacity, size_t elem_bytes);

#endif
