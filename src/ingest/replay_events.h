/* ingest/replay_events.h - what replay.h reports: releases, steps, totals, and the callbacks that
 * get them.
 *
 * Also the definition of two words that many figures rest on:
 *
 *   temporary   An allocation is temporary if it was freed (or replaced by a realloc) by the thread
 *               that made it, and that thread allocated nothing in between: replay_is_temporary().
 *   peak        The step after which more bytes are live than after any step before it:
 *               REPLAY_STEP_PEAK. pairing_i.h decides.
 */
#ifndef INGEST_REPLAY_EVENTS_H
#define INGEST_REPLAY_EVENTS_H

#include "ingest/live.h"
#include "ingest/stacks.h"

struct alloc_sums;

enum replay_end {
	REPLAY_FREED, /* by free() */
	REPLAY_REALLOCATED, /* by a realloc() that made another block of it */
	REPLAY_REALLOC_FREED, /* by realloc(p, 0) */
	REPLAY_REALLOC_UNTRACKED, /* by a realloc() that ended while recording was off */
	REPLAY_REPLACED, /* its address was allocated again, and its release is not recorded */
};

/* How an allocation ended. */
struct replay_release {
	enum replay_end how;
	uint32_t allocator; /* that got the block back */
	uint64_t at_ns;
	uint64_t ordinal; /* of this thread's releases, from 0 */
	uint64_t n_allocs; /* allocations and reallocations of this thread before it */
	uint32_t thread;
	uint32_t stack; /* number in struct stacks */
};

/* Did the thread that made the block release it before it allocated anything else? */
static inline bool replay_is_temporary(const struct live_block *block,
				       const struct replay_release *release)
{
	return release->how != REPLAY_REPLACED && release->thread == block->thread &&
	       release->n_allocs == block->ordinal + 1;
}

/* Did another allocator get the block back than the one that gave it? */
static inline bool replay_is_crossed(const struct live_block *block,
				     const struct replay_release *release)
{
	return release->how != REPLAY_REPLACED && release->allocator != block->allocator;
}

enum replay_step_flags {
	REPLAY_STEP_RELEASE = 1, /* a release; else an allocation */
	REPLAY_STEP_TEMPORARY = 2, /* a release of a temporary allocation */
	REPLAY_STEP_PEAK = 4, /* an allocation: more bytes are live now than ever before */
};

/* A change of what is live: an allocation, or a release. Steps are in strict order of time, also
 * where events were held back (pairing.h). In one nanosecond, releases come before allocations. A
 * block is live from its allocation to its release, but at least for a nanosecond. */
struct replay_step {
	uint64_t at_ns;
	uint64_t size_bytes;
	uint64_t lifetime_ns; /* of the block that is released; else 0 */
	uint32_t stack; /* number in struct stacks: who allocated */
	uint32_t release_stack; /* who released; else 0 */
	uint32_t thread; /* that allocated */
	uint32_t release_thread; /* that released; else 0 */
	uint32_t flags; /* enum replay_step_flags */
};

_Static_assert(sizeof(struct replay_step) == 48, "every event writes one");

struct replay_totals {
	uint64_t events; /* calls of the program */
	uint64_t allocations; /* malloc, calloc, the aligned family, realloc(NULL, n) */
	uint64_t reallocations; /* realloc of a block that succeeded, also of an unknown block */
	uint64_t frees; /* free and realloc(p, 0) */
	uint64_t bytes_allocated; /* requested, by allocations and reallocations */
	uint64_t live_count; /* now, or at the end */
	uint64_t live_bytes;
	uint64_t peak_bytes; /* greatest live_bytes ... */
	uint64_t peak_ns; /* ... and when it was first reached */
	uint64_t unknown_frees; /* releases of blocks that were never seen */
	uint64_t untracked_frees; /* the same where it is expected: late start, pause, fork */
	uint64_t untracked_reallocations; /* old block not known, or END while recording was off */
	uint64_t duplicate_allocations; /* of an address that was live */
	uint64_t crossed; /* blocks that another allocator got back than the one that gave them */
	uint64_t repaired; /* events that came in the wrong order and were put in the right one */
	uint64_t failed_reallocations;
	uint64_t truncated[STACK_N_ENDS]; /* events, by the reason why their stack ends */
	uint64_t guessed; /* events whose stack has guessed frames */
	uint64_t lost_events; /* that the recorder counted but could not record */
	uint64_t mmaps, munmaps, mremaps, brks, markers, forks, pauses;
	/* Of the allocations, reallocations and bytes above: those that the recorder left out
	 * (record/cull.h). It wrote only sums of them. */
	uint64_t culled_allocations, culled_reallocations, culled_bytes;
	uint64_t last_ticks; /* of the last event */
	uint64_t end_how; /* of PROCESS_END; 0: none, or an exec that failed */
	uint64_t end_status;
	uint64_t stacks; /* different stacks that events name */
	uint32_t deepest_stack; /* frames */
};

/* Each may be NULL. The structs pointed to are valid during the call.
 *
 * on_alloc() and on_free() come in the order in which pairing settles events: in order of time, but
 * for the window of pairing.h. on_steps() comes in strict order of time. */
struct replay_callbacks {
	void *user;
	const char *temp_folder; /* for the table of live blocks; NULL: temp_file_folder() */
	struct alloc_sums *alloc_sums; /* NULL, or to be filled; complete from on_end() on */

	/* Called first for each allocation, before it is paired. All allocations of one thread come
	 * in the program's order, and a->at_ns never goes back. The result becomes a->tag; on_alloc()
	 * and on_free() find it there. */
	uint64_t (*on_arrival)(void *user, const struct live_block *a);

	/* An allocation, when pairing has settled that the block is live. old: the block that a
	 * realloc() replaced by this one; NULL: there was none, or it is not known. The user may set
	 * a->chain. */
	void (*on_alloc)(void *user, struct live_block *a, const struct live_block *old);

	/* The end of an allocation. */
	void (*on_free)(void *user, const struct live_block *a, const struct replay_release *how);

	void (*on_steps)(void *user, const struct replay_step *step, size_t n);

	/* One of the next calls may release this block: a chance to prefetch. */
	void (*on_prefetch)(void *user, const struct live_block *a);

	/* A rare event: mmap, marker ... stack: number in struct stacks. */
	void (*on_rare)(void *user, const struct event *ev, uint32_t thread, uint32_t stack);

	/* Before each batch of calls (stream.h): n_blocks_read of recording.n_blocks are read. All
	 * stack numbers in the batch are below n_stacks. A result below 0 ends the replay, and
	 * becomes its result. */
	int (*on_progress)(void *user, uint64_t n_blocks_read, uint32_t n_stacks, struct err *err);

	/* After the last event. live: the blocks that were never released. The result becomes that
	 * of the replay. */
	int (*on_end)(void *user, const struct stacks *stacks, const struct live *live,
		      const struct replay_totals *totals, struct err *err);
};

#endif
