/* ingest/replay_i.h - a replay from inside, for replay.c and replay_checkpoint.c. */
#ifndef INGEST_REPLAY_I_H
#define INGEST_REPLAY_I_H

#include "ingest/pairing.h"
#include "ingest/replay.h"
#include "ingest/stream.h"

/* What is counted per thread. The lanes of a thread share it. */
struct replay_thread {
	uint64_t n_allocs;
	uint64_t n_releases;
};

struct replay_lane {
	struct replay_thread *thread;
	uint32_t thread_number; /* in the recording */
};

struct replay {
	struct recording *rec; /* borrowed */
	struct stream *stream;
	struct pairing pairing;
	struct replay_totals totals;
	struct replay_callbacks callbacks;
	struct replay_thread *thread; /* what lane[].thread points into */
	struct replay_lane *lane;
	uint64_t *n_lost; /* by lane: events lost, as its LOST events say */
	uint64_t n_realloc_ends; /* REALLOC_END events: not calls of their own */
};

#endif
