/* ingest/stacks_i.h - struct stacks from inside, for stacks.c and stacks_checkpoint.c.
 *
 * How an id becomes a stack:
 *
 *   lane 0: run {first_id 1, n 3}   entry: [ node 5 | number 2 | node 7 ]
 *                                              |          |
 *                                              v          v
 *                                            node[]  <- used[2]
 *   node[5] = frame, parent 3 -> node[3] = frame, parent 0 -> node[0] = the empty stack
 *
 * slot[] is a hash table over node[]: it finds the node of (parent, address, module).
 */
#ifndef INGEST_STACKS_I_H
#define INGEST_STACKS_I_H

#include "ingest/stacks.h"
#include "util/spill_vec.h"

#define STACKS_MAX_PENDING 32u
#define STACKS_MAX_NODES (1u << 30)

/* What an id stands for: a node; from the first call that named it on, the number of the stack with
 * this bit, and with STACKS_ODD where that applies. */
#define STACKS_ENTRY_IS_NUMBER (1u << 30)

/* Ids of a lane are dense, so an array maps them. Where blocks are missing the ids jump, and a new
 * run begins. The last run is the one in use. */
struct stacks_run {
	uint32_t first_id;
	uint32_t *entry; /* of id first_id + i */
	uint32_t *tag; /* of id first_id + i: the tag of its node */
	size_t n, cap, cap_tag;
};

struct stacks_lane {
	struct stacks_run *run; /* in order of definition */
	size_t n_runs, cap_runs;
};

/* A definition that waits for stacks_settle(). */
struct stacks_pending_def {
	struct event_stack def;
	uint64_t hash;
	size_t slot; /* it is in none before this one */
	uint32_t module;
	uint32_t node; /* once it is settled */
};

struct stacks {
	struct module_map *modules;
	struct stack_node *node;
	size_t n_nodes;
	struct spill_vec node_memory;
	uint32_t *number; /* by node; 0: none yet */
	size_t cap_number;
	uint32_t *used; /* by number: the node */
	size_t n_used, cap_used;
	uint64_t *slot; /* hash table: node + 1, above it the tag; 0: empty */
	size_t n_slots; /* a power of two */
	struct stacks_lane *lane;
	size_t n_lanes;
	size_t n_modules;
	bool is_empty_used; /* a call named the empty stack */
	uint32_t deepest_used;
	/* n_pending definitions of one lane and generation, with ids that follow one another */
	struct stacks_pending_def pending[STACKS_MAX_PENDING];
	size_t n_pending;
	uint32_t pending_lane, pending_generation;
};

/* Puts all nodes into the slots, which are empty. */
void stacks_fill_slots(struct stacks *s);

/* Makes room for n more nodes. ERR_MEMORY. */
int stacks_reserve_nodes(struct stacks *s, size_t n, struct err *err);

#endif
