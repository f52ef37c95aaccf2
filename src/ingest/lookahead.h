/* ingest/lookahead.h - which call comes next at an address.
 *
 * A call that does not fit, such as an allocation of an address that is live, may wait for a call
 * of another lane at the same address that makes it fit (pairing.h). This file looks at the calls
 * that follow. If no call at the address follows within the window, there is nothing to wait for.
 *
 * Calls are the entries of stream_batch.call. The calls of the current batch (now) and of the batch
 * after it (then) are numbered through and chained by a hash of their address, in order of time:
 *
 *   head[hash] -> call 17 -> call 90 -> call 4100 (with 4096 calls in now: call 4 of then)
 *
 * Addresses may share a chain, so a search compares addresses.
 *
 * The chains are made at the first question about a batch: a batch without questions costs nothing.
 * The chains begin at the call of this question. They end one window after the last call of now, or
 * with the last call of then; calls after then are not seen.
 * Threads: one.
 */
#ifndef INGEST_LOOKAHEAD_H
#define INGEST_LOOKAHEAD_H

#include "ingest/stream.h"

#define LOOKAHEAD_N_CHAINS 4096u

enum lookahead_next {
	LOOKAHEAD_NOTHING, /* no call at the address within the window, as far as then reaches */
	LOOKAHEAD_RELEASE,
	LOOKAHEAD_ALLOC,
};

struct lookahead {
	const struct stream_batch *now, *then; /* borrowed; then: NULL after the last batch */
	size_t n_now; /* calls of now; calls of then have the numbers from n_now on */
	size_t first_chained; /* calls before this number are not chained; SIZE_MAX: none is */
	uint16_t head[LOOKAHEAD_N_CHAINS]; /* number + 1 of the first call; 0: none */
	uint16_t next[2 * STREAM_BATCH_CALLS]; /* by call: number + 1 of the next one; 0: none */
};

/* The questions from here on are about calls of now; then: the batch after it, or NULL. Both stay
 * unchanged until the next lookahead_begin(). The struct may be uninitialized before. */
void lookahead_begin(struct lookahead *a, const struct stream_batch *now,
		     const struct stream_batch *then);

/* What comes after call i of now at the address of call i, at most window_ns later? Rules for the
 * questions about one batch:
 *   - Ask in the order of the calls. A question about a call before first_chained makes all chains
 *     again: slow, but right.
 *   - window_ns must not grow. The chains end with the window of the question that made them; a
 *     longer window would miss calls. */
enum lookahead_next lookahead_find(struct lookahead *a, size_t i, uint64_t window_ns);

#endif
