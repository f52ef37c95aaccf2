/* ingest/stream_i.h - a stream from inside, for the files of it.
 *
 * stream.c fills batches and hands them over; stream_state.c makes what it has come to into bytes, and
 * back (follow.h).
 */
#ifndef INGEST_STREAM_I_H
#define INGEST_STREAM_I_H

#include <pthread.h>

#include "ingest/stream.h"
#include "recording/lane_blocks.h"

#define STREAM_BATCHES 32u

/* What of a lane is decoded and was not passed on yet. All of it is of one block, which stays loaded
 * until it is passed on. */
struct stream_lane {
	struct event_compact
		*call; /* [at, n) of those decoded at a time: their times and stacks are final */
	uint32_t at, n;
	bool has_rare; /* this one comes after them: */
	bool is_alone; /* what it had ahead was passed on in one go, so far */
	bool has_new; /* stacks of calls, or of the rare one, may be STACKS_NEW */
	uint32_t rare_stack; /* its number */
	uint64_t rare_ns;
	struct event rare;
};

/* Batches are numbered from 0 and lie in batch[number % STREAM_BATCHES]: those before n_taken may be
 * filled again, those before n_filled are the caller's. */
struct stream {
	struct recording *rec;
	struct lane_blocks blocks;
	struct stream_lane *lane;
	struct stacks *stacks;
	struct births *births; /* borrowed; NULL: not wanted */
	struct stream_counts counts;
	struct stream_batch *batch[STREAM_BATCHES];
	bool is_cut; /* what is not full is to be filled up later */
	bool is_begun; /* batch n_filled is one of those */

	pthread_t reader;
	bool has_reader;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	uint64_t n_filled;
	uint64_t n_taken;
	bool is_done; /* no more will be filled */
	bool is_unwanted; /* the caller has no use for more */
	bool has_taken; /* the caller holds batch n_taken */
	int result;
	struct err err;
};

#endif
