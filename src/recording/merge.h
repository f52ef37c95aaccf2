/* recording/merge.h - all events of a recording as one stream, in order of time.
 *
 * Each lane is decoded block by block; the lane whose time is smallest is next. Inside a lane the
 * order of the file is kept whatever its clock says: what counts is the greatest time seen in the
 * lane so far. Only lanes in the middle of a block hold memory (a block each).
 *
 * Blocks that are damaged are skipped and told in recording.damage.
 */
#ifndef RECORDING_MERGE_H
#define RECORDING_MERGE_H

#include "format/event.h"
#include "recording/recording.h"

struct merge; /* opaque: defined in merge.c */

struct merge_event {
	const struct event *event; /* good until the next merge_next() */
	uint64_t order_ticks; /* never goes back in the stream */
	uint32_t lane; /* index in recording.lane */
	uint32_t generation; /* of loaded code; for definitions of stacks */
	bool is_after_gap; /* events of this lane before it are missing */
};

/* r is borrowed. */
int merge_create(struct recording *r, struct merge **ret, struct err *err);
void merge_destroy(struct merge *m); /* NULL does nothing */

/* 1: *ret is the next event. 0: no more. Less: the file could not be read. */
int merge_next(struct merge *m, struct merge_event *ret, struct err *err);

#endif
