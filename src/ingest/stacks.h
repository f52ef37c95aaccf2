/* ingest/stacks.h - the call stacks of a recording, each kept once.
 *
 * A call is an event that names a stack: malloc, free, mmap ... Three kinds of numbers name a
 * stack:
 *
 *   id       what a lane calls it. Each lane defines stacks under ids of its own, and often defines
 *            the same stack many times.
 *   node     a node of the tree that this module makes of all definitions. A node is a frame; its
 *            parent is the frame of the caller. Equal stacks are one node. Two frames are equal if
 *            address and module are: code that was loaded later at the same address makes new
 *            stacks, code that stayed does not.
 *   number   Most nodes are only parents. A node gets a number when the first call names it: 1, 2,
 *            3 ... Number 0 is the empty stack, from the start. What is kept per stack is kept by
 *            number. In a store the index of a stack is its number.
 *
 * Node 0 is the empty stack. Node 1 (STACK_NODE_END, STACK_END_LOST) stands for all stacks whose
 * definition is missing, because a block of the recording is lost or damaged. Nodes are never
 * removed. Limits: 2^30 nodes. Threads: one at a time.
 */
#ifndef INGEST_STACKS_H
#define INGEST_STACKS_H

#include "format/event.h"
#include "ingest/checkpoint_io.h"
#include "recording/module_map.h"

#define STACKS_EMPTY 0u
#define STACKS_LOST 1u

enum stack_node_kind {
	STACK_NODE_ROOT, /* node 0 */
	STACK_NODE_FRAME,
	/* No frame. The outermost node of a stack that could not be followed further out; its
	 * parent is node 0. One node for each reason. */
	STACK_NODE_END,
	/* No frame. All frames from here outwards were found by the frame pointer alone, so they
	 * may be wrong. */
	STACK_NODE_GUESS,
};

struct stack_node {
	/* STACK_NODE_FRAME: return address. STACK_NODE_END: where the first walk ended that ended
	 * for this reason. */
	uint64_t addr;
	uint32_t parent;
	uint32_t module; /* index in metadata.module, or MODULE_MAP_NONE */
	uint32_t generation; /* state of the loaded code (module_map.h) at the first definition */
	uint32_t n_frames; /* from here outwards */
	uint8_t kind; /* enum stack_node_kind */
	uint8_t end; /* enum format_stack_end: of the STACK_NODE_END outwards; none: complete */
	bool has_guess; /* somewhere from here outwards */
	uint32_t tag; /* half of its hash; private to stacks.c */
};

_Static_assert(sizeof(struct stack_node) == 32, "two to a cache line");

struct stacks; /* opaque: defined in stacks_i.h */

/* metadata is borrowed until stacks_destroy() (for the modules). ERR_MEMORY. */
int stacks_create(const struct metadata *metadata, size_t n_lanes, struct stacks **ret,
		  struct err *err);
void stacks_destroy(struct stacks *s); /* NULL does nothing */

/* Where the nodes go when they exceed their share of memory. Borrowed; NULL, the default, is
 * temp_file_folder(). */
void stacks_set_folder(struct stacks *s, const char *folder);

/* Removes nodes that lie in a file from memory; they come back when they are used. */
void stacks_trim(const struct stacks *s);

/* Takes a definition: EVENT_STACK, EVENT_STACK_END or EVENT_STACK_GUESS. The newest definition of
 * an id counts. ERR_MEMORY or ERR_LIMIT. */
int stacks_define(struct stacks *s, uint32_t lane, const struct event *ev, uint32_t generation,
		  struct err *err);

/* Takes an EVENT_STACK, and copies it; stacks_settle() then adds all copied ones to the tree. To
 * look many up together is three times as fast as one by one. The parent of one may be another one
 * that is not settled yet. Until stacks_settle() no other function may be called. */
int stacks_define_pending(struct stacks *s, uint32_t lane, const struct event_stack *def,
			  uint32_t generation, struct err *err);
int stacks_settle(struct stacks *s, struct err *err);

/* No call to come names ids of the lane below first_id (EVENT_FORGET). */
void stacks_forget(struct stacks *s, uint32_t lane, uint64_t first_id);

/* The node of a lane's id. Id 0 is the empty stack. STACKS_LOST: the definition is missing. */
uint32_t stacks_find(const struct stacks *s, uint32_t lane, uint32_t id);

/* Replaces the id in call[].stack by the number of the stack. STACKS_ODD is set where the stack is
 * not complete or has guessed frames. STACKS_NEW is set where the stack has no number yet; then the
 * node is there instead of the number. The caller gives the node, without the bits, to
 * stacks_number() when the call's turn in the order of events comes. Returns the or of these two
 * bits over all calls: 0 means that all is done. */
#define STACKS_ODD (1u << 31)
#define STACKS_NEW (1u << 30)
uint32_t stacks_use(struct stacks *s, uint32_t lane, struct event_compact *call, size_t n);

/* Gives the number of a node, a new one if it has none. Numbers are given in the order of these
 * calls: so they depend on the order of events alone, not on how far ahead lanes are decoded.
 * ERR_MEMORY. */
int stacks_number(struct stacks *s, uint32_t node, uint32_t *ret, struct err *err);

/* The node of a number. */
uint32_t stacks_node(const struct stacks *s, uint32_t number);

/* A node. Valid until the next definition. */
const struct stack_node *stacks_get(const struct stacks *s, uint32_t node);

/* "complete", "no_info" ... as in docs/FORMAT.md 5.4. */
const char *stacks_end_name(enum format_stack_end end);

size_t stacks_count(const struct stacks *s); /* nodes */
uint32_t stacks_count_numbers(const struct stacks *s); /* all numbers are less */

/* Stacks that calls named. The empty stack counts only if a call named it. */
size_t stacks_count_used(const struct stacks *s);
uint32_t stacks_deepest_used(const struct stacks *s); /* frames */

/* ---- checkpoints (incremental.h), in stacks_checkpoint.c ---- */

/* Writes all stacks. Nothing is pending. */
void stacks_save(const struct stacks *s, struct checkpoint_io_out *out);

/* Reads them into stacks that were just made. ERR_FORMAT when the contents are impossible. */
int stacks_load(struct stacks *s, struct checkpoint_io_in *in,
		const struct checkpoint_io_lanes *lanes);

#endif
