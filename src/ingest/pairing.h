/* ingest/pairing.h - which release ends which allocation, when events may be out of order.
 *
 * The problem. Events come in order of their times (stream.h). Inside a lane this is the order of
 * the program. Between lanes it may not be: the clocks of two CPUs differ, and a thread may read
 * its clock some time before the call takes effect:
 *   - An allocation may be stamped before the release of the block that had the address before.
 *   - In recordings of early builds a release may be stamped before the allocation of its block.
 *     Later recorders prevent this (record/clock.h).
 *
 * The idea. At one address, allocations and releases alternate. An event fits if it is an
 * allocation of an address that is not live, or a release of one that is. An event that does not
 * fit is held back until its counterpart comes:
 *
 *   1. The counterpart comes from another lane within the window (PAIRING_WINDOW_NS): both happen,
 *      in the order that fits. The pairing is exact, and totals.repaired counts the event that
 *      waited. A counterpart from the same lane does not count, for the order inside a lane is
 *      right.
 *   2. The window passes, or no other call of the address is in it (lookahead.h): the event is what
 *      it looks like. An allocation is a duplicate and ends the block that was there
 *      (REPLAY_REPLACED); a release is of an unknown block, and is counted only.
 *
 * Example: a late free. Thread 1 frees 0x1000, malloc() gives 0x1000 to thread 2, whose clock is 40
 * ns behind:
 *
 *   time  event as it arrives        live  what happens
 *   100   thread 1: malloc = 0x1000  -     fits: block A is live
 *   500   thread 2: malloc = 0x1000  A     does not fit: held back until 500 + window
 *   520   thread 1: free(0x1000)     A     ends A at 520; now the malloc of 500 fits: block B
 *
 * A and B both count as live from 500 to 520: the times of the events stay as they are. Only a
 * release that is not later than the allocation of its block is moved to 1 ns after the allocation.
 * totals.repaired is 1.
 *
 * Undecided releases. A free fits, but another thread made the block, and the next call of the
 * address within the window is a release too. Then the free may belong to the next block, and be
 * stamped before the allocation of that block. So the free is held back. Later events of the
 * address wait as well, until an allocation decides or the window passes:
 *
 *   time  event as it arrives        live  what happens
 *   100   thread 1: malloc = 0x1000  -     block A is live
 *   500   thread 2: free(0x1000)     A     undecided: of A, or of the next block? Held back
 *   510   thread 1: free(0x1000)     A     held back
 *   520   thread 1: malloc = 0x1000  A     thread 1 freed A before it got the address again. So the
 *                                          free of 510 ends A, and block B is live
 *   later: the window of 500 passes  B     the free of thread 2 ends B, at 521
 *
 * If thread 3 makes the malloc of 520, no free of thread 3 waits before the malloc: then the first
 * free that waits, that of thread 2, ends A. A release that came before its allocation is undecided
 * as well if another thread made the block.
 *
 * The window is much longer than disorder usually lasts (tens of nanoseconds; of ten million one
 * took more than 1 us, the longest seen took 10 us). Where blocks are released that were never seen
 * (late start, pause, lost events), a long window would pair the free of such a block with the next
 * block at its address. So from the first such place on the window is PAIRING_SHORT_WINDOW_NS.
 *
 * Steps. A step adds a block to what is live, or takes a block away (replay_step). Steps are
 * counted in order of time: a step waits in a queue until no event that is held back can lead to an
 * earlier step.
 *
 * Private to replay.c. pairing_fast.h takes nearly all events without any of this. Errors:
 * ERR_MEMORY, ERR_IO and ERR_LIMIT of the table of live blocks. Threads: one.
 */
#ifndef INGEST_PAIRING_H
#define INGEST_PAIRING_H

#include "base/units.h"
#include "ingest/lookahead.h"
#include "ingest/replay_events.h"

#define PAIRING_WINDOW_NS (50 * NS_PER_US)
#define PAIRING_SHORT_WINDOW_NS (1 * NS_PER_US)
#define PAIRING_MAX_PENDING 1024 /* held back at a time; one more settles the oldest early */
#define PAIRING_N_BUCKETS 256
#define PAIRING_MAX_QUEUED 8192u /* steps in the queue; one more counts the first one early */
#define PAIRING_N_STEPS 256u /* that are passed on together */

/* An event that is held back. */
struct pairing_op {
	struct live_block block; /* of an allocation; of a release only addr is set */
	struct live_block old; /* has_old: the block that the realloc replaces */
	struct replay_release release;
	uint64_t deadline_ns; /* when the window passes */
	uint32_t lane;
	uint32_t open; /* is_begin: index in the lane's open reallocs */
	bool is_alloc;
	bool has_old; /* a REALLOC_END whose old block is known */
	bool is_begin; /* a REALLOC_BEGIN */
	bool is_waiting; /* an earlier call held it back; false: it arrived just now */
	bool is_foreign; /* a free that fitted when it arrived, held back because it is undecided */
};

enum pairing_open_state {
	PAIRING_OPEN_TAKEN, /* the old block is out of the table, in pairing_open.block */
	PAIRING_OPEN_PENDING, /* its release is held back */
	PAIRING_OPEN_ABSENT, /* there is no such block */
};

/* A realloc between its BEGIN and its END. */
struct pairing_open {
	enum pairing_open_state state;
	struct live_block block; /* PAIRING_OPEN_TAKEN */
	struct replay_release release;
	uint64_t addr;
};

struct pairing_lane {
	struct pairing_open *open; /* reallocs under way; the one begun last is the last */
	size_t n_open, cap_open;
};

struct pairing {
	struct live live;
	struct pairing_op *pending; /* at most PAIRING_MAX_PENDING, in order of arrival */
	struct pairing_op *pending_memory; /* room for twice as many, in which pending moves up */
	size_t n_pending;
	/* Of pending[0]; UINT64_MAX: nothing is held back. When the window has become short, a
	 * younger event may have an earlier deadline: it still waits for pending[0]. */
	uint64_t next_deadline;
	struct lookahead *lookahead; /* the calls that follow */
	uint64_t window_ns;
	uint64_t now_ns; /* time of the event at hand */
	uint16_t bucket[PAIRING_N_BUCKETS]; /* number of events held back, by hash of the address */
	bool is_unknown_expected; /* pairing_expect_unknown(p, false) was called once */
	struct replay_step *queue; /* a ring: steps that are not counted yet, in order of time */
	uint64_t first_queued, end_queued; /* step number n lies at n % PAIRING_MAX_QUEUED */
	struct replay_step *step; /* counted, not passed on yet */
	size_t n_steps;
	struct pairing_lane *lane;
	size_t n_lanes;
	struct replay_totals *totals; /* borrowed; live_*, peak_* and the counts of oddities */
	const struct replay_callbacks *callbacks; /* borrowed */
};

/* totals and callbacks are borrowed until pairing_fini(). ERR_MEMORY: p is empty. */
int pairing_init(struct pairing *p, size_t n_lanes, struct replay_totals *totals,
		 const struct replay_callbacks *callbacks, struct err *err);
void pairing_fini(struct pairing *p);

/* From here on blocks may be released that were never seen: the window is short to the end of the
 * recording. is_lost false (late start, pause): such releases count as totals.untracked_frees from
 * now on. is_lost true (events are missing, which should not be): nothing changes in the counting.
 * Before the first call with false, such releases count as totals.unknown_frees. */
void pairing_expect_unknown(struct pairing *p, bool is_lost);

/* Moves time to at_ns: settles events whose window has passed, counts steps that nothing can come
 * before. Before each event that pairing_fast.h does not take. */
int pairing_advance(struct pairing *p, uint64_t at_ns, struct err *err);

/* The calls of batch b come now; then: the batch after it, or NULL. Both are borrowed until the
 * next call. */
void pairing_begin_batch(struct pairing *p, const struct stream_batch *b,
			 const struct stream_batch *then);

/* Takes call i of the batch. */
int pairing_alloc(struct pairing *p, size_t i, const struct live_block *block, struct err *err);
int pairing_free(struct pairing *p, size_t i, const struct replay_release *release,
		 struct err *err);
int pairing_realloc_begin(struct pairing *p, size_t i, const struct replay_release *release,
			  struct err *err);

/* Takes call i, the END of the realloc that the lane began last: releases the old block and
 * allocates the new one. If the lane has no realloc under way, or if its old block is not known or
 * its release is held back, the new block is a plain allocation. */
int pairing_realloc_end(struct pairing *p, size_t i, const struct live_block *block,
			struct err *err);

/* The realloc that the lane began last released its old block and made none that was recorded. The
 * old block ends at the time of the BEGIN. False: the lane has no realloc under way. */
bool pairing_realloc_release_old(struct pairing *p, uint32_t lane, enum replay_end how);

/* The realloc that the lane began last failed: its old block is live again. If another block has
 * got the address meanwhile, the old block ends as REPLAY_REPLACED. */
int pairing_realloc_cancel(struct pairing *p, uint32_t lane, struct err *err);

/* Events of the lane are missing here: how its reallocs under way ended is not known. Their old
 * blocks end as REPLAY_REALLOC_UNTRACKED. */
void pairing_gap(struct pairing *p, uint32_t lane);

/* Passes the counted steps to callbacks.on_steps(). After each batch. */
void pairing_pass_steps(struct pairing *p);

/* The recording is over: settles everything. */
int pairing_finish(struct pairing *p, struct err *err);

/* ---- checkpoints (incremental.h), in pairing_checkpoint.c ---- */

/* The limits of the numbers in a checkpoint. */
struct pairing_limits {
	uint32_t n_stacks; /* numbers of stacks are less */
	uint64_t n_rows; /* live_block.tag, the row of the block, is less; 0: tags are not used */
	uint64_t n_chains; /* live_block.chain is not more: chains count from 1, 0 is no chain */
};

/* Writes the state. Between batches. */
void pairing_save(struct pairing *p, struct checkpoint_io_out *out);

/* Reads it into a pairing that was just made. ERR_FORMAT when the contents are impossible. */
int pairing_load(struct pairing *p, struct checkpoint_io_in *in,
		 const struct checkpoint_io_lanes *lanes, const struct pairing_limits *limits);

#endif
