/* ingest/incremental.h - reading on in a recording that grows, instead of reading it anew.
 *
 * What has been read up to a checkpoint (checkpoint_pos.h) stays true whatever the program does
 * later. So the store of a recording that is still being written is made in two steps: to the
 * checkpoint, and from there to the end of what is in the file now. In between, all that reading
 * has come to goes into the store as its state: places in lanes, stacks, live blocks, what is held
 * back, sums. Of rows only the block that is not full: the others are in the store. Later the state
 * is loaded, and reading goes on from the checkpoint, to a new checkpoint, to the end; new blocks
 * and tables are appended to the store (store_writer_resume()); one without rows is made anew from
 * them.
 *
 * What comes out is what reading in full gives at the same moment, to the last number. To be so:
 *
 * - Calls go to pairing in batches of the same calls as ever: the last ones before the checkpoint,
 *   whose successors are not known, are part of the state (stream.h).
 * - Stacks get their numbers in the order of events (stacks.h), not as lanes are decoded.
 * - Nothing from before the checkpoint may come later, and blocks, lanes and modules that were
 *   there must be there: else ERR_REFUSED, and the recording is read anew.
 * - What depends on all of a recording must not have changed: the length of a tick, which stays the
 *   same until the recording is twice as long (timebase.h) or has ended; where the heap is, which
 *   is told when code is loaded; modules at addresses where there was none. Else likewise.
 *
 * What is appended makes something before it useless: tables, the directory, the state, blocks
 * whose rows ended later. When that is two thirds of the file, the recording is read anew as well.
 */
#ifndef INGEST_INCREMENTAL_H
#define INGEST_INCREMENTAL_H

#include "ingest/build_state.h"
#include "ingest/replay.h"

/* Writes the state at a checkpoint; rows go on afterwards. */
int incremental_save(struct build *b, struct replay *p, uint64_t checkpoint_ns, struct err *err);

/* Loads the state of old into b and p, which were just made; *checkpoint_ns is where it was.
 * ERR_REFUSED and ERR_FORMAT: the recording is to be read anew. */
int incremental_load(struct build *b, struct replay *p, const struct store *old,
		     uint64_t *checkpoint_ns, struct err *err);

#endif
