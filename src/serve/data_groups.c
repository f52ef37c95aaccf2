/* serve/data_groups.c - /allocation_groups: call sites, in the shape of the old API. */
#include "serve/data_json.h"
#include "serve/handlers.h"

#include <stdlib.h>

/* REST_GROUPS_SORT has these for only_matched, then for all, then one more. */
enum key {
	MIN_TIMESTAMP,
	MAX_TIMESTAMP,
	INTERVAL,
	ALLOCATED_COUNT,
	LEAKED_COUNT,
	SIZE,
	N_KEYS,
};

struct ranked {
	uint64_t rank;
	const struct query_group *group;
};

static uint64_t key_of(const struct query_group *g, unsigned key)
{
	switch (key) {
	case MIN_TIMESTAMP:
		return g->first_ns;
	case MAX_TIMESTAMP:
		return g->last_ns;
	case INTERVAL:
		return g->last_ns - g->first_ns;
	case ALLOCATED_COUNT:
		return g->n_allocs;
	case LEAKED_COUNT:
		return g->n_leaked;
	default:
		return g->n_bytes;
	}
}

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->group->key < y->group->key ? -1 : x->group->key > y->group->key;
}

static int compare_descending(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->rank != y->rank ? compare(b, a) : compare(a, b);
}

static void put_data(struct request *rq, const char *name, const struct query_group *g,
		     const struct store_stack *whole)
{
	struct json *j = &rq->json;

	json_object(j, name);
	json_u64(j, "size", g->n_bytes);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	data_json_moment(rq, "min_timestamp", g->first_ns);
	data_json_moment(rq, "max_timestamp", g->last_ns);
	data_json_timeval(j, "interval", g->last_ns - g->first_ns);
	json_u64(j, "leaked_count", g->n_leaked);
	json_u64(j, "allocated_count", g->n_allocs);
	json_u64(j, "leaked_size", g->leaked_bytes);
	if (whole)
		json_u64(j, "peak_size", g->peak_bytes);
	else
		json_null(j, "peak_size"); /* of any filter: /api/v1/{id}/groups */
	json_u64(j, "temporary_count", g->n_temporary);
	json_null(j, "graph_preview_url");
	json_null(j, "graph_url");
	if (whole) {
		data_json_moment(rq, "max_total_usage_first_seen_at", whole->max_at_ns);
	} else {
		json_null(j, "max_total_usage_first_seen_at");
		json_null(j, "max_total_usage_first_seen_at_relative");
		json_null(j, "max_total_usage_first_seen_at_relative_p");
	}
	json_end_object(j);
}

static int put_group(struct request *rq, const struct query_group *g, struct err *err)
{
	const struct store_stack *s = store_stack(rq->store, (uint32_t)g->key);
	struct query_group all = query_whole_site(s);
	int r;

	json_object(&rq->json, NULL);
	put_data(rq, "all", &all, s);
	put_data(rq, "only_matched", g, NULL);
	json_u64(&rq->json, "backtrace_id", g->key);
	r = data_json_backtrace(rq, "backtrace", (uint32_t)g->key, err);
	json_end_object(&rq->json);
	return r;
}

static void rank(struct request *rq, const struct query_groups *g, unsigned by, struct ranked *ret)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct store_stack *s = store_stack(rq->store, (uint32_t)g->group[i].key);
		struct query_group all = query_whole_site(s);

		ret[i].group = &g->group[i];
		ret[i].rank = by == 2 * N_KEYS ? s->max_at_ns
			      : by >= N_KEYS   ? key_of(&all, by - N_KEYS)
					       : key_of(&g->group[i], by);
	}
}

static int put_groups(struct request *rq, const struct query_groups *g,
		      const struct query_page *page, unsigned by, struct err *err)
{
	struct ranked *ranked = calloc(g->n + 1, sizeof(*ranked));
	uint64_t end = page->count < g->n ? page->count : g->n;
	int r = 0;

	if (!ranked)
		return err_set_memory(err, g->n * sizeof(*ranked));
	rank(rq, g, by, ranked);
	qsort(ranked, g->n, sizeof(*ranked), page->is_descending ? compare_descending : compare);
	json_object(&rq->json, NULL);
	json_array(&rq->json, "allocations");
	for (uint64_t i = 0; r == 0 && i < end; i++) {
		if (page->skip >= g->n - i || request_is_over(rq))
			break;
		r = put_group(rq, ranked[page->skip + i].group, err);
	}
	json_end_array(&rq->json);
	json_u64(&rq->json, "total_count", g->n);
	json_end_object(&rq->json);
	free(ranked);
	return r;
}

int data_groups(struct request *rq, struct err *err)
{
	struct query_groups g = {0};
	struct query_page page = {0};
	unsigned by;
	int r = request_page(rq, &page, err);

	if (r == 0)
		r = request_choice(rq, "sort_by", REST_GROUPS_SORT, 0, &by, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0) {
		query_want(rq->query, QUERY_WANT_SPAN);
		r = query_groups(rq->query, QUERY_BY_STACK, &g, err);
	}
	if (r == 0)
		r = put_groups(rq, &g, &page, by, err);
	query_groups_fini(&g);
	return r;
}
