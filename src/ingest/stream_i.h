/* ingest/stream_i.h - a stream from inside, for stream.c and stream_checkpoint.c. */
#ifndef INGEST_STREAM_I_H
#define INGEST_STREAM_I_H

#include <pthread.h>

#include "ingest/stream.h"
#include "recording/lane_blocks.h"

#define STREAM_BATCHES 32u

/* Events of a lane that are decoded and not passed on yet. All of them are of one block, which
 * stays loaded until they are passed on. */
struct stream_lane {
	struct event_compact *call; /* [at, n) are left; their times and stacks are final */
	uint32_t at, n;
	bool has_rare; /* the event `rare` comes after the calls */
	bool is_alone; /* its last decoded calls were passed on in one piece */
	bool has_new; /* stacks of calls, or rare_stack, may be STACKS_NEW */
	uint32_t rare_stack; /* number of the stack of rare */
	uint64_t rare_ns;
	struct event rare;
};

/* Batches are numbered from 0 and lie in batch[number % STREAM_BATCHES]:
 *
 *   ... n_taken ........... n_filled ...
 *   may be     the caller's          the reader fills this one
 *   filled again
 */
struct stream {
	struct recording *rec;
	struct lane_blocks blocks;
	struct stream_lane *lane;
	struct stacks *stacks;
	struct alloc_sums *sums; /* borrowed; NULL: not wanted */
	struct stream_counts counts;
	struct stream_batch *batch[STREAM_BATCHES];
	bool ends_at_checkpoint; /* a batch that is not full will be filled up later */
	bool is_begun; /* batch n_filled is such a batch */

	pthread_t reader;
	bool has_reader;
	pthread_mutex_t lock; /* guards all fields below */
	pthread_cond_t changed;
	uint64_t n_filled;
	uint64_t n_taken;
	bool is_done; /* the reader fills no more */
	bool is_unwanted; /* the caller needs no more */
	bool has_taken; /* the caller holds batch n_taken */
	int result; /* of the reader: 0 or an error, whose text is in err */
	struct err err;
};

#endif
