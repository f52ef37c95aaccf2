/* ingest/usage_buckets.c - see usage_buckets.h. */
#include "ingest/usage_buckets.h"

#include <string.h>

#define FIRST_WIDTH_NS (1u << 14)

void usage_buckets_init(struct usage_buckets *u)
{
	memset(u, 0, sizeof(*u));
	u->width_ns = FIRST_WIDTH_NS;
	u->end_ns = FIRST_WIDTH_NS;
}

static struct store_bucket join(const struct store_bucket *a, const struct store_bucket *b)
{
	return (struct store_bucket){
		.max_bytes = a->max_bytes > b->max_bytes ? a->max_bytes : b->max_bytes,
		.max_count = a->max_count > b->max_count ? a->max_count : b->max_count,
		.last_bytes = b->last_bytes,
		.last_count = b->last_count,
		.n_allocs = a->n_allocs + b->n_allocs,
		.n_releases = a->n_releases + b->n_releases,
		.alloc_bytes = a->alloc_bytes + b->alloc_bytes,
		.release_bytes = a->release_bytes + b->release_bytes,
	};
}

/* Makes room when all buckets are used: each two become one. */
static void widen(struct usage_buckets *u)
{
	for (uint32_t i = 0; i < STORE_MAX_BUCKETS / 2; i++)
		u->bucket[i] = join(&u->bucket[2 * i], &u->bucket[2 * i + 1]);
	u->width_ns *= 2;
	u->current = STORE_MAX_BUCKETS / 2 - 1;
	u->end_ns = (uint64_t)(u->current + 1) * u->width_ns;
}

static void begin_bucket(struct usage_buckets *u)
{
	if (u->current + 1 == STORE_MAX_BUCKETS)
		widen(u);
	u->current++;
	if (__builtin_add_overflow(u->end_ns, u->width_ns, &u->end_ns))
		u->end_ns = UINT64_MAX; /* only a damaged recording lasts so long */
	u->bucket[u->current] = (struct store_bucket){
		.max_bytes = u->live_bytes,
		.max_count = u->live_count,
		.last_bytes = u->live_bytes,
		.last_count = u->live_count,
	};
}

void usage_buckets_advance(struct usage_buckets *u, uint64_t at_ns)
{
	while (at_ns >= u->end_ns && u->end_ns != UINT64_MAX)
		begin_bucket(u);
}

void usage_buckets_finish(struct usage_buckets *u, uint64_t duration_ns)
{
	if (duration_ns)
		usage_buckets_at(u, duration_ns - 1);
}

void usage_buckets_leaked(struct usage_buckets *u, uint64_t alloc_ns, uint64_t size_bytes)
{
	uint64_t i = alloc_ns / u->width_ns;
	struct store_bucket *b = &u->bucket[i < u->current ? i : u->current];

	b->leaked_bytes += size_bytes;
	b->n_leaked++;
}
