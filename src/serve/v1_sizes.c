/* serve/v1_sizes.c - /api/v1: histograms of sizes and of lifetimes (query/sizes.h, query/lifetimes.h). */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>

#include "query/lifetimes.h"
#include "query/sizes.h"

#define N_SITES 6u

static void put_parts(struct request *rq, const struct sizes *s)
{
	struct json *j = &rq->json;

	json_array(j, "sites");
	for (size_t i = 0; i < s->n_parts; i++) {
		const struct frame *blame = query_blame(rq->query, s->part[i].stack);

		json_object(j, NULL);
		json_u64(j, "key", s->part[i].key);
		if (blame)
			v1_json_frame_text(rq, "blame", blame);
		else
			json_null(j, "blame");
		json_u64(j, "value", s->part[i].value);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_sizes(struct request *rq, const struct sizes *s)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_array(j, "buckets");
	for (size_t i = 0; i < s->n_buckets; i++) {
		json_object(j, NULL);
		json_u64(j, "min", s->bucket[i].min_bytes);
		json_u64(j, "max", s->bucket[i].max_bytes);
		v1_json_cost(j, "cost", &s->bucket[i].cost);
		v1_json_numbers(j, "parts", s->bucket[i].part, s->n_parts);
		json_end_object(j);
	}
	json_end_array(j);
	put_parts(rq, s);
	json_end_object(j);
}

int v1_sizes(struct request *rq, struct err *err)
{
	/* in the order of V1_COSTS */
	static const enum query_cost costs[] = {QUERY_COST_PEAK_BYTES, QUERY_COST_LEAKED_BYTES,
						QUERY_COST_ALLOCATIONS, QUERY_COST_TEMPORARY,
						QUERY_COST_BYTES};
	struct sizes *s;
	unsigned cost = 0;
	uint64_t top;
	int r = request_u64(rq, "top", N_SITES, SIZES_MAX_PARTS, &top, err);

	if (r == 0)
		r = request_choice(rq, "cost", V1_COSTS, 0, &cost, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	s = malloc(sizeof(*s));
	if (!s)
		return err_set_memory(err, sizeof(*s));
	query_want(rq->query, QUERY_WANT_PEAK);
	r = sizes_count(rq->query, costs[cost], (unsigned)top, s, err);
	if (r == 0)
		put_sizes(rq, s);
	free(s);
	return r;
}

int v1_lifetimes(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	struct lifetimes l;
	int r = request_query(rq, err);

	if (r == 0)
		r = lifetimes_count(rq->query, &l, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "buckets");
	for (size_t i = 0; i < l.n_buckets; i++) {
		json_object(j, NULL);
		json_u64(j, "min_ns", l.bucket[i].min_ns);
		json_u64(j, "max_ns", l.bucket[i].max_ns);
		json_u64(j, "count", l.bucket[i].count);
		json_u64(j, "bytes", l.bucket[i].n_bytes);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "freed_count", l.freed_count);
	json_u64(j, "freed_bytes", l.freed_bytes);
	json_u64(j, "never_count", l.never_count);
	json_u64(j, "never_bytes", l.never_bytes);
	if (l.freed_count)
		json_u64(j, "median_ns", l.median_ns);
	else
		json_null(j, "median_ns");
	json_end_object(j);
	return 0;
}
