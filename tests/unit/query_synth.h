/* query_synth.h - a small made-up world for the tests of query/: rows with their stacks, names,
 * threads and chains in plain arrays, and the store that holds the same.
 *
 * Or a store that ingest made of a real recording, read into such arrays.
 * The arrays say what is true, in the simplest way; the tests compare what queries say.
 */
#ifndef QUERY_SYNTH_H
#define QUERY_SYNTH_H

#include "harness/random.h"
#include "store/frames.h"

#define WORLD_NEVER UINT64_MAX

struct world_frame {
	const char *function, *source, *module;
	uint32_t line;
};

struct world_row {
	uint64_t alloc_ns, free_ns, size, extra, addr, flags, marker;
	uint64_t chain; /* WORLD_NEVER: none */
	uint64_t position;
	uint32_t stack, thread, free_stack, free_thread;
};

struct world_chain {
	uint64_t first, last, length; /* rows */
};

struct world {
	uint64_t seed;
	size_t n_rows, n_chains;
	struct world_row *row;
	struct world_chain *chain;
	uint64_t duration;
	uint64_t start_realtime; /* ns since 1970 */
	uint32_t n_codes, n_nodes, n_stacks, n_threads, n_regions;
	struct world_frame (*code_frame)[3]; /* innermost first */
	unsigned *n_code_frames;
	const char **code_module;
	uint64_t *code_addr;
	uint64_t *code_offset; /* in its module; the address itself where there is none */
	const char *executable; /* "": not known */
	uint32_t *node_parent, *node_code, *stack_node;
	uint64_t *tid, *region_start, *region_end;
	const char *allocator[STORE_N_ALLOCATORS]; /* its name; NULL: not known */
	struct store_stack *figures;
	uint64_t peak_ns, peak_bytes, peak_count;
	/* Not made by world_make(), but put into the store when a test sets them. */
	const struct store_call *call; /* borrowed */
	size_t n_calls;
	uint64_t maps_ns; /* of the regions */
	const char *environment; /* one NAME=value; NULL: none is recorded */
};

static inline uint64_t world_random(struct world *w)
{
	return random_next(&w->seed);
}

static inline uint64_t world_below(struct world *w, uint64_t n)
{
	return world_random(w) % n;
}

struct world_event {
	uint64_t at, size;
	bool is_death;
};

static inline bool world_is_alive(const struct world_row *r, uint64_t at)
{
	return r->alloc_ns <= at && at < r->free_ns;
}

/* A made-up one. */
void world_make(struct world *w, uint64_t seed, size_t n_rows);
void world_pause(struct world *w, uint64_t pause_ns); /* the run goes on so long without events */
void world_free(struct world *w);
/* Writes, opens and removes the file: the store lives on while it is open. */
int world_open(struct world *w, struct store **store, struct frames **frames, struct err *err);
/* Reads a store of a real recording; only the names are made up. */
int world_load(struct world *w, uint64_t seed, const struct store *store, struct frames **frames,
	       struct err *err);
/* The first moment at which the chosen rows are most bytes. */
void world_peak(const struct world *w, const bool *chosen, uint64_t *at, uint64_t *n_bytes,
		uint64_t *count);
int world_compare_events(const void *a, const void *b); /* by time */

#endif
