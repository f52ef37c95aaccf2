/* recording/checkpoint_pos.h - a moment up to which a recording that still grows will not change any more.
 *
 * All events up to then are in the file, as far as anybody can tell: a thread may have read the clock
 * for one and not yet have put it there, but hardly for CHECKPOINT_POS_MARGIN_NS. Should one come after all, it is
 * found when reading goes on (checkpoint_pos_check_lane()), and the recording is read anew.
 *
 * A checkpoint is a place in each lane: behind the last event that is not later. The last event of a lane is
 * not settled while it is a REALLOC_BEGIN (it may become a REALLOC_IN_PLACE, docs/FORMAT.md 5.2), so a
 * checkpoint lies before such a one. Threads: one.
 */
#ifndef RECORDING_CHECKPOINT_POS_H
#define RECORDING_CHECKPOINT_POS_H

#include "format/event.h"
#include "recording/recording.h"

#define CHECKPOINT_POS_MARGIN_NS (1 * NS_PER_S)

struct checkpoint_pos_lane {
	size_t n_blocks; /* of the lane that begin before the checkpoint; 0: nothing of it does */
	size_t last_bytes; /* so many event bytes of the last one */
};

struct checkpoint_pos {
	uint64_t at_ns;
	struct checkpoint_pos_lane *lane; /* by number of the lane */
};

/* Has the recording not ended, is it whole, and long enough? Then it is worth while to look for one. */
bool checkpoint_pos_is_possible(const struct recording *r);

/* Finds the last checkpoint that can be made, not before min_ns. 1: *ret is one. 0: there is none, because the
 * recording is too short, or damaged, or does not change any more. */
int checkpoint_pos_find(struct recording *r, uint64_t min_ns, struct checkpoint_pos *ret,
			struct err *err);
void checkpoint_pos_fini(struct checkpoint_pos *c);

/* A place in a lane. */
struct checkpoint_pos_start {
	size_t block; /* in recording.block */
	const struct event_decoder
		*decoder; /* there, with bytes that are gone; NULL: its beginning */
	uint64_t min_ticks; /* no event behind it is before */
};

/* Are the events of a lane behind a place all later than at_ns? 1 yes, 0 no. */
int checkpoint_pos_check_lane(struct recording *r, size_t lane,
			      const struct checkpoint_pos_start *from, uint64_t at_ns,
			      struct err *err);

#endif
