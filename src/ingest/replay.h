/* ingest/replay.h - what the events of a recording mean: which free ends which allocation.
 *
 * Runs once through all events in order of time and keeps the table of live blocks.
 *
 * Time of different CPUs may disagree by some ticks, but for one address allocations and releases
 * alternate. An allocation of an address that is live, or a release of one that is not, is
 * therefore held back: when the missing counterpart comes from another lane within
 * REPLAY_WINDOW_NS, the two are put in order and the pairing is exact. Only when the window passes,
 * or no other call of the address is in it (lookahead.h), is it what it looks like: a duplicate
 * allocation, or a free of an unknown block. (Inside a lane the order is always right, so a
 * counterpart from the same lane does not count.)
 *
 * A free of a block that another thread made may belong to the next block at that address, if the
 * maker releases the first one and gets the address again: it is held back as well if another
 * release of the address is in the window, until that passes or the other events decide.
 *
 * The recorder sees to it that a release is not stamped before the birth of its block (record/clock.h);
 * a birth may be stamped before the release before it, and in recordings of early builds there is
 * either. The window is much longer than that usually is (tens of nanoseconds; one in ten million was
 * longer than 1 us, the longest seen took 10 us). Where blocks are released that were never seen (a late
 * start, a pause, lost events), a long window would take a free of such a block for that of the
 * next one at its address; there it is REPLAY_SHORT_WINDOW_NS.
 *
 * A realloc is a release (BEGIN) and an allocation (END) in the same lane; they pair last begun
 * first. The old block counts as live until the END, and ends there, so that a peak does
 * not depend on where inside a realloc another thread looked.
 *
 * Callbacks come in the order in which pairing is settled: by time, but for the window above. Sums of
 * what is alive are kept apart from that, strictly by time (on_steps): a block is alive from its
 * birth to its release, but at least a nanosecond.
 */
#ifndef INGEST_REPLAY_H
#define INGEST_REPLAY_H

#include "ingest/alloc_sums.h"
#include "ingest/live.h"
#include "ingest/stacks.h"
#include "recording/checkpoint_pos.h"
#include "recording/merge.h"

#define REPLAY_WINDOW_NS (50 * NS_PER_US)
#define REPLAY_SHORT_WINDOW_NS (1 * NS_PER_US)

enum replay_end {
	REPLAY_FREED, /* free() */
	REPLAY_REALLOCATED, /* a realloc() put another block in its place */
	REPLAY_REALLOC_FREED, /* realloc(p, 0) */
	REPLAY_REALLOC_UNTRACKED, /* a realloc() while recording was off */
	REPLAY_REPLACED, /* its address was allocated again; its release was not seen */
};

/* How an allocation ended. */
struct replay_release {
	enum replay_end how;
	uint64_t at_ns;
	uint64_t ordinal; /* of this thread's releases, from 0 */
	uint64_t n_allocs; /* of this thread so far: block.ordinal + 1 means none in between */
	uint32_t thread;
	uint32_t stack; /* number of struct stacks */
};

struct replay_totals;

enum replay_step_flags {
	REPLAY_STEP_RELEASE = 1, /* else a birth */
	REPLAY_STEP_TEMPORARY =
		2, /* a release: no other allocation of the thread came in between */
	REPLAY_STEP_PEAK = 4, /* a birth: more bytes are alive now than ever before */
};

/* A block comes alive or is released. Steps come in exact order of time: what was held back is in its
 * place, and what is released in a nanosecond comes before what is born in it. */
struct replay_step {
	uint64_t at_ns;
	uint64_t size_bytes;
	uint64_t lifetime_ns; /* of what is released */
	uint32_t stack; /* number of struct stacks: who allocated */
	uint32_t release_stack; /* who released; else 0 */
	uint32_t thread; /* that allocated */
	uint32_t release_thread;
	uint32_t flags; /* enum replay_step_flags */
};

_Static_assert(sizeof(struct replay_step) == 48, "every event writes one");

/* Each may be NULL. The structs pointed to are good during the call. */
struct replay_callbacks {
	void *user;
	const char *temp_folder; /* for many live blocks; NULL: temp_file_folder() */
	struct alloc_sums *alloc_sums; /* NULL, or to be filled; complete from on_end() on */
	/* An allocation as it comes along in its lane, before it is paired: all of one thread come
	 * in the program's order here, and a->at_ns never goes back. The result becomes its tag. */
	uint64_t (*on_arrival)(void *user, const struct live_block *a);
	/* old: the block that a realloc() replaced by this one, if that is known; else NULL. The
	 * user may set a->chain. */
	void (*on_alloc)(void *user, struct live_block *a, const struct live_block *old);
	void (*on_free)(void *user, const struct live_block *a, const struct replay_release *how);
	void (*on_steps)(void *user, const struct replay_step *step, size_t n);
	/* A call that soon comes may release this block: a chance to prefetch. */
	void (*on_prefetch)(void *user, const struct live_block *a);
	/* A rare event: mmap, marker ... stack: number of struct stacks. */
	void (*on_rare)(void *user, const struct event *ev, uint32_t thread, uint32_t stack);
	/* Now and then: so much of the whole is read. Numbers of stacks that are told from here to the
	 * next time are below n_stacks. Less than 0 ends the replay with it. */
	int (*on_progress)(void *user, uint64_t n_blocks_read, uint32_t n_stacks, struct err *err);
	/* After the last event. */
	int (*on_end)(void *user, const struct stacks *stacks, const struct live *live,
		      const struct replay_totals *totals, struct err *err);
};

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
	uint64_t
		untracked_frees; /* the same where it had to be expected: late start, pause, fork */
	uint64_t untracked_reallocations; /* whose old block is not known, or END while off */
	uint64_t duplicate_allocations; /* of an address that was live */
	uint64_t repaired; /* pairs that came in the wrong order */
	uint64_t failed_reallocations;
	uint64_t truncated[STACK_N_ENDS]; /* events, by the reason their stack ends */
	uint64_t guessed; /* events whose stack has guessed frames */
	uint64_t lost_events; /* as the lanes tell */
	uint64_t mmaps, munmaps, mremaps, brks, markers, forks, pauses;
	uint64_t last_ticks; /* of the last event */
	uint64_t end_how; /* of PROCESS_END; 0: none, or an exec that failed */
	uint64_t end_status;
	uint64_t stacks; /* different ones that events name */
	uint32_t deepest_stack; /* frames */
};

/* ---- step by step, for incremental.h ---- */

struct replay; /* opaque: defined in replay.c */

/* Borrows all it is given. Errors leave nothing. */
int replay_create(struct recording *r, const struct replay_callbacks *callbacks,
		  struct replay **ret, struct err *err);
void replay_destroy(struct replay *p); /* NULL does nothing */

/* Goes on to a pos. ERR_REFUSED: the recording says that time went back, so there is none. */
int replay_to_checkpoint(struct replay *p, const struct checkpoint_pos *pos, struct err *err);

/* At a checkpoint, which was at checkpoint_ns. Loaded into one that was just made: ERR_REFUSED when the recording is not
 * the same one that has grown. The callbacks' user has loaded what is his before. */
void replay_save(struct replay *p, struct checkpoint_io_out *out);
int replay_load(struct replay *p, struct checkpoint_io_in *in, uint64_t checkpoint_ns,
		uint64_t n_rows, uint64_t n_chains);

/* At a checkpoint, or after the end. */
const struct stacks *replay_stacks(const struct replay *p);

/* Goes on to the end, as replay_run() does. */
int replay_finish(struct replay *p, struct replay_totals *ret, struct stacks **stacks,
		  struct err *err);

/* ---- all of it ---- */

/* Runs through the whole recording. *ret is complete on success only. stacks: NULL, or gets the
 * stacks, to be destroyed by the caller. */
int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct stacks **stacks, struct err *err);

#endif
