/* serve/v1_groups.c - /api/v1: matches added up by stack, thread, size, function and so on. */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/map.h"

#define N_ROWS 200u /* of a page, when the client does not say */
#define MAX_GRAPH_POINTS 500u
#define MAX_GRAPH_ROWS 500u
#define MAX_CALLERS 8u

/* In the order of V1_GROUPS_BY. */
static const enum query_group_by by_kind[] = {
	QUERY_BY_STACK, QUERY_BY_FREE_STACK, QUERY_BY_THREAD,   QUERY_BY_SIZE_CLASS,
	QUERY_BY_CODE,  QUERY_BY_MODULE,     QUERY_BY_FUNCTION, QUERY_BY_LINE,
};

struct sorted {
	uint64_t rank;
	const struct query_group *group;
};

struct table {
	struct request *rq;
	unsigned by; /* index of V1_GROUPS_BY */
	struct query_groups groups;
	struct sorted *row; /* all groups, in order */
	struct query_page page;
	uint64_t first, n_rows; /* of the page */
	uint64_t n_points; /* of each row's graph; 0: none */
	int64_t *graph; /* n_rows * n_points: changes, then sums */
	int64_t *leaked_graph;
	struct map index; /* stack -> row of the page + 1 */
};

static uint64_t rank_of(const struct query_group *g, unsigned sort)
{
	const uint64_t value[] = {g->n_bytes,  g->leaked_bytes, g->n_leaked,    g->peak_bytes,
				  g->n_allocs, g->n_temporary,  g->extra_bytes, g->first_ns,
				  g->last_ns,  g->key};

	return value[sort];
}

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->group->key < y->group->key ? -1 : x->group->key > y->group->key;
}

static int compare_descending(const void *a, const void *b)
{
	return compare(b, a);
}

/* ---- graphs of the rows of a page ---- */

static size_t point_of(const struct table *t, uint64_t at_ns)
{
	uint64_t duration = store_facts(t->rq->store)->duration_ns + 1;
	uint64_t width = duration / t->n_points + 1;
	uint64_t point = at_ns / width;

	return point < t->n_points ? (size_t)point : t->n_points - 1;
}

static bool add_to_graph(void *user, const struct query_row *row)
{
	struct table *t = user;
	const uint64_t *index = map_find(&t->index, row->stack);
	int64_t *graph;

	if (!index || *index == 0)
		return true;
	graph = t->graph + (*index - 1) * t->n_points;
	graph[point_of(t, row->birth_ns)] += (int64_t)row->size_bytes;
	if (row->death_ns == UINT64_MAX)
		t->leaked_graph[(*index - 1) * t->n_points + point_of(t, row->birth_ns)] +=
			(int64_t)row->size_bytes;
	else
		graph[point_of(t, row->death_ns)] -= (int64_t)row->size_bytes;
	return true;
}

static int make_graphs(struct table *t, struct err *err)
{
	struct query_page all = {.count = UINT64_MAX};
	size_t n = (size_t)(t->n_rows * t->n_points);
	int r = 0;

	t->graph = calloc(n + 1, sizeof(*t->graph));
	t->leaked_graph = calloc(n + 1, sizeof(*t->leaked_graph));
	if (!t->graph || !t->leaked_graph)
		return err_set_memory(err, 2 * n * sizeof(*t->graph));
	for (uint64_t i = 0; r == 0 && i < t->n_rows; i++) {
		uint64_t *index;

		r = map_add(&t->index, t->row[t->first + i].group->key, &index, NULL, err);
		if (r == 0)
			*index = i + 1;
	}
	if (r == 0)
		r = query_rows(t->rq->query, &all, add_to_graph, t, NULL, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i % t->n_points) {
			t->graph[i] += t->graph[i - 1];
			t->leaked_graph[i] += t->leaked_graph[i - 1];
		}
	}
	return r;
}

static void put_graph(struct json *j, const char *name, const int64_t *point, uint64_t n)
{
	json_array(j, name);
	for (uint64_t i = 0; i < n; i++)
		json_u64(j, NULL, point[i] > 0 ? (uint64_t)point[i] : 0);
	json_end_array(j);
}

/* ---- rows ---- */

struct callers {
	struct request *rq;
	const struct frame *blame;
	bool is_outside; /* the blame frame has been passed */
	unsigned n;
};

static bool put_caller(void *user, const struct frame *f)
{
	struct callers *c = user;

	if (c->is_outside) {
		wire_frame_text(c->rq, NULL, f);
		c->n++;
	}
	c->is_outside |= f == c->blame;
	return c->n < MAX_CALLERS;
}

static int put_site(struct table *t, uint32_t stack, struct err *err)
{
	const struct store_stack *s = store_stack(t->rq->store, stack);
	struct query_group all = query_whole_site(s);
	struct callers c = {.rq = t->rq};
	struct json *j = &t->rq->json;
	int r = 0;

	wire_cost(j, "all", &all);
	json_u64(j, "max_bytes", s->max_bytes);
	json_u64(j, "max_at_ns", s->max_at_ns);
	c.blame = wire_blame(t->rq, stack, err);
	if (c.blame) {
		wire_frame_text(t->rq, "blame", c.blame);
		json_array(j, "callers");
		r = frames_each(t->rq->frames, stack, put_caller, &c, err);
		json_end_array(j);
	}
	return r;
}

static void put_name(struct table *t, const struct query_group *g)
{
	struct json *j = &t->rq->json;
	enum query_group_by by = by_kind[t->by];
	const char *name = NULL;
	size_t n;

	if (by == QUERY_BY_THREAD) {
		const struct store_thread *thread = store_table(t->rq->store, STORE_THREADS, &n);

		name = g->key < n ? store_string(t->rq->store, thread[g->key].name, NULL) : NULL;
	} else if (by == QUERY_BY_MODULE || by == QUERY_BY_FUNCTION || by == QUERY_BY_LINE) {
		name = query_group_name(t->rq->query, by, g->key);
	}
	json_text(j, "name", name);
}

static int put_row(struct table *t, uint64_t i, struct err *err)
{
	const struct query_group *g = t->row[t->first + i].group;
	uint64_t n_released = g->n_allocs - g->n_leaked;
	struct json *j = &t->rq->json;
	int r = 0;

	json_object(j, NULL);
	json_u64(j, "key", g->key);
	put_name(t, g);
	wire_cost(j, "cost", g);
	json_u64(j, "first_ns", g->first_ns);
	json_u64(j, "last_ns", g->last_ns);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	if (n_released)
		json_u64(j, "mean_lifetime_ns", g->lifetime_sum_ns / n_released);
	else
		json_null(j, "mean_lifetime_ns");
	if (by_kind[t->by] == QUERY_BY_STACK ||
	    (by_kind[t->by] == QUERY_BY_FREE_STACK && g->key && wire_has_stack(t->rq, g->key)))
		r = put_site(t, (uint32_t)g->key, err);
	if (t->n_points) {
		put_graph(j, "timeline", t->graph + i * t->n_points, t->n_points);
		put_graph(j, "leaked_timeline", t->leaked_graph + i * t->n_points, t->n_points);
	}
	json_end_object(j);
	return r;
}

static int put_table(struct table *t, struct err *err)
{
	static const char choices[] = V1_GROUPS_BY;
	struct json *j = &t->rq->json;
	const char *by = choices;
	int r = 0;

	for (unsigned i = 0; i < t->by; i++)
		by = strchr(by, '|') + 1;
	json_object(j, NULL);
	json_bytes(j, "by", by, strcspn(by, "|"));
	json_array(j, "groups");
	for (uint64_t i = 0; r == 0 && i < t->n_rows && !request_is_over(t->rq); i++)
		r = put_row(t, i, err);
	json_end_array(j);
	json_u64(j, "total_count", t->groups.n);
	wire_cost(j, "total", &t->groups.total);
	json_end_object(j);
	return r;
}

/* Orders the groups and cuts the page out. */
static int sort_rows(struct table *t, unsigned sort, struct err *err)
{
	uint64_t left;

	t->row = calloc(t->groups.n + 1, sizeof(*t->row));
	if (!t->row)
		return err_set_memory(err, t->groups.n * sizeof(*t->row));
	for (size_t i = 0; i < t->groups.n; i++)
		t->row[i] =
			(struct sorted){rank_of(&t->groups.group[i], sort), &t->groups.group[i]};
	qsort(t->row, t->groups.n, sizeof(*t->row),
	      t->page.is_descending ? compare_descending : compare);
	t->first = t->page.skip < t->groups.n ? t->page.skip : t->groups.n;
	left = t->groups.n - t->first;
	t->n_rows = t->page.count < left ? t->page.count : left;
	return 0;
}

static int read_parameters(struct table *t, unsigned *sort, struct err *err)
{
	struct request *rq = t->rq;
	unsigned order = 1;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &t->page.skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, UINT64_MAX, &t->page.count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &order, err);
	if (r == 0)
		r = request_choice(rq, "by", V1_GROUPS_BY, 0, &t->by, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", V1_GROUPS_SORT, 0, sort, err);
	if (r == 0)
		r = request_u64(rq, "graph", 0, MAX_GRAPH_POINTS, &t->n_points, err);
	t->page.is_descending = order > 0;
	return r;
}

int v1_groups(struct request *rq, struct err *err)
{
	struct table t = {.rq = rq};
	unsigned sort = 0;
	int r = read_parameters(&t, &sort, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r == 0)
		r = query_groups(rq->query, by_kind[t.by], &t.groups, err);
	if (r == 0)
		r = sort_rows(&t, sort, err);
	if (by_kind[t.by] != QUERY_BY_STACK || t.n_rows > MAX_GRAPH_ROWS)
		t.n_points = 0; /* graphs are for a page of call sites */
	if (r == 0 && t.n_points)
		r = make_graphs(&t, err);
	if (r == 0)
		r = put_table(&t, err);
	query_groups_fini(&t.groups);
	map_fini(&t.index);
	free(t.row);
	free(t.graph);
	free(t.leaked_graph);
	return r;
}
