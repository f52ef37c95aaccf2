/* ingest/lookahead.h - which call comes next at an address.
 *
 * An event may be out of order (pairing.h). The calls that follow show whether it can be: if none
 * of them has the same address within the window, no counterpart will come.
 *
 * The calls of a batch and of the batch after it are chained by a hash of their address:
 *
 *   head[hash] -> call 17 -> call 90 -> call 4100 (of the batch after it)
 *
 * The chains are made when the first question of a batch comes, and begin at the call that is asked
 * about: a batch without questions costs nothing. They reach to the end of the batch after the
 * current one, so at least STREAM_BATCH_CALLS calls ahead, except at the end of the recording.
 * Threads: one.
 */
#ifndef INGEST_LOOKAHEAD_H
#define INGEST_LOOKAHEAD_H

#include "ingest/stream.h"

#define LOOKAHEAD_N_CHAINS 4096u

enum lookahead_next {
	LOOKAHEAD_NOTHING, /* no call of the address within the window */
	LOOKAHEAD_RELEASE,
	LOOKAHEAD_ALLOC,
};

struct lookahead {
	const struct stream_batch *now, *then; /* borrowed; then: NULL after the last batch */
	size_t n_now; /* calls of now; calls of then have the numbers from n_now on */
	size_t first_chained; /* calls with this number and higher are in the chains */
	uint16_t head[LOOKAHEAD_N_CHAINS]; /* number + 1 of the first call; 0: none */
	uint16_t next[2 * STREAM_BATCH_CALLS]; /* by call: number + 1 of the next one; 0: none */
};

/* The questions from here on are about calls of now; then: the batch after it, or NULL. */
void lookahead_begin(struct lookahead *a, const struct stream_batch *now,
		     const struct stream_batch *then);

/* What comes next at the address of call i of now, at most window_ns later? Inside a batch, i never
 * goes back and window_ns never grows. */
enum lookahead_next lookahead_find(struct lookahead *a, size_t i, uint64_t window_ns);

#endif
