/* util/top.h - the first so many of any number of items, in order, without keeping the others.
 *
 * At most twice as many items as asked for (and at least TOP_LEAST) are held at a time: when there is no
 * room, they are sorted and the second half goes; from then on an item that comes behind the last one kept is
 * not even copied. One thread at a time.
 */
#ifndef UTIL_TOP_H
#define UTIL_TOP_H

#include "util/err.h"

#define TOP_LEAST 512u

/* The first five fields are the caller's; the others begin as zero. */
struct top {
	size_t max; /* how many are asked for */
	size_t item_bytes;
	/* As for qsort_r(). Never 0 for different items, so that the result does not depend on their order
	 * of arrival. */
	int (*compare)(const void *a, const void *b, void *user);
	void *user;

	void *item; /* owned */
	size_t n, cap;
	bool is_cut; /* item[max - 1] is the last one that can count */
};

void top_fini(struct top *t);

/* Copies an item in, or drops it. */
int top_add(struct top *t, const void *item, struct err *err);

/* Sorts: afterwards item holds the first n of all that were added, n at most max. */
void top_finish(struct top *t);

#endif
