/* recording/merge.h - all events of a recording, one by one, in order of time.
 *
 * Each lane is decoded block by block; the lane with the smallest time is next. Inside a lane the
 * order of the file is kept whatever its clock says: the greatest time so far in the lane counts.
 * Only lanes in the middle of a block hold memory, a block each. ingest/stream.h gives the same
 * order many times as fast, but in batches.
 *
 * Damaged blocks are skipped and reported in recording.damage. Threads: one.
 */
#ifndef RECORDING_MERGE_H
#define RECORDING_MERGE_H

#include "format/event.h"
#include "recording/recording.h"

struct merge; /* opaque: defined in merge.c */

struct merge_event {
	const struct event *event; /* valid until the next merge_next() */
	uint64_t order_ticks; /* never goes back in the stream */
	uint32_t lane; /* index in recording.lane */
	uint32_t generation; /* of loaded code; for definitions of stacks */
	bool is_after_gap; /* events of this lane directly before it are missing */
};

/* r is borrowed until merge_destroy(). ERR_MEMORY. */
int merge_create(struct recording *r, struct merge **ret, struct err *err);
void merge_destroy(struct merge *m); /* NULL does nothing */

/* 1: *ret is the next event. 0: there are no more. Less: ERR_IO or ERR_MEMORY. */
int merge_next(struct merge *m, struct merge_event *ret, struct err *err);

#endif
