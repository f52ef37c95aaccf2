/* recording/checkpoint_pos.h - up to where a recording that still grows will not change any more.
 *
 * A checkpoint position is a moment, and a position in each lane: after the last event that is not
 * later than the moment. All events up to the moment are in the file, as far as anybody can know. A
 * thread may have read the clock for an event and not have written the event yet, but hardly for
 * CHECKPOINT_POS_MARGIN_NS; so the moment is that much before the newest time. If such an event
 * comes later after all, checkpoint_pos_check_lane() finds it when reading is resumed, and the
 * recording is read from the start.
 *
 * An event that is the last of its lane may still change if it is a REALLOC_BEGIN: it may become a
 * REALLOC_IN_PLACE (docs/FORMAT.md 5.2). A checkpoint position lies before such an event.
 *
 * Threads: one per recording.
 */
#ifndef RECORDING_CHECKPOINT_POS_H
#define RECORDING_CHECKPOINT_POS_H

#include "format/event.h"
#include "recording/recording.h"

#define CHECKPOINT_POS_MARGIN_NS (1 * NS_PER_S)

struct checkpoint_pos_lane {
	size_t n_blocks; /* blocks of the lane up to the position; 0: the lane begins after it */
	size_t last_bytes; /* event bytes of the last of these blocks, up to the position */
};

struct checkpoint_pos {
	uint64_t at_ns;
	struct checkpoint_pos_lane *lane; /* by index in recording.lane; owned */
};

/* Can the recording have a checkpoint position? It must be growing, undamaged and long enough, and
 * the length of its tick must be settled (timebase_is_steady()). Cheap. */
bool checkpoint_pos_is_possible(const struct recording *r);

/* Finds the latest position that is not before min_ns. 1: *ret is the position, to be freed with
 * checkpoint_pos_fini(). 0: there is none, because the recording is too short, is damaged, or does
 * not grow. Less: ERR_IO or ERR_MEMORY. */
int checkpoint_pos_find(struct recording *r, uint64_t min_ns, struct checkpoint_pos *ret,
			struct err *err);
void checkpoint_pos_fini(struct checkpoint_pos *c);

/* A position in a lane, from which reading is resumed. */
struct checkpoint_pos_start {
	size_t block; /* index in recording.block */
	const struct event_decoder *decoder; /* as it was there; NULL: the start of the block */
	uint64_t min_ticks; /* no event after the position is earlier */
};

/* Are all events of a lane after a position later than at_ns? 1: yes. 0: no, or a block is damaged.
 * Less: ERR_IO or ERR_MEMORY. Of decoder only the state counts, not the bytes that it pointed
 * to. */
int checkpoint_pos_check_lane(struct recording *r, size_t lane,
			      const struct checkpoint_pos_start *from, uint64_t at_ns,
			      struct err *err);

#endif
