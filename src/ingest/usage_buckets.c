/* ingest/usage_buckets.c - see usage_buckets.h. */
#include "ingest/usage_buckets.h"

#include <string.h>

#include "store/store.h"

#define FIRST_WIDTH_NS (1u << 14)

void usage_buckets_init(struct usage_buckets *u)
{
	memset(u, 0, sizeof(*u));
	u->width_ns = FIRST_WIDTH_NS;
	u->end_ns = FIRST_WIDTH_NS;
}

/* Makes room when all buckets are used: each two become one. */
static void widen(struct usage_buckets *u)
{
	for (uint32_t i = 0; i < STORE_MAX_BUCKETS / 2; i++) {
		struct store_bucket both = u->bucket[2 * i];

		store_bucket_append(&both, &u->bucket[2 * i + 1]);
		u->bucket[i] = both;
	}
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

void usage_buckets_culled(struct usage_buckets *u, uint64_t from_ns, uint64_t to_ns, uint64_t n,
			  uint64_t n_bytes, uint64_t n_temporary)
{
	const uint64_t all[] = {n, n_bytes, n_temporary};
	uint64_t done[] = {0, 0, 0}, last;
	double span_ns = to_ns > from_ns ? (double)(to_ns - from_ns) : 1;

	usage_buckets_at(u, to_ns);
	last = to_ns / u->width_ns < u->current ? to_ns / u->width_ns : u->current;
	for (uint64_t i = from_ns / u->width_ns < last ? from_ns / u->width_ns : last; i <= last;
	     i++) {
		double share = (double)((i + 1) * u->width_ns - from_ns) / span_ns;
		uint64_t part[3];

		for (unsigned k = 0; k < 3; k++) {
			part[k] =
				(i == last ? all[k] : (uint64_t)((double)all[k] * share)) - done[k];
			done[k] += part[k];
		}
		u->bucket[i].n_culled += part[0];
		u->bucket[i].n_allocs += part[0];
		u->bucket[i].n_releases += part[0];
		u->bucket[i].culled_bytes += part[1];
		u->bucket[i].alloc_bytes += part[1];
		u->bucket[i].release_bytes += part[1];
		u->bucket[i].n_culled_temporary += part[2];
	}
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
