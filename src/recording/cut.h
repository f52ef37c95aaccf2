/* recording/cut.h - a moment up to which a recording that still grows will not change any more.
 *
 * All events up to then are in the file, as far as anybody can tell: a thread may have read the clock
 * for one and not yet have put it there, but hardly for CUT_MARGIN_NS. Should one come after all, it is
 * found when reading goes on (cut_check_lane()), and the recording is read anew.
 *
 * A cut is a place in each lane: behind the last event that is not later. The last event of a lane is
 * not settled while it is a REALLOC_BEGIN (it may become a REALLOC_IN_PLACE, docs/FORMAT.md 5.2), so a
 * cut lies before such a one. Threads: one.
 */
#ifndef RECORDING_CUT_H
#define RECORDING_CUT_H

#include "format/event.h"
#include "recording/recording.h"

#define CUT_MARGIN_NS (1 * NS_PER_S)

struct cut_lane {
	size_t n_blocks; /* of the lane that begin before the cut; 0: nothing of it does */
	size_t last_bytes; /* so many event bytes of the last one */
};

struct cut {
	uint64_t at_ns;
	struct cut_lane *lane; /* by number of the lane */
};

/* Has the recording not ended, is it whole, and long enough? Then it is worth while to look for one. */
bool cut_is_possible(const struct recording *r);

/* Finds the last cut that can be made, not before min_ns. 1: *ret is one. 0: there is none, because the
 * recording is too short, or damaged, or does not change any more. */
int cut_find(struct recording *r, uint64_t min_ns, struct cut *ret, struct err *err);
void cut_fini(struct cut *c);

/* A place in a lane. */
struct cut_place {
	size_t block; /* in recording.block */
	const struct event_decoder
		*decoder; /* there, with bytes that are gone; NULL: its beginning */
	uint64_t min_ticks; /* no event behind it is before */
};

/* Are the events of a lane behind a place all later than at_ns? 1 yes, 0 no. */
int cut_check_lane(struct recording *r, size_t lane, const struct cut_place *from, uint64_t at_ns,
		   struct err *err);

#endif
