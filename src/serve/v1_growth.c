/* serve/v1_growth.c - /api/v1: what is alive at two moments, and by how much it changed. */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>

#include "query/group_series.h"
#include "query/query_growth.h"

#define N_ROWS 50u
#define MAX_ROWS 500u
#define N_POINTS 60u
#define MAX_POINTS 500u

/* In the order of V1_GROWTH_BY. */
static const enum query_group_by by_kind[] = {QUERY_BY_BLAME, QUERY_BY_STACK, QUERY_BY_PACKAGE,
					      QUERY_BY_THREAD};

struct growth {
	struct request *rq;
	enum query_group_by by;
	uint64_t from_ns, to_ns;
	struct query_growths all; /* in the order of the answer, once sorted */
	struct query_page page;
	const struct query_growth *row; /* of the page */
	size_t n_rows;
	uint64_t n_points;
	uint64_t *graph; /* n_rows * n_points */
};

/* By change; of equal changes the one that has more at the end; then always in the same order. */
static int compare(const void *a, const void *b)
{
	const struct query_growth *x = a, *y = b;
	int64_t x_bytes = query_growth_bytes(x), y_bytes = query_growth_bytes(y);

	if (x_bytes != y_bytes)
		return x_bytes < y_bytes ? -1 : 1;
	if (x->to_bytes != y->to_bytes)
		return x->to_bytes < y->to_bytes ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int compare_descending(const void *a, const void *b)
{
	return compare(b, a);
}

static void sort_rows(struct growth *g)
{
	uint64_t first = g->page.skip < g->all.n ? g->page.skip : g->all.n, left = g->all.n - first;

	if (g->all.n)
		qsort(g->all.group, g->all.n, sizeof(*g->all.group),
		      g->page.is_descending ? compare_descending : compare);
	g->row = g->all.group + first;
	g->n_rows = g->page.count < left ? g->page.count : left;
}

/* From the first moment to the second, with which the last point ends. */
static int make_graphs(struct growth *g, struct err *err)
{
	const struct group_series series = {
		.by = g->by,
		.kind = GROUP_SERIES_BYTES,
		.from_ns = g->from_ns,
		.to_ns = g->to_ns + 1,
		.n_buckets = g->n_points,
	};
	uint64_t *key = calloc(g->n_rows + 1, sizeof(*key));
	int r;

	g->graph = calloc(g->n_rows * g->n_points + 1, sizeof(*g->graph));
	r = key && g->graph ? 0 : err_set_memory(err, g->n_rows * g->n_points * sizeof(*key));
	for (size_t i = 0; r == 0 && i < g->n_rows; i++)
		key[i] = g->row[i].key;
	if (r == 0)
		r = group_series_of(g->rq->query, &series, key, g->n_rows, g->graph, err);
	free(key);
	return r;
}

/* blame and callers: both are always there. */
static int put_owner(struct growth *g, const struct query_growth *row, struct err *err)
{
	const struct frame *blame = NULL;
	struct json *j = &g->rq->json;

	if (g->by == QUERY_BY_STACK && v1_json_blame(g->rq, (uint32_t)row->key, err))
		return v1_json_site(g->rq, (uint32_t)row->key, err);
	if (g->by == QUERY_BY_BLAME)
		blame = query_blame(g->rq->query, row->stack);
	if (blame)
		v1_json_frame_text(g->rq, "blame", blame);
	else
		json_null(j, "blame");
	json_array(j, "callers");
	json_end_array(j);
	return 0;
}

static int put_row(struct growth *g, size_t i, struct err *err)
{
	const struct query_growth *row = &g->row[i];
	struct json *j = &g->rq->json;
	int r;

	json_object(j, NULL);
	json_u64(j, "key", row->key);
	json_text(j, "name", v1_json_group_name(g->rq, g->by, row->key));
	r = put_owner(g, row, err);
	json_u64(j, "from_bytes", row->from_bytes);
	json_u64(j, "to_bytes", row->to_bytes);
	json_i64(j, "change_bytes", query_growth_bytes(row));
	json_u64(j, "from_count", row->from_count);
	json_u64(j, "to_count", row->to_count);
	v1_json_numbers(j, "timeline", g->n_points ? g->graph + i * g->n_points : NULL,
			g->n_points);
	json_end_object(j);
	return r;
}

static int put_growth(struct growth *g, struct err *err)
{
	struct json *j = &g->rq->json;
	int r = 0;

	json_object(j, NULL);
	json_u64(j, "from_ns", g->from_ns);
	json_u64(j, "to_ns", g->to_ns);
	json_u64(j, "from_bytes", g->all.total.from_bytes);
	json_u64(j, "to_bytes", g->all.total.to_bytes);
	json_u64(j, "from_count", g->all.total.from_count);
	json_u64(j, "to_count", g->all.total.to_count);
	json_array(j, "rows");
	for (size_t i = 0; r == 0 && i < g->n_rows && !request_is_over(g->rq); i++)
		r = put_row(g, i, err);
	json_end_array(j);
	json_u64(j, "total_count", g->all.n);
	json_end_object(j);
	return r;
}

static int read_parameters(struct growth *g, struct err *err)
{
	struct request *rq = g->rq;
	unsigned by = 0, order = 1;
	int r = request_time(rq, "from", false, 0, &g->from_ns, err);

	if (r == 0)
		r = request_time(rq, "to", true, store_facts(rq->store)->duration_ns, &g->to_ns,
				 err);
	if (r == 0)
		r = request_choice(rq, "by", V1_GROWTH_BY, 0, &by, err);
	if (r == 0)
		r = request_u64(rq, "skip", 0, UINT64_MAX, &g->page.skip, err);
	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, MAX_ROWS, &g->page.count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &order, err);
	if (r == 0)
		r = request_u64(rq, "graph", N_POINTS, MAX_POINTS, &g->n_points, err);
	g->by = by_kind[by];
	g->page.is_descending = order > 0;
	if (r == 0 && g->to_ns < g->from_ns) {
		request_refuse(rq, 400, "to", url_find(&rq->url, "to"), "a time not before from");
		r = err_set(err, ERR_USAGE, "to: lies before from");
	}
	return r;
}

int v1_growth(struct request *rq, struct err *err)
{
	struct growth g = {.rq = rq};
	int r = read_parameters(&g, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r == 0)
		r = query_growth(rq->query, g.by, g.from_ns, g.to_ns, &g.all, err);
	if (r == 0)
		sort_rows(&g);
	if (r == 0 && g.n_points && g.n_rows)
		r = make_graphs(&g, err);
	if (r == 0)
		r = put_growth(&g, err);
	query_growths_fini(&g.all);
	free(g.graph);
	return r;
}
