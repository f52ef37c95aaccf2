/* ingest/incremental.h - reads on in a recording that has grown, instead of reading it from the
 * start.
 *
 * A checkpoint is a time, about a second before the newest event (checkpoint_pos.h). Events up to a
 * checkpoint are in the file, and will not change. So the store of a recording that is still being
 * written is made in two parts:
 *
 *   start ................ checkpoint ................ end of the file now
 *         BUILD_RESUMABLE     |  then on to the end: the store is complete
 *                             |
 *                             +-- all that the build knows here goes into the store (STORE_STATE)
 *
 *   start ................ checkpoint ................ new checkpoint ...... end of the file, later
 *                             |       BUILD_RESUME        |  then on to the end
 *                             +-- loaded from the store   +-- the new state
 *
 * A state holds positions in lanes, stacks, live blocks, events that are held back, and sums. Of
 * the rows (rows.h) a state holds only the last block of rows, which is not full; the full blocks
 * are in the store. BUILD_RESUME appends new blocks and tables to the store
 * (store_writer_resume()). Of a store without rows nothing can stay as it is: BUILD_RESUME makes a
 * new file.
 *
 * The result equals that of reading in full at the same moment, to the last number. For that
 *
 * 1. calls go to pairing in the same batches. The last two batches before the checkpoint are part
 *    of the state and are not paired before it: the last batch is not full, and the batch before it
 *    needs a full successor (lookahead.h);
 * 2. stacks get their numbers in the order of events (stacks.h), not in the order in which lanes
 *    are decoded;
 * 3. no event from before the checkpoint may come later (a thread may have read the clock and then
 *    slept before it wrote the event), and the blocks, lanes and modules of the recording that were
 *    there must still be there;
 * 4. nothing that depends on the whole recording may have changed:
 *    - the length of a clock tick in nanoseconds, up to the checkpoint. It stays the same until the
 *      recording has ended (timebase.h);
 *    - the addresses of the brk() heap, which decide a flag of each row;
 *    - the modules of the stacks' frames: no new module covers the address of a frame that was in
 *      no module or in another one.
 *
 * incremental_load() checks 3 and 4 and refuses with ERR_REFUSED; then the recording is read in
 * full. incremental_load() also refuses if more than two thirds of the file, and more than 64 MiB,
 * would be useless: each resumed build replaces tables, the directory, the state and some blocks,
 * and the old ones stay in the file.
 *
 * Private to build.c. Threads: one.
 */
#ifndef INGEST_INCREMENTAL_H
#define INGEST_INCREMENTAL_H

#include "ingest/build_state.h"
#include "ingest/replay.h"

/* Writes the state. p stands at the checkpoint (replay_to_checkpoint()). checkpoint_ns: the time of
 * the checkpoint, in nanoseconds since the start of the recording. The build may go on afterwards.
 * ERR_IO, ERR_MEMORY, or an earlier error that b holds. */
int incremental_save(struct build *b, struct replay *p, uint64_t checkpoint_ns, struct err *err);

/* Loads the state of old into b and p, which were just made. old is the store that b->writer
 * continues; it is borrowed during the call. *checkpoint_ns: the time of the checkpoint. After an
 * error b and p can only be destroyed. ERR_REFUSED or ERR_FORMAT: the recording must be read in
 * full. ERR_IO, ERR_MEMORY: the build fails. */
int incremental_load(struct build *b, struct replay *p, const struct store *old,
		     uint64_t *checkpoint_ns, struct err *err);

#endif
