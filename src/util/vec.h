/* util/vec.h - growing an array of one element type.
 *
 * The owner keeps pointer, count and capacity as plain fields:
 *	struct lane *lane; size_t n_lanes, cap_lanes;
 *	r = vec_reserve(&v->lane, &v->cap_lanes, v->n_lanes + 1, sizeof(*v->lane), err);
 * and frees the pointer with free().
 */
#ifndef UTIL_VEC_H
#define UTIL_VEC_H

#include "util/err.h"

/* Makes room for at least n elements of elem_bytes each; *(T **)array may move. New elements are
 * not initialised. -ERR_MEMORY, -ERR_LIMIT: nothing has changed. */
int vec_reserve(void *array, size_t *capacity, size_t n, size_t elem_bytes, struct err *err);

#endif
