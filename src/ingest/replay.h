/* ingest/replay.h - what the events of a recording mean: which release ends which allocation.
 *
 * Runs once through all events in order of time. stream.h reads the events in a thread of its own;
 * pairing.h finds the pairs and keeps the table of live blocks; this module counts, and reports
 * each allocation, each end and each step of live memory to the callbacks of the user
 * (replay_events.h).
 *
 * A realloc is two events of one lane: REALLOC_BEGIN (a release) and REALLOC_END (an allocation).
 * They pair last begun, first ended. The old block counts as live until the END and ends there, so
 * that a peak does not depend on where inside the realloc another thread allocated.
 *
 * Threads: one caller; callbacks run in the caller's thread.
 */
#ifndef INGEST_REPLAY_H
#define INGEST_REPLAY_H

#include "ingest/alloc_sums.h"
#include "ingest/replay_events.h"
#include "recording/checkpoint_pos.h"
#include "recording/recording.h"

/* Runs through the whole recording (which completes r->damage). callbacks may be NULL. *ret is
 * complete on success only. stacks: NULL, or gets the stacks, to be destroyed by the caller.
 * Errors: ERR_IO, ERR_MEMORY, ERR_LIMIT, or what a callback returned. Damage is no error. */
int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct stacks **stacks, struct err *err);

/* ---- the same in parts, for incremental.h ---- */

struct replay; /* opaque: defined in replay_i.h */

/* Makes a replay that stands before the first event. r and the callbacks' user are borrowed until
 * replay_destroy(). On failure *ret is not written and nothing is left. */
int replay_create(struct recording *r, const struct replay_callbacks *callbacks,
		  struct replay **ret, struct err *err);
void replay_destroy(struct replay *p); /* NULL does nothing */

/* Replays up to a checkpoint. ERR_REFUSED: the times in the recording go back, so that no
 * checkpoint is possible there. */
int replay_to_checkpoint(struct replay *p, const struct checkpoint_pos *pos, struct err *err);

/* Writes what the replay has come to, at a checkpoint. */
void replay_save(struct replay *p, struct checkpoint_io_out *out);

/* Reads what replay_save() wrote into a replay that was just made. The caller has loaded its own
 * part of the checkpoint before: tags of blocks must be less than n_rows (0: tags are not used),
 * chains at most n_chains. ERR_REFUSED: the recording is not the same one, grown. ERR_FORMAT: the
 * contents are impossible. */
int replay_load(struct replay *p, struct checkpoint_io_in *in, uint64_t checkpoint_ns,
		uint64_t n_rows, uint64_t n_chains);

/* Borrowed. At a checkpoint, or after the end. */
const struct stacks *replay_stacks(const struct replay *p);

/* Replays to the end. Results as those of replay_run(). */
int replay_finish(struct replay *p, struct replay_totals *ret, struct stacks **stacks,
		  struct err *err);

#endif
