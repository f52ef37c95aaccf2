/* query/query_tally.h - sums costs by number (of a function, of a line); each stack counts once
 * per number.
 *
 * The numbers are small and dense, but a query meets few of them. So the tally is an array of
 * slots by number, and a list of items for the numbers that were met:
 *
 *	slot	[ . ][ 2 ][ . ][ 1 ]	by key: 1 + index of the item
 *	item	[ key 3 ][ key 1 ]
 */
#ifndef QUERY_QUERY_TALLY_H
#define QUERY_QUERY_TALLY_H

#include "query/query_walk.h"

struct query_tally_item {
	uint32_t key;
	uint32_t frame; /* index in query_names.frame: the first frame met */
	struct query_group cost;
	uint64_t self[QUERY_N_MAIN_COSTS];
};

/* One slot per key. Small, because most stacks meet a key that already counted them. */
struct query_tally_slot {
	uint32_t index; /* 1 + index of the item; 0: none */
	uint32_t last; /* number of the stack that was added last, so that a stack counts once */
};

struct query_tally {
	struct query_tally_slot *slot; /* by key */
	struct query_tally_item *item;
	size_t n, capacity;
};

/* For keys below n_keys. */
int query_tally_init(struct query_tally *t, size_t n_keys, struct err *err);
void query_tally_fini(struct query_tally *t); /* accepts a zeroed struct */

/* Adds the cost of a stack to a key, unless this stack was added to the key before. frame: the
 * frame of the stack that has the key. */
int query_tally_add(struct query_tally *t, uint32_t key, const struct query_walk_stack *s,
		    uint32_t frame, struct err *err);

/* Adds the cost of a stack to `self` of a key. query_tally_add() must have added the key. */
void query_tally_add_self(struct query_tally *t, uint32_t key, const struct query_walk_stack *s);

#endif
