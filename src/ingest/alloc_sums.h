/* ingest/alloc_sums.h - what each stack allocated: figures for which no release must be known.
 *
 * By the number of the stack (stacks.h). The thread that reads a recording adds them up (stream.h).
 * The figures that need releases are in site_stats.h, and the thread that pairs adds those up: that
 * thread has more to do, and touches less memory this way. Threads: one at a time.
 */
#ifndef INGEST_ALLOC_SUMS_H
#define INGEST_ALLOC_SUMS_H

#include "format/event.h"
#include "util/spill_vec.h"

struct alloc_sum {
	uint64_t n_allocs; /* 0: the other fields mean nothing */
	uint64_t n_bytes;
	uint64_t extra_bytes;
	uint64_t first_ns, last_ns;
	uint64_t min_size_bytes, max_size_bytes;
	uint64_t n_culled; /* of n_allocs: alloc_sums_add_culled() */
};

_Static_assert(sizeof(struct alloc_sum) == 64, "a cache line");

/* A zeroed struct is empty; memory.folder may be set. */
struct alloc_sums {
	struct alloc_sum *of; /* by number of the stack */
	struct spill_vec memory; /* of that; entries that are not used yet are zero */
};

/* Makes room for stack numbers below n. ERR_MEMORY, ERR_IO. */
int alloc_sums_reserve(struct alloc_sums *s, size_t n, struct err *err);
void alloc_sums_fini(struct alloc_sums *s);

/* Counts an allocation. There is room for the stack. */
void alloc_sums_add(struct alloc_sums *s, uint32_t stack, uint64_t at_ns, uint64_t size_bytes,
		    uint64_t extra_bytes);

/* Counts the allocations that an EVENT_CULLED sums up. There is room for the stack. */
void alloc_sums_add_culled(struct alloc_sums *s, uint32_t stack, uint64_t at_ns,
			   const struct event *ev);

/* The kinds of calls that make a block, as bits. */
#define ALLOC_SUMS_KINDS                                                                           \
	(1u << EVENT_MALLOC | 1u << EVENT_CALLOC | 1u << EVENT_ALIGNED | 1u << EVENT_REALLOC_END)

/* Does the call make a block? */
static inline bool alloc_sums_makes_block(const struct event_compact *c)
{
	return ALLOC_SUMS_KINDS >> c->kind & (c->addr != 0);
}

/* Counts the allocations among n calls, at most ALLOC_SUMS_MAX_CALLS, whose stacks have numbers.
 * There is room for all of their stacks. */
#define ALLOC_SUMS_MAX_CALLS 256u
void alloc_sums_add_calls(struct alloc_sums *s, const struct event_compact *call, size_t n);

#endif
