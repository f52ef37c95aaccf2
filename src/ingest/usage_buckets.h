/* ingest/usage_buckets.h - live bytes and calls over time, in at most STORE_MAX_BUCKETS buckets.
 *
 * The length of the recording is not known beforehand: buckets begin narrow, and when they do not
 * reach any more, two become one. Times may go back a little; what is late counts in the newest
 * bucket.
 */
#ifndef INGEST_USAGE_BUCKETS_H
#define INGEST_USAGE_BUCKETS_H

#include "base/compiler.h"
#include "store/columns.h"

struct usage_buckets {
	struct store_bucket bucket[STORE_MAX_BUCKETS];
	uint64_t width_ns;
	uint64_t end_ns; /* of the current bucket; UINT64_MAX: it has none */
	uint32_t current;
	uint64_t live_bytes;
	uint64_t live_count;
};

void usage_buckets_init(struct usage_buckets *u);

/* Goes on to the bucket of a time that is not before the end of the current one. */
void usage_buckets_advance(struct usage_buckets *u, uint64_t at_ns);

static inline struct store_bucket *usage_buckets_at(struct usage_buckets *u, uint64_t at_ns)
{
	if (unlikely(at_ns >= u->end_ns))
		usage_buckets_advance(u, at_ns);
	return &u->bucket[u->current];
}

static inline void usage_buckets_alloc(struct usage_buckets *u, uint64_t at_ns, uint64_t size_bytes)
{
	struct store_bucket *b = usage_buckets_at(u, at_ns);

	u->live_bytes += size_bytes;
	u->live_count++;
	b->n_allocs++;
	b->alloc_bytes += size_bytes;
	b->last_bytes = u->live_bytes;
	b->last_count = u->live_count;
	if (u->live_bytes > b->max_bytes)
		b->max_bytes = u->live_bytes;
	if (u->live_count > b->max_count)
		b->max_count = u->live_count;
}

static inline void usage_buckets_free(struct usage_buckets *u, uint64_t at_ns, uint64_t size_bytes)
{
	struct store_bucket *b = usage_buckets_at(u, at_ns);

	u->live_bytes -= size_bytes;
	u->live_count--;
	b->n_releases++;
	b->release_bytes += size_bytes;
	b->last_bytes = u->live_bytes;
	b->last_count = u->live_count;
}

/* Time goes on to the end of the recording. */
void usage_buckets_finish(struct usage_buckets *u, uint64_t duration_ns);

/* Counts a block that was never released where it was born. After usage_buckets_finish(). */
void usage_buckets_leaked(struct usage_buckets *u, uint64_t born_ns, uint64_t size_bytes);

#endif
