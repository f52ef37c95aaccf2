/* ingest/lookahead.h - which call comes next at an address.
 *
 * The clock of a call may have been read out of order (replay.h). Whether that can be so is answered by
 * the calls that follow: if none of the same address comes within the window, nothing is in doubt.
 *
 * Calls of a batch and of the one after it are chained by a hash of their address, from the one asked
 * about first: batches in which nobody asks cost nothing. So the window ends at the end of the batch
 * that follows, 4096 calls away at least. Threads: one.
 */
#ifndef INGEST_LOOKAHEAD_H
#define INGEST_LOOKAHEAD_H

#include "ingest/stream.h"

#define LOOKAHEAD_N_CHAINS 4096u

enum lookahead_next {
	LOOKAHEAD_NOTHING, /* within the window */
	LOOKAHEAD_RELEASE,
	LOOKAHEAD_ALLOC,
};

struct lookahead {
	const struct stream_batch *now, *then; /* borrowed; then: NULL behind the last one */
	size_t n_now; /* calls of now; those of then are numbered on from it */
	size_t first_chained; /* calls from here on are in the chains */
	uint16_t head[LOOKAHEAD_N_CHAINS]; /* number + 1 of the first call; 0: none */
	uint16_t next[2 * STREAM_BATCH_CALLS]; /* likewise, by number */
};

/* Questions are about calls of now from here on. */
void lookahead_begin(struct lookahead *a, const struct stream_batch *now,
		     const struct stream_batch *then);

/* What comes next at the address of call i of now, not later than window_ns after it. i does not
 * go back. window_ns is not greater than at any earlier question in this batch. */
enum lookahead_next lookahead_find(struct lookahead *a, size_t i, uint64_t window_ns);

#endif
