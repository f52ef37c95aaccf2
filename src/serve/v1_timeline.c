/* serve/v1_timeline.c - /api/v1: a filter's matches over time, and their peak. */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stddef.h>
#include <stdlib.h>

#include "serve/buckets.h"

#define N_BUCKETS 1000u
#define N_WHOLE 2048u /* at most, when all is asked for */
#define MAX_BUCKETS 65536u /* as query_timeline() */

static void put_buckets(struct json *j, const struct store_bucket *b, size_t n)
{
	static const struct {
		const char *name;
		size_t offset;
	} column[] = {
		{"max_bytes", offsetof(struct store_bucket, max_bytes)},
		{"max_count", offsetof(struct store_bucket, max_count)},
		{"last_bytes", offsetof(struct store_bucket, last_bytes)},
		{"last_count", offsetof(struct store_bucket, last_count)},
		{"allocations", offsetof(struct store_bucket, n_allocs)},
		{"releases", offsetof(struct store_bucket, n_releases)},
		{"allocated_bytes", offsetof(struct store_bucket, alloc_bytes)},
		{"released_bytes", offsetof(struct store_bucket, release_bytes)},
		{"leaked_bytes", offsetof(struct store_bucket, leaked_bytes)},
		{"leaked_count", offsetof(struct store_bucket, n_leaked)},
	};

	for (size_t c = 0; c < ARRAY_LEN(column); c++) {
		json_array(j, column[c].name);
		for (size_t i = 0; i < n; i++)
			json_u64(j, NULL,
				 *(const uint64_t *)(const void *)((const char *)&b[i] +
								   column[c].offset));
		json_end_array(j);
	}
}

static void put_timeline(struct json *j, uint64_t from_ns, uint64_t width_ns,
			 const struct store_bucket *b, size_t n)
{
	json_object(j, NULL);
	json_u64(j, "from_ns", from_ns);
	json_u64(j, "to_ns", from_ns + width_ns * n);
	json_u64(j, "bucket_ns", width_ns);
	put_buckets(j, b, n);
	json_end_object(j);
}

/* Everything: from the store's own table. *is_done false: it has none. */
static int put_whole(struct request *rq, bool *is_done, struct err *err)
{
	struct buckets b;
	int r = buckets_join(rq->store, N_WHOLE, &b, err);

	*is_done = r == 0 && b.n > 0;
	if (*is_done)
		put_timeline(&rq->json, 0, b.width_ns, b.bucket, b.n);
	buckets_fini(&b);
	return r;
}

int v1_timeline(struct request *rq, struct err *err)
{
	uint64_t from, to, n;
	struct store_bucket *bucket;
	bool is_done = false;
	int r = 0;

	if (buckets_fit(rq, "token"))
		r = put_whole(rq, &is_done, err);
	if (r < 0 || is_done)
		return r;
	r = request_time(rq, "from", false, 0, &from, err);
	if (r == 0)
		r = request_time(rq, "to", true, store_facts(rq->store)->duration_ns + 1, &to, err);
	if (r == 0)
		r = request_u64(rq, "buckets", N_BUCKETS, MAX_BUCKETS, &n, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	if (to <= from)
		to = from + 1;
	if (n == 0)
		n = 1;
	bucket = calloc(n, sizeof(*bucket));
	if (!bucket)
		return err_set_memory(err, n * sizeof(*bucket));
	r = query_timeline(rq->query, from, to, n, bucket, err);
	if (r == 0)
		put_timeline(&rq->json, from, query_timeline_width(from, to, n), bucket, n);
	free(bucket);
	return r;
}

int v1_peak(struct request *rq, struct err *err)
{
	struct query_peak peak;
	struct json *j = &rq->json;
	int r = request_query(rq, err);

	if (r == 0)
		r = query_peak(rq->query, &peak, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_u64(j, "at_ns", peak.at_ns);
	json_u64(j, "bytes", peak.n_bytes);
	json_u64(j, "count", peak.n_alive);
	json_end_object(j);
	return 0;
}
