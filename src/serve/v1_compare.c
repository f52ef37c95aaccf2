/* serve/v1_compare.c - /api/v1: groups, functions and callers of two recordings. */
#include "query/by_function.h"
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>
#include <string.h>

#define N_ROWS 200u /* of a page, when the client does not say */
#define N_GROUP_SORTS (QUERY_COST_EXTRA_BYTES + 1u) /* of V1_GROUPS_SORT: the costs */

struct table {
	struct request *rq;
	struct query *q[COMPARE_N_SIDES];
	struct compare_rows rows;
	/* What rows are sorted by, of one side; the change of it decides. */
	uint64_t (*value)(const struct compare_row *row, enum compare_side side, unsigned sort);
	unsigned sort;
	bool is_ascending;
	uint64_t skip, count;
};

static uint64_t group_value(const struct compare_row *row, enum compare_side side, unsigned sort)
{
	return query_group_cost(&row->cost[side], (enum query_cost)sort);
}

/* In the order of V1_FUNCTIONS_SORT. */
static uint64_t function_value(const struct compare_row *row, enum compare_side side, unsigned sort)
{
	const struct query_group *g = &row->cost[side];
	const uint64_t *self = row->self[side];
	const uint64_t value[] = {g->n_bytes,
				  g->leaked_bytes,
				  g->n_leaked,
				  g->peak_bytes,
				  g->n_allocs,
				  g->n_temporary,
				  self[QUERY_MAIN_BYTES],
				  self[QUERY_MAIN_ALLOCS],
				  self[QUERY_MAIN_LEAKED],
				  self[QUERY_MAIN_PEAK],
				  self[QUERY_MAIN_TEMPORARY]};

	return value[sort];
}

static int64_t change_of(const struct table *t, const struct compare_row *row)
{
	return (int64_t)(t->value(row, COMPARE_AFTER, t->sort) -
			 t->value(row, COMPARE_BEFORE, t->sort));
}

/* By change; of equal ones the row that costs more, then by key. */
static int compare_rows(const void *a, const void *b, void *user)
{
	const struct compare_row *x = a, *y = b;
	const struct table *t = user;
	int64_t n = change_of(t, x), m = change_of(t, y);
	uint64_t all_x = t->value(x, COMPARE_AFTER, t->sort),
		 all_y = t->value(y, COMPARE_AFTER, t->sort);

	if (n != m)
		return (n < m) == t->is_ascending ? -1 : 1;
	if (all_x != all_y)
		return all_x > all_y ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int read_page(struct table *t, const char *sorts, struct err *err)
{
	struct request *rq = t->rq;
	unsigned order = 1;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &t->skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, UINT64_MAX, &t->count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &order, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", sorts, 0, &t->sort, err);
	t->is_ascending = order == 0;
	return r;
}

/* Writes the rows of the page by put, and the rest of the answer. */
static int put_page(struct table *t, const char *name,
		    void (*put)(struct request *rq, const char *name,
				const struct compare_row *row),
		    struct err *err)
{
	struct compare_rows *c = &t->rows;
	struct json *j = &t->rq->json;

	if (c->n)
		qsort_r(c->row, c->n, sizeof(*c->row), compare_rows, t);
	json_array(j, name);
	for (uint64_t i = t->skip; i < c->n && i - t->skip < t->count; i++) {
		if (request_is_over(t->rq))
			break;
		put(t->rq, NULL, &c->row[i]);
	}
	json_end_array(j);
	json_u64(j, "total_count", c->n);
	return comparison_put_total(t->rq, t->q, err);
}

/* ---- groups ---- */

/* When, how large and how long: of this recording, or of the base where only that has the row. */
static void put_spans(struct json *j, const struct query_group *g)
{
	json_u64(j, "first_ns", g->first_ns);
	json_u64(j, "last_ns", g->last_ns);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	v1_json_lifetime(j, g);
}

static void put_group(struct request *rq, const char *name, const struct compare_row *row)
{
	struct json *j = &rq->json;

	json_object(j, name);
	json_u64(j, "key", row->key);
	json_text(j, "name", row->name);
	comparison_put_row(j, row->cost);
	put_spans(j,
		  &row->cost[row->cost[COMPARE_AFTER].n_allocs ? COMPARE_AFTER : COMPARE_BEFORE]);
	if (row->frame)
		comparison_put_frame(rq, "blame", row->frame, row->frame_side);
	json_end_object(j);
}

static int read_grouping(struct table *t, unsigned *by, enum query_group_by *kind, struct err *err)
{
	static const char *const alone[] = {"graph", "graph_from", "graph_to",
					    "facts", "find_regex", "under"};
	struct request *rq = t->rq;
	int r = read_page(t, V1_GROUPS_SORT, err);

	for (size_t i = 0; i < ARRAY_LEN(alone) && r == 0; i++)
		r = comparison_refuse(rq, alone[i], "nothing, or ask without base", err);
	if (r == 0)
		r = request_choice(rq, "by", V1_GROUPS_BY, 0, by, err);
	if (r < 0)
		return r;
	*kind = v1_groups_kind(*by);
	if (!compare_knows(*kind)) {
		request_refuse(rq, 400, "by", url_find(&rq->url, "by"),
			       "blame|package|function|line|module|thread with base");
		return err_set(err, ERR_USAGE,
			       "by: numbers of one recording cannot be compared (base); use blame, "
			       "package, function, line, module or thread");
	}
	if (t->sort >= N_GROUP_SORTS) {
		request_refuse(rq, 400, "sort_by", url_find(&rq->url, "sort_by"),
			       "one of the costs with base");
		return err_set(err, ERR_USAGE,
			       "sort_by: a comparison (base) sorts by the change "
			       "of a cost: use bytes, leaked_bytes ...");
	}
	return 0;
}

int comparison_groups(struct request *rq, struct err *err)
{
	struct table t = {.rq = rq, .value = group_value};
	enum query_group_by kind = QUERY_BY_BLAME;
	unsigned by = 0;
	int r = read_grouping(&t, &by, &kind, err);

	if (r == 0)
		r = comparison_query(rq, QUERY_WANT_ALL, t.q, err);
	for (unsigned s = 0; s < COMPARE_N_SIDES && r == 0; s++)
		query_represent_by(t.q[s], (enum query_cost)t.sort);
	if (r == 0)
		r = compare_groups(t.q, kind, &t.rows, err);
	if (r == 0) {
		json_object(&rq->json, NULL);
		v1_groups_put_by(&rq->json, by);
		r = put_page(&t, "groups", put_group, err);
		json_end_object(&rq->json);
	}
	compare_rows_fini(&t.rows);
	return r;
}

/* ---- functions ---- */

static void put_function(struct request *rq, const char *name, const struct compare_row *row)
{
	struct json *j = &rq->json;

	json_object(j, name);
	json_u64(j, "key", row->key);
	json_text(j, "function", row->name);
	comparison_put_frame(rq, "frame", row->frame, row->frame_side);
	comparison_put_row(j, row->cost);
	comparison_put_self(j, row->self);
	json_end_object(j);
}

int comparison_functions(struct request *rq, struct err *err)
{
	struct query_function_match match;
	struct table t = {.rq = rq, .value = function_value};
	int r = read_page(&t, V1_FUNCTIONS_SORT, err);

	if (r == 0)
		r = v1_functions_match(rq, &match, err);
	if (r == 0)
		r = comparison_query(rq, QUERY_WANT_PEAK, t.q, err);
	if (r == 0)
		r = v1_functions_refuse(rq, compare_functions(t.q, &match, &t.rows, err), err);
	if (r == 0) {
		json_object(&rq->json, NULL);
		r = put_page(&t, "functions", put_function, err);
		json_end_object(&rq->json);
	}
	compare_rows_fini(&t.rows);
	return r;
}

static void put_functions(struct request *rq, const char *name, struct compare_rows *c)
{
	struct table t = {.rq = rq, .value = function_value}; /* by bytes */

	json_array(&rq->json, name);
	if (c->n)
		qsort_r(c->row, c->n, sizeof(*c->row), compare_rows, &t);
	for (size_t i = 0; i < c->n && !request_is_over(rq); i++)
		put_function(rq, NULL, &c->row[i]);
	json_end_array(&rq->json);
}

static void put_lines(struct request *rq, const char *name, struct compare_rows *c)
{
	struct table t = {.rq = rq, .value = function_value};
	struct json *j = &rq->json;

	json_array(j, name);
	if (c->n)
		qsort_r(c->row, c->n, sizeof(*c->row), compare_rows, &t);
	for (size_t i = 0; i < c->n && !request_is_over(rq); i++) {
		const struct compare_row *row = &c->row[i];

		json_object(j, NULL);
		json_text(j, "source", row->source);
		json_u64(j, "line", row->line);
		json_text(j, "function", row->function);
		comparison_put_row(j, row->cost);
		comparison_put_self(j, row->self);
		json_end_object(j);
	}
	json_end_array(j);
}

int comparison_callers(struct request *rq, struct err *err)
{
	const char *function = url_find(&rq->url, "function");
	struct query *q[COMPARE_N_SIDES];
	struct compare_callers c = {0};
	int r = comparison_query(rq, QUERY_WANT_PEAK, q, err);

	if (r < 0)
		return r;
	r = compare_callers(q, function, &c, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 404, "function", function, "a name that /functions gives");
	if (r == 0) {
		json_object(&rq->json, NULL);
		put_function(rq, "function", &c.function.row[0]);
		put_functions(rq, "callers", &c.callers);
		put_functions(rq, "callees", &c.callees);
		put_lines(rq, "lines", &c.lines);
		json_end_object(&rq->json);
	}
	compare_callers_fini(&c);
	return r;
}
