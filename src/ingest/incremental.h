/* ingest/incremental.h - reads on in a recording that has grown, instead of reading it from the
 * start.
 *
 * What was read up to a checkpoint (checkpoint_pos.h) stays true whatever the program does later.
 * So the store of a recording that is still being written is made in two parts:
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
 * rows it holds only the block that is not full; the others are in the store. BUILD_RESUME appends
 * new blocks and tables to the store (store_writer_resume()). A store without rows is written again
 * from the state.
 *
 * The result equals that of reading in full at the same moment, to the last number. For that
 *
 * 1. calls go to pairing in the same batches: the last batches before the checkpoint, whose
 *    successors were not known, are part of the state (stream.h);
 * 2. stacks get their numbers in the order of events (stacks.h), not in the order in which lanes
 *    are decoded;
 * 3. no event from before the checkpoint may come later, and blocks, lanes and modules that were
 *    there must still be there;
 * 4. nothing that depends on the whole recording may have changed: the length of a tick, which
 *    stays the same until the recording is twice as long (timebase.h) or has ended; where the heap
 *    is; modules at addresses where stacks had frames in no module.
 *
 * 3 and 4 are checked: ERR_REFUSED, and the recording is read in full. So is a recording whose
 * store would waste most of its file: appended tables, directories, states and blocks make older
 * ones useless. The limit is two thirds of the file, and more than 64 MiB.
 *
 * Private to build.c. Threads: one.
 */
#ifndef INGEST_INCREMENTAL_H
#define INGEST_INCREMENTAL_H

#include "ingest/build_state.h"
#include "ingest/replay.h"

/* Writes the state at a checkpoint, where p stands. The build may go on afterwards. ERR_IO or
 * ERR_MEMORY. */
int incremental_save(struct build *b, struct replay *p, uint64_t checkpoint_ns, struct err *err);

/* Loads the state of old into b and p, which were just made. *checkpoint_ns: where it was taken.
 * ERR_REFUSED or ERR_FORMAT: the recording must be read in full; b and p can only be destroyed. */
int incremental_load(struct build *b, struct replay *p, const struct store *old,
		     uint64_t *checkpoint_ns, struct err *err);

#endif
