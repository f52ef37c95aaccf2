/* query/query_tally.h - costs by number (of a function, a line ...), to which a stack adds once.
 *
 * Numbers are small and dense, those that are met are few: an array of indices, and a list of items.
 */
#ifndef QUERY_QUERY_TALLY_H
#define QUERY_QUERY_TALLY_H

#include "query/query_walk.h"

struct query_tally_item {
	uint32_t key;
	uint32_t frame; /* index in query_names.frame: the first one met */
	struct query_group cost;
	uint64_t self[QUERY_N_MAIN_COSTS];
};

/* Small, for all keys: most stacks pass through a key that they were counted for already. */
struct query_tally_slot {
	uint32_t index; /* 1 + that of the item; 0: none */
	uint32_t last; /* number of the stack that was added last */
};

struct query_tally {
	struct query_tally_slot *slot; /* by key */
	struct query_tally_item *item;
	size_t n, capacity;
};

/* For keys below n_keys. */
int query_tally_init(struct query_tally *t, size_t n_keys, struct err *err);
void query_tally_fini(struct query_tally *t); /* also of a zeroed one */

/* Adds the cost of a stack to a key, unless that was done; frame is where the stack has it. */
int query_tally_add(struct query_tally *t, uint32_t key, const struct query_walk_stack *s,
		    uint32_t frame, struct err *err);

/* Adds it to self as well. The key must have been added. */
void query_tally_add_self(struct query_tally *t, uint32_t key, const struct query_walk_stack *s);

#endif
