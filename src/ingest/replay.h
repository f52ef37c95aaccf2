/* ingest/replay.h - what the events of a recording mean: which release ends which allocation.
 *
 * Runs once through all events in order of time. stream.h reads the events in a thread of its own;
 * pairing.h finds the pairs and keeps the table of live blocks; this module counts. The callbacks
 * of the user (replay_events.h) get each allocation, each end of an allocation, and each step. A
 * step is one change of what is live: one block more, or one block less.
 *
 * A realloc is two events of one lane: REALLOC_BEGIN (a release) and REALLOC_END (an allocation).
 * They pair last begun, first ended. The old block counts as live until the END and ends there, so
 * that a peak does not depend on where inside the realloc another thread allocated. A realloc may
 * have another event instead of the END: REALLOC_CANCEL (the realloc failed: the old block lives
 * on), REALLOC_FREED or REALLOC_UNTRACKED (the old block ends at the BEGIN).
 *
 * Threads: one caller; callbacks run in the caller's thread. Results: 0 or -ERR_x. After an error
 * only replay_destroy() may be called.
 */
#ifndef INGEST_REPLAY_H
#define INGEST_REPLAY_H

#include "ingest/alloc_sums.h"
#include "ingest/replay_events.h"
#include "recording/checkpoint_pos.h"
#include "recording/recording.h"

/* Runs through the whole recording. Damage is no error: r->damage lists all of it afterwards.
 * callbacks may be NULL. *ret is complete on success only. stacks: NULL, or gets the stacks, to be
 * destroyed by the caller. Errors: ERR_IO, ERR_MEMORY, ERR_LIMIT (too many stacks or live blocks),
 * or a result below 0 of on_progress() or on_end(). */
int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct stacks **stacks, struct err *err);

/* ---- the same in parts, for incremental.h ---- */

struct replay; /* opaque: defined in replay_i.h */

/* Makes a replay that stands before the first event. *callbacks is copied; NULL: no callbacks. r
 * and what the fields of *callbacks point to are borrowed until replay_destroy(). On failure *ret
 * is not written and nothing is left. */
int replay_create(struct recording *r, const struct replay_callbacks *callbacks,
		  struct replay **ret, struct err *err);
void replay_destroy(struct replay *p); /* NULL does nothing */

/* Replays up to a checkpoint. May be called again with a later checkpoint. ERR_REFUSED: the clock
 * of a lane went back. Events of a lane keep the order of the file, each with the greatest time so
 * far in the lane. So an event before the checkpoint has got a time after pos->at_ns. */
int replay_to_checkpoint(struct replay *p, const struct checkpoint_pos *pos, struct err *err);

/* Writes the state of the replay. Directly after replay_to_checkpoint(). out keeps errors. */
void replay_save(struct replay *p, struct checkpoint_io_out *out);

/* Reads what replay_save() wrote into a replay that was just made. All events after the checkpoint
 * must be later than checkpoint_ns (nanoseconds since the start of the recording). The state has
 * numbers that the callbacks gave to live blocks; they must name something that the caller has
 * loaded before:
 *   tag     the row of the block in the store: less than n_rows. n_rows 0: tags are not used.
 *   chain   a block and the blocks that realloc() made of it, from 1 on: at most n_chains. 0: none.
 * ERR_REFUSED: lanes or blocks of the recording are gone, or an event from before checkpoint_ns
 * came late. ERR_FORMAT: the contents are impossible. ERR_IO, ERR_MEMORY. */
int replay_load(struct replay *p, struct checkpoint_io_in *in, uint64_t checkpoint_ns,
		uint64_t n_rows, uint64_t n_chains);

/* Borrowed. Directly after replay_to_checkpoint() or replay_load(), or after a replay_finish() that
 * did not give the stacks to the caller. */
const struct stacks *replay_stacks(const struct replay *p);

/* Replays to the end. Results as those of replay_run(). */
int replay_finish(struct replay *p, struct replay_totals *ret, struct stacks **stacks,
		  struct err *err);

#endif
