/* serve/v1_groups.c - /api/v1: matches added up by stack, thread, size, function and so on. */
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/tree_parameters.h"
#include "serve/v1_json.h"

#include <stdlib.h>
#include <string.h>

#include "query/group_series.h"
#include "query/site_facts.h"
#include "util/top.h"

#define N_ROWS 200u /* of a page, when the client does not say */
#define MAX_GRAPH_POINTS 500u
#define MAX_GRAPH_ROWS 500u

/* In the order of V1_GROUPS_BY. */
static const enum query_group_by by_kind[] = {
	QUERY_BY_STACK, QUERY_BY_FREE_STACK, QUERY_BY_THREAD,   QUERY_BY_SIZE_CLASS,
	QUERY_BY_CODE,  QUERY_BY_MODULE,     QUERY_BY_FUNCTION, QUERY_BY_LINE,
	QUERY_BY_BLAME, QUERY_BY_PACKAGE,
};

enum query_group_by v1_groups_kind(unsigned by)
{
	return by_kind[by];
}

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
	uint64_t graph_from_ns, graph_to_ns;
	uint64_t *graph; /* owned; n_rows * n_points: bytes alive; behind them leaked_graph */
	uint64_t *leaked_graph;
	bool has_facts;
	struct site_facts *facts; /* n_rows */
};

/* V1_GROUPS_SORT begins with the costs, in the order of enum query_cost; these follow. */
#define N_COSTS (QUERY_COST_EXTRA_BYTES + 1u)
enum {
	SORT_FIRST_NS = N_COSTS,
	SORT_LAST_NS,
	SORT_KEY,
	SORT_MEAN_SIZE,
	SORT_FREED_COUNT,
	SORT_MEAN_LIFETIME,
	SORT_INTERVAL,
	SORT_MAX_AT,
};

static uint64_t rank_of(const struct table *t, const struct query_group *g, unsigned sort)
{
	uint64_t lifetime_ns;

	switch (sort) {
	case SORT_FIRST_NS:
		return g->first_ns;
	case SORT_LAST_NS:
		return g->last_ns;
	case SORT_KEY:
		return g->key;
	case SORT_MEAN_SIZE:
		return g->n_bytes / g->n_allocs; /* a group has at least one */
	case SORT_FREED_COUNT:
		return g->n_allocs - g->n_leaked;
	case SORT_MEAN_LIFETIME:
		v1_mean_lifetime(g, &lifetime_ns);
		return lifetime_ns;
	case SORT_INTERVAL:
		return g->last_ns - g->first_ns;
	case SORT_MAX_AT:
		return store_stack(t->rq->store, (uint32_t)g->key)->max_at_ns;
	default:
		return query_group_cost(g, (enum query_cost)sort);
	}
}

static int compare(const void *a, const void *b, void *user)
{
	const struct sorted *x = a, *y = b;

	(void)user;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->group->key < y->group->key ? -1 : x->group->key > y->group->key;
}

static int compare_descending(const void *a, const void *b, void *user)
{
	return compare(b, a, user);
}

/* ---- graphs of the rows of a page ---- */

static int make_graphs(struct table *t, struct err *err)
{
	const struct group_series series = {
		.by = by_kind[t->by],
		.kind = GROUP_SERIES_BYTES,
		.from_ns = t->graph_from_ns,
		.to_ns = t->graph_to_ns,
		.n_buckets = t->n_points,
	};
	size_t n_values = t->n_rows * t->n_points;
	uint64_t *key = calloc(t->n_rows + 1, sizeof(*key));
	int r = 0;

	t->graph = calloc(2 * n_values + 1, sizeof(*t->graph));
	if (!key || !t->graph)
		r = err_set_memory(err, 2 * n_values * sizeof(*t->graph));
	for (uint64_t i = 0; r == 0 && i < t->n_rows; i++)
		key[i] = t->row[t->first + i].group->key;
	if (r == 0)
		r = group_series_with_leaked(t->rq->query, &series, key, t->n_rows, t->graph, err);
	t->leaked_graph = t->graph + n_values;
	free(key);
	return r;
}

/* ---- facts of the rows of a page ---- */

static int find_facts(struct table *t, struct err *err)
{
	uint32_t *stack = calloc(t->n_rows + 1, sizeof(*stack));
	int r = 0;

	t->facts = calloc(t->n_rows + 1, sizeof(*t->facts));
	if (!stack || !t->facts)
		r = err_set_memory(err, t->n_rows * sizeof(*t->facts));
	for (uint64_t i = 0; r == 0 && i < t->n_rows; i++)
		stack[i] = (uint32_t)t->row[t->first + i].group->key;
	if (r == 0)
		r = site_facts_of(t->rq->query, stack, t->n_rows, t->facts, err);
	free(stack);
	return r;
}

static void put_facts(struct json *j, const struct site_facts *f, uint64_t n_culled)
{
	json_object(j, "facts");
	json_u64(j, "threads", f->n_threads);
	json_u64(j, "busiest_thread", f->busiest);
	json_u64(j, "min_marker", f->min_marker);
	json_u64(j, "max_marker", f->max_marker);
	if (f->n_freed && !n_culled) {
		json_u64(j, "median_lifetime_min_ns", f->median_min_ns);
		json_u64(j, "median_lifetime_max_ns", f->median_max_ns);
	} else {
		json_null(j, "median_lifetime_min_ns");
		json_null(j, "median_lifetime_max_ns");
	}
	json_end_object(j);
}

/* ---- rows ---- */

static int put_site(struct table *t, uint32_t stack, struct err *err)
{
	const struct store_stack *s = store_stack(t->rq->store, stack);
	struct query_group all = query_whole_site(s);
	struct json *j = &t->rq->json;

	v1_json_cost(j, "all", &all);
	json_u64(j, "max_bytes", s->max_bytes);
	json_u64(j, "max_at_ns", s->max_at_ns);
	return v1_json_site(t->rq, stack, err);
}

static int put_row(struct table *t, uint64_t i, struct err *err)
{
	const struct query_group *g = t->row[t->first + i].group;
	const struct frame *blame = NULL;
	struct json *j = &t->rq->json;
	int r = 0;

	json_object(j, NULL);
	json_u64(j, "key", g->key);
	json_text(j, "name", v1_json_group_name(t->rq, by_kind[t->by], g->key));
	v1_json_cost(j, "cost", g);
	json_u64(j, "first_ns", g->first_ns);
	json_u64(j, "last_ns", g->last_ns);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	v1_json_lifetime(j, g);
	if (by_kind[t->by] == QUERY_BY_STACK ||
	    (by_kind[t->by] == QUERY_BY_FREE_STACK && g->key && request_has_stack(t->rq, g->key)))
		r = put_site(t, (uint32_t)g->key, err);
	if (by_kind[t->by] == QUERY_BY_BLAME)
		blame = query_blame(t->rq->query, t->groups.stack[g - t->groups.group]);
	if (blame)
		v1_json_frame_text(t->rq, "blame", blame);
	if (t->n_points) {
		v1_json_numbers(j, "timeline", t->graph + i * t->n_points, t->n_points);
		v1_json_numbers(j, "leaked_timeline", t->leaked_graph + i * t->n_points,
				t->n_points);
	}
	if (t->has_facts)
		put_facts(j, &t->facts[i], g->n_culled);
	json_end_object(j);
	return r;
}

void v1_groups_put_by(struct json *j, unsigned by)
{
	static const char choices[] = V1_GROUPS_BY;
	const char *name = choices;

	for (unsigned i = 0; i < by; i++)
		name = strchr(name, '|') + 1;
	json_bytes(j, "by", name, strcspn(name, "|"));
}

static int put_table(struct table *t, struct err *err)
{
	struct json *j = &t->rq->json;
	int r = 0;

	json_object(j, NULL);
	v1_groups_put_by(j, t->by);
	json_array(j, "groups");
	for (uint64_t i = 0; r == 0 && i < t->n_rows && !request_is_over(t->rq); i++)
		r = put_row(t, i, err);
	json_end_array(j);
	json_u64(j, "total_count", t->groups.n);
	v1_json_cost(j, "total", &t->groups.total);
	json_end_object(j);
	return r;
}

/* Cuts the page out of the groups in order. */
static int sort_rows(struct table *t, unsigned sort, struct err *err)
{
	struct top top = {.item_bytes = sizeof(*t->row),
			  .compare = t->page.is_descending ? compare_descending : compare};
	uint64_t left;
	int r = 0;

	t->first = t->page.skip < t->groups.n ? t->page.skip : t->groups.n;
	left = t->groups.n - t->first;
	t->n_rows = t->page.count < left ? t->page.count : left;
	top.max = t->first + t->n_rows;
	for (size_t i = 0; i < t->groups.n && t->n_rows && r >= 0; i++) {
		const struct query_group *g = &t->groups.group[i];

		r = top_add(&top, &(struct sorted){rank_of(t, g, sort), g}, err);
	}
	top_finish(&top);
	t->row = top.item;
	return r;
}

static int check_rows(struct table *t, const char *with, struct err *err)
{
	struct request *rq = t->rq;

	if (t->page.count <= MAX_GRAPH_ROWS)
		return 0;
	request_refuse(rq, 400, "count", url_find(&rq->url, "count"), with);
	return err_set(err, ERR_USAGE, "count: at most %u rows have graphs or facts",
		       MAX_GRAPH_ROWS);
}

static int check_facts(struct table *t, struct err *err)
{
	if (by_kind[t->by] != QUERY_BY_STACK) {
		request_refuse(t->rq, 400, "facts", "true", "facts with by=stack only");
		return err_set(err, ERR_USAGE, "facts: known of call sites only");
	}
	return check_rows(t, "at most 500 with facts", err);
}

/* Graphs cost a pass over the rows, and memory for each row of the page. */
static int check_graph(struct table *t, struct err *err)
{
	struct request *rq = t->rq;
	int r = request_time(rq, "graph_from", false, 0, &t->graph_from_ns, err);

	if (r == 0)
		r = request_time(rq, "graph_to", true, store_facts(rq->store)->duration_ns + 1,
				 &t->graph_to_ns, err);
	if (r < 0)
		return r;
	if (t->graph_to_ns <= t->graph_from_ns) {
		request_refuse(rq, 400, "graph_to", url_find(&rq->url, "graph_to"),
			       "a moment after graph_from");
		return err_set(err, ERR_USAGE, "graph_to: not after graph_from");
	}

	if (by_kind[t->by] == QUERY_BY_SIZE_CLASS) {
		request_refuse(rq, 400, "graph", url_find(&rq->url, "graph"), "0 with by=size");
		return err_set(err, ERR_USAGE, "graph: groups by size have none");
	}
	return check_rows(t, "at most 500 with graph", err);
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
	if (r == 0)
		r = request_flag(rq, "facts", false, &t->has_facts, err);
	t->page.is_descending = order > 0;
	if (r == 0 && *sort == SORT_MAX_AT && by_kind[t->by] != QUERY_BY_STACK) {
		request_refuse(rq, 400, "sort_by", "max_at_ns", "max_at_ns with by=stack only");
		return err_set(err, ERR_USAGE, "sort_by: max_at_ns is known of call sites only");
	}
	if (r == 0 && t->has_facts)
		r = check_facts(t, err);
	return r == 0 && t->n_points ? check_graph(t, err) : r;
}

/* Keeps the stacks behind the row of a tree that `under` names, if it does. */
static int keep_under(struct table *t, struct err *err)
{
	const char *text = url_find(&t->rq->url, "under");
	struct tree_parameters p;
	int r = tree_parameters_init(&p, t->rq, err);

	if (r == 0 && p.options.n_under && by_kind[t->by] != QUERY_BY_STACK) {
		request_refuse(t->rq, 400, "under", text, "nothing, unless by=stack");
		r = err_set(err, ERR_USAGE, "under: needs by=stack");
	} else if (r == 0 && p.options.n_under) {
		r = query_tree_keep_under(t->rq->query, &p.options, &t->groups, err);
		tree_parameters_refuse(t->rq, r, err);
	}
	tree_parameters_fini(&p);
	return r;
}

/* Keeps the stacks that have a function or a source file which find_regex matches, if it is given. */
static int keep_found(struct table *t, struct err *err)
{
	static const char own[] = "frame_regex"; /* the condition that does it, in its messages */
	const char *text = url_find(&t->rq->url, "find_regex");
	struct query *found = NULL;
	struct filter filter;
	struct err why = {0};
	int r;

	if (!text || !*text)
		return 0;
	if (by_kind[t->by] != QUERY_BY_STACK) {
		request_refuse(t->rq, 400, "find_regex", text, "nothing, unless by=stack");
		return err_set(err, ERR_USAGE, "find_regex: needs by=stack");
	}
	filter_init(&filter);
	r = filter_set(&filter, own, text, &why);
	if (r >= 0)
		r = query_create(&t->rq->context, &filter, &found, &why);
	if (r >= 0)
		query_groups_keep(&t->groups, found);
	query_destroy(found);
	filter_fini(&filter);
	if (r == -ERR_USAGE) {
		bool has_name = strncmp(why.text, own, sizeof(own) - 1) == 0;

		request_refuse(t->rq, 400, "find_regex", text, filter_type_help("regex"));
		return err_set(err, ERR_USAGE, "find_regex%s",
			       has_name ? why.text + sizeof(own) - 1 : " cannot be read");
	}
	if (r < 0)
		*err = why;
	return r < 0 ? r : 0;
}

int v1_groups(struct request *rq, struct err *err)
{
	struct table t = {.rq = rq};
	unsigned sort = 0;
	int r;

	if (request_is_comparison(rq))
		return comparison_groups(rq, err);
	r = read_parameters(&t, &sort, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0 && sort < N_COSTS)
		query_represent_by(rq->query, (enum query_cost)sort);
	if (r == 0)
		r = query_groups(rq->query, by_kind[t.by], &t.groups, err);
	if (r == 0)
		r = keep_under(&t, err);
	if (r == 0)
		r = keep_found(&t, err);
	if (r == 0)
		r = sort_rows(&t, sort, err);
	if (r == 0 && t.n_points)
		r = make_graphs(&t, err);
	if (r == 0 && t.has_facts)
		r = find_facts(&t, err);
	if (r == 0)
		r = put_table(&t, err);
	query_groups_fini(&t.groups);
	free(t.row);
	free(t.graph);
	free(t.facts);
	return r;
}
