/* util/top.h - the first `max` of any number of items, in order, without keeping the others.
 *
 * The array holds at most 2 * max items (and at least 2 * TOP_LEAST). When it is full, the items
 * are sorted and all but the first max are dropped; from then on an item that comes after the last
 * one kept is not even copied. Threads: one at a time.
 */
#ifndef UTIL_TOP_H
#define UTIL_TOP_H

#include "util/err.h"

#define TOP_LEAST 512u

/* The first five fields are the caller's; the others begin as zero. */
struct top {
	size_t max; /* how many are asked for */
	size_t item_bytes;
	/* As for qsort_r(). Never 0 for different items, so that the result does not depend on
	 * their order of arrival. */
	int (*compare)(const void *a, const void *b, void *user);
	void *user;

	void *item; /* owned */
	size_t n, cap;
	bool is_cut; /* item[max - 1] is the last item that can be in the result */
};

void top_fini(struct top *t);

/* Copies an item in, or drops it. -ERR_MEMORY. */
int top_add(struct top *t, const void *item, struct err *err);

/* Sorts. Afterwards item holds the first n of all items that were added, n at most max. */
void top_finish(struct top *t);

#endif
