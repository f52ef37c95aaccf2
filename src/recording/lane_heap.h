/* recording/lane_heap.h - lanes in order of the time of their next event.
 *
 * A binary heap. Lanes with equal times are in the order of their numbers. The user provides the
 * memory with room for every lane, fills it in any order, and calls lane_heap_make(). Nothing here
 * can fail. Threads: one.
 */
#ifndef RECORDING_LANE_HEAP_H
#define RECORDING_LANE_HEAP_H

#include "base/compiler.h"

struct lane_heap_item {
	uint64_t key; /* a time, in the unit of the user */
	uint32_t lane;
};

struct lane_heap {
	struct lane_heap_item *item; /* the smallest is item[0] */
	size_t n;
};

/* Does a come before b? */
static inline bool lane_heap_is_before(const struct lane_heap_item *a,
				       const struct lane_heap_item *b)
{
	return a->key != b->key ? a->key < b->key : a->lane < b->lane;
}

/* Moves an item down until no child is before it. */
static inline void lane_heap_sift_down(struct lane_heap *h, size_t at)
{
	struct lane_heap_item moving = h->item[at];

	for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
		if (child + 1 < h->n && lane_heap_is_before(&h->item[child + 1], &h->item[child]))
			child++;
		if (!lane_heap_is_before(&h->item[child], &moving))
			break;
		h->item[at] = h->item[child];
	}
	h->item[at] = moving;
}

/* Makes a heap of items in any order. */
static inline void lane_heap_make(struct lane_heap *h)
{
	for (size_t i = h->n / 2; i-- > 0;)
		lane_heap_sift_down(h, i);
}

/* The first lane has passed its event on; key: the time of its next one. */
static inline void lane_heap_change_first(struct lane_heap *h, uint64_t key)
{
	h->item[0].key = key;
	lane_heap_sift_down(h, 0);
}

/* The first lane has no more events. */
static inline void lane_heap_remove_first(struct lane_heap *h)
{
	h->item[0] = h->item[--h->n];
	if (h->n > 1)
		lane_heap_sift_down(h, 0);
}

/* The lane whose turn comes after that of the first; NULL when there is none. */
static inline const struct lane_heap_item *lane_heap_second(const struct lane_heap *h)
{
	if (h->n < 2)
		return NULL;
	return &h->item[h->n > 2 && lane_heap_is_before(&h->item[2], &h->item[1]) ? 2 : 1];
}

#endif
