/* ingest/stacks.h - the call stacks of a recording, each once.
 *
 * Lanes define stacks under ids of their own, the same one often many times. Here equal stacks
 * become one node of a tree: a node is a frame and its parent is the frame's caller. Two frames
 * are equal when address and module are, so code that was loaded later at the same place
 * makes new stacks, and code that stayed does not.
 *
 * Node 0 is the empty stack; node 1 stands for what was defined in a block that is lost.
 * Nodes are never removed. Stacks that calls name also have a number, dense from 1 in the order of
 * their first use (0 is the empty stack): what is kept per stack is kept by number.
 * Threads: one at a time.
 */
#ifndef INGEST_STACKS_H
#define INGEST_STACKS_H

#include "format/event.h"
#include "ingest/state.h"
#include "recording/module_map.h"

#define STACKS_EMPTY 0u
#define STACKS_LOST 1u

enum stack_node_kind {
	STACK_NODE_ROOT, /* node 0 */
	STACK_NODE_FRAME,
	STACK_NODE_END, /* no frame: the stack could not be followed further out */
	STACK_NODE_GUESS, /* no frame: those outside were found by the frame pointer alone */
};

struct stack_node {
	uint64_t addr; /* STACK_NODE_FRAME: return address. STACK_NODE_END: where it ended */
	uint32_t parent;
	uint32_t module; /* index in facts.module, or MODULE_MAP_NONE */
	uint32_t generation; /* of loaded code when it was first defined */
	uint32_t n_frames; /* from here outwards */
	uint8_t kind; /* enum stack_node_kind */
	uint8_t end; /* enum format_stack_end of the whole stack */
	bool has_guess; /* somewhere from here outwards */
	uint32_t tag; /* half of its hash: of stacks.c alone */
};

_Static_assert(sizeof(struct stack_node) == 32, "two to a cache line");

struct stacks; /* opaque: defined in stacks.c */

/* facts are borrowed (for the modules). */
int stacks_create(const struct facts *facts, size_t n_lanes, struct stacks **ret, struct err *err);
void stacks_destroy(struct stacks *s); /* NULL does nothing */

/* Takes in a definition: EVENT_STACK, EVENT_STACK_END or EVENT_STACK_GUESS. */
int stacks_define(struct stacks *s, uint32_t lane, const struct event *ev, uint32_t generation,
		  struct err *err);

/* The same for EVENT_STACK, but it counts only after stacks_settle(), which must come before any other
 * function is called: finding many at a time is three times as fast as one by one. */
int stacks_define_soon(struct stacks *s, uint32_t lane, const struct event_stack *def,
		       uint32_t generation, struct err *err);
int stacks_settle(struct stacks *s, struct err *err);

/* Ids of the lane below first_id are not asked for any more (EVENT_FORGET). */
void stacks_forget(struct stacks *s, uint32_t lane, uint64_t first_id);

/* The node of a lane's id; STACKS_LOST when its definition is missing. */
uint32_t stacks_find(const struct stacks *s, uint32_t lane, uint32_t id);

/* Puts the number of its stack in the place of each call's id. STACKS_ODD is set where the stack is not
 * complete or has guessed frames. STACKS_NEW: it has no number yet, and its node is there instead, to be
 * given to stacks_number() when the turn of the call has come. The bits that are set in any of them. */
#define STACKS_ODD (1u << 31)
#define STACKS_NEW (1u << 30)
uint32_t stacks_use(struct stacks *s, uint32_t lane, struct event_compact *call, size_t n);

/* The number of a node, which gets one if it has none. Numbers are in the order of these calls, so that
 * they depend on the order of events alone, not on how far lanes are decoded ahead. */
int stacks_number(struct stacks *s, uint32_t node, uint32_t *ret, struct err *err);

/* For follow.h. Loaded into one that was just made. */
void stacks_save(const struct stacks *s, struct state_out *out);
int stacks_load(struct stacks *s, struct state_in *in, const struct state_lanes *lanes);

/* The node of a number. */
uint32_t stacks_node(const struct stacks *s, uint32_t number);

/* Good until the next stacks_define(). */
const struct stack_node *stacks_get(const struct stacks *s, uint32_t node);

/* "complete", "no_info" ... as in docs/FORMAT.md 5.4. */
const char *stacks_end_name(enum format_stack_end end);

size_t stacks_count(const struct stacks *s); /* nodes */
uint32_t stacks_count_numbers(const struct stacks *s); /* all that were given are below */
size_t stacks_count_used(const struct stacks *s); /* numbers, without that of the empty stack unless
						   * a call named it */
uint32_t stacks_deepest_used(const struct stacks *s); /* frames */

#endif
