/* serve/data_timeline.c - memory over time: timeline, timeline_leaked, timeline_maps.
 *
 * The 2023 shape is the default (about 1000 points, xs in milliseconds); resolution=s gives the 2021
 * one (a point a second, xs in seconds). Both carry the fields of both.
 */
#include "serve/handlers.h"

#include <stdlib.h>

#include "serve/buckets.h"

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u
#define N_POINTS 1000u
#define MAX_POINTS 65536u

struct points {
	struct buckets b;
	uint64_t unit_ns; /* of xs */
};

/* Whole units wide, so that no two points have the same x. */
static int choose_points(struct request *rq, struct points *p, struct err *err)
{
	uint64_t duration = store_facts(rq->store)->duration_ns;
	size_t max = p->unit_ns == NS_PER_MS ? N_POINTS : MAX_POINTS;

	p->b.width_ns = p->unit_ns;
	if (duration / p->unit_ns >= max)
		p->b.width_ns = (duration / max / p->unit_ns + 1) * p->unit_ns;
	p->b.n = duration / p->b.width_ns + 1;
	p->b.bucket = calloc(p->b.n, sizeof(*p->b.bucket));
	return p->b.bucket ? 0 : err_set_memory(err, p->b.n * sizeof(*p->b.bucket));
}

/* Without conditions the store's own table will do, where its points are not too close. */
static int find_points(struct request *rq, struct points *p, bool has_filter, struct err *err)
{
	unsigned unit;
	int r = request_choice(rq, "resolution", "ms|s", 0, &unit, err);

	if (r < 0)
		return r;
	p->unit_ns = unit == 0 ? NS_PER_MS : NS_PER_S;
	if (!has_filter && unit == 0) {
		r = buckets_join(rq->store, N_POINTS, &p->b, err);
		if (r < 0 || (p->b.n && p->b.width_ns >= NS_PER_MS))
			return r;
		buckets_fini(&p->b);
	}
	r = choose_points(rq, p, err);
	if (r == 0)
		r = request_make_query(rq, err);
	if (r == 0)
		r = query_timeline(rq->query, 0, p->b.n * p->b.width_ns, p->b.n, p->b.bucket, err);
	return r;
}

enum column {
	SIZE_DELTA,
	COUNT_DELTA,
	ALLOCATED_SIZE,
	ALLOCATED_COUNT,
	LEAKED_SIZE,
	LEAKED_COUNT,
	ALLOCATIONS,
	DEALLOCATIONS,
	N_COLUMNS,
};

static void put_column(struct json *j, const struct points *p, enum column c)
{
	static const char *const name[N_COLUMNS] = {
		"size_delta",  "count_delta",  "allocated_size", "allocated_count",
		"leaked_size", "leaked_count", "allocations",    "deallocations"};
	uint64_t leaked_bytes = 0, n_leaked = 0, bytes = 0, count = 0;

	json_array(j, name[c]);
	for (size_t i = 0; i < p->b.n; i++) {
		const struct store_bucket *b = &p->b.bucket[i];

		leaked_bytes += b->leaked_bytes;
		n_leaked += b->n_leaked;
		if (c == SIZE_DELTA)
			json_i64(j, NULL, (int64_t)(b->last_bytes - bytes));
		else if (c == COUNT_DELTA)
			json_i64(j, NULL, (int64_t)(b->last_count - count));
		else
			json_u64(j, NULL,
				 c == ALLOCATED_SIZE    ? b->max_bytes
				 : c == ALLOCATED_COUNT ? b->max_count
				 : c == LEAKED_SIZE     ? leaked_bytes
				 : c == LEAKED_COUNT    ? n_leaked
				 : c == ALLOCATIONS     ? b->n_allocs
							: b->n_releases);
		bytes = b->last_bytes;
		count = b->last_count;
	}
	json_end_array(j);
}

static int put_timeline(struct request *rq, bool has_filter, struct err *err)
{
	struct points p = {0};
	struct json *j = &rq->json;
	int r = find_points(rq, &p, has_filter, err);

	if (r < 0)
		goto out;
	json_object(j, NULL);
	json_array(j, "xs");
	for (size_t i = 0; i < p.b.n; i++)
		json_u64(j, NULL, request_unix_ns(rq, i * p.b.width_ns) / p.unit_ns);
	json_end_array(j);
	for (unsigned c = 0; c < N_COLUMNS; c++)
		put_column(j, &p, c);
	json_end_object(j);
out:
	buckets_fini(&p.b);
	return r;
}

int data_timeline(struct request *rq, struct err *err)
{
	int r = request_filter(rq, err);

	return r < 0 ? r : put_timeline(rq, !buckets_fit(rq, "token|resolution"), err);
}

int data_timeline_leaked(struct request *rq, struct err *err)
{
	int r = request_filter(rq, err);

	rq->filter.lifetime = FILTER_ONLY_LEAKED;
	return r < 0 ? r : put_timeline(rq, true, err);
}

/* ---- timeline_maps: from the samples of the process as a whole ---- */

static uint64_t sample_value(const struct store_sample *s, unsigned column)
{
	switch (column) {
	case 0:
		return s->virtual_bytes;
	case 1:
		return s->rss_bytes;
	default:
		return s->rss_bytes > s->shared_bytes ? s->rss_bytes - s->shared_bytes : 0;
	}
}

int data_timeline_maps(struct request *rq, struct err *err)
{
	static const char *const known[] = {"address_space", "rss", "anonymous"};
	static const char *const not_recorded[] = {"dirty", "clean", "swap"};
	struct json *j = &rq->json;
	size_t n;
	const struct store_sample *s = store_table(rq->store, STORE_SAMPLES, &n);

	(void)err;
	json_object(j, NULL);
	json_array(j, "xs");
	for (size_t i = 0; i < n; i++)
		json_u64(j, NULL, request_unix_ns(rq, s[i].at_ns) / NS_PER_MS);
	json_end_array(j);
	for (unsigned c = 0; c < ARRAY_LEN(known); c++) {
		json_array(j, known[c]);
		for (size_t i = 0; i < n; i++)
			json_u64(j, NULL, sample_value(&s[i], c));
		json_end_array(j);
	}
	for (unsigned c = 0; c < ARRAY_LEN(not_recorded); c++) {
		json_array(j, not_recorded[c]);
		for (size_t i = 0; i < n; i++)
			json_null(j, NULL);
		json_end_array(j);
	}
	json_end_object(j);
	return 0;
}
