/* recording/dropped_chunk.h - what a tool left out of a recording: reads and writes the payload of
 * DROPPED chunks (docs/FORMAT.md section 7).
 */
#ifndef RECORDING_DROPPED_CHUNK_H
#define RECORDING_DROPPED_CHUNK_H

#include "util/err.h"

#define DROPPED_CHUNK_BYTES (1u << 20) /* a payload of this size is complete; the next one begins */

/* One run of a tool. */
struct dropped_summary {
	bool has_threshold; /* false: all allocations that were freed were left out */
	uint64_t threshold_ns; /* allocations that lived shorter were left out */
	uint64_t n_allocations; /* with reallocations */
	uint64_t n_bytes;
	uint64_t n_events;
};

enum dropped_node_kind {
	DROPPED_NODE_FRAME = 1,
	DROPPED_NODE_END = 2,
	DROPPED_NODE_GUESS = 3,
};

/* A frame of a stack. Numbers count within one chunk. */
struct dropped_node {
	uint32_t number; /* from 1 */
	uint32_t parent; /* always less; 0: none */
	enum dropped_node_kind kind;
	uint64_t addr; /* of frames: return address */
	uint32_t generation; /* of frames: of loaded code */
	uint8_t end; /* of ends: enum format_stack_end */
};

/* The allocations of one stack. */
struct dropped_group {
	uint32_t node; /* number in its chunk; 0: the empty stack */
	uint64_t n_allocations;
	uint64_t n_bytes;
	uint64_t min_bytes; /* smallest and greatest size */
	uint64_t max_bytes;
	uint64_t first_ns; /* of the first and the last allocation */
	uint64_t last_ns;
};

/* Each may be NULL. */
struct dropped_callbacks {
	void *user;
	void (*on_summary)(void *user, const struct dropped_summary *s);
	void (*on_node)(void *user, const struct dropped_node *n);
	void (*on_group)(void *user, const struct dropped_group *g);
};

/* Reads a payload. ERR_FORMAT when it is malformed; the callbacks got what came before. */
int dropped_chunk_decode(const uint8_t *data, size_t len, const struct dropped_callbacks *callbacks,
			 struct err *err);

/* A payload that is being written. A zeroed struct is empty. */
struct dropped_writer {
	uint8_t *data;
	size_t len, cap;
	uint32_t n_nodes;
};

void dropped_writer_fini(struct dropped_writer *w);
void dropped_writer_clear(struct dropped_writer *w); /* begins a new payload */
int dropped_writer_summary(struct dropped_writer *w, const struct dropped_summary *s,
			   struct err *err);
/* Sets n->number to the next number. */
int dropped_writer_node(struct dropped_writer *w, struct dropped_node *n, struct err *err);
int dropped_writer_group(struct dropped_writer *w, const struct dropped_group *g, struct err *err);

#endif
