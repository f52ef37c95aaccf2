/* ingest/usage_buckets.h - live bytes and calls over time, in at most STORE_MAX_BUCKETS buckets.
 *
 * The length of the recording is not known beforehand. So buckets begin narrow (16 us); when all
 * are used, each two become one, and the width doubles. A step that comes late, with a time before
 * the newest bucket, counts in the newest bucket. Nothing here can fail. Threads: one.
 */
#ifndef INGEST_USAGE_BUCKETS_H
#define INGEST_USAGE_BUCKETS_H

#include "base/compiler.h"
#include "store/columns.h"

struct usage_buckets {
	struct store_bucket bucket[STORE_MAX_BUCKETS];
	uint64_t width_ns;
	uint64_t end_ns; /* of the current bucket; UINT64_MAX: it has no end */
	uint32_t current; /* index of the newest bucket */
	uint64_t live_bytes;
	uint64_t live_count;
};

void usage_buckets_init(struct usage_buckets *u);

/* Makes the bucket of a time the current one. The time is not before the end of the current one. */
void usage_buckets_advance(struct usage_buckets *u, uint64_t at_ns);

/* The bucket in which an event counts. */
static inline struct store_bucket *usage_buckets_at(struct usage_buckets *u, uint64_t at_ns)
{
	if (unlikely(at_ns >= u->end_ns))
		usage_buckets_advance(u, at_ns);
	return &u->bucket[u->current];
}

/* A block was allocated. Inline, as usage_buckets_free(): one of them runs in every step. */
static inline void usage_buckets_alloc(struct usage_buckets *u, uint64_t at_ns, uint64_t size_bytes)
{
	struct store_bucket *b = usage_buckets_at(u, at_ns);

	b->last_bytes = u->live_bytes += size_bytes;
	b->last_count = ++u->live_count;
	b->n_allocs++;
	b->alloc_bytes += size_bytes;
	if (u->live_bytes > b->max_bytes)
		b->max_bytes = u->live_bytes;
	if (u->live_count > b->max_count)
		b->max_count = u->live_count;
}

/* A block was released. */
static inline void usage_buckets_free(struct usage_buckets *u, uint64_t at_ns, uint64_t size_bytes)
{
	struct store_bucket *b = usage_buckets_at(u, at_ns);

	b->last_bytes = u->live_bytes -= size_bytes;
	b->last_count = --u->live_count;
	b->n_releases++;
	b->release_bytes += size_bytes;
}

/* Counts calls that were culled, each with its free, evenly over the time from_ns to to_ns. */
void usage_buckets_culled(struct usage_buckets *u, uint64_t from_ns, uint64_t to_ns, uint64_t n,
			  uint64_t n_bytes, uint64_t n_temporary);

/* After the last step: adds empty buckets up to the end of the recording. */
void usage_buckets_finish(struct usage_buckets *u, uint64_t duration_ns);

/* Counts a block that was never released, in the bucket of its allocation. After
 * usage_buckets_finish(). */
void usage_buckets_leaked(struct usage_buckets *u, uint64_t alloc_ns, uint64_t size_bytes);

#endif
