/* serve/v1_functions.c - /api/v1: costs of functions, and who calls whom.
 *
 * Made from the tree of calls. A function's cost with all that it calls counts a recursive call once:
 * only occurrences without the same function further out are added up. Its own cost is what its
 * callees do not have. Shares of callers and callees are counted the same way.
 */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stdlib.h>
#include <string.h>

#include "serve/name_table.h"

#define N_ROWS 200u

struct function {
	struct query_group cost;
	struct query_group self;
	uint32_t name;
};

struct call_tree {
	struct request *rq;
	struct query_tree tree;
	struct name_table names;
	uint32_t *name; /* of each node; the number of names for those without a frame */
};

static void group_add(struct query_group *sum, const struct query_group *g, uint64_t sign)
{
	sum->n_allocs += sign * g->n_allocs;
	sum->n_bytes += sign * g->n_bytes;
	sum->n_leaked += sign * g->n_leaked;
	sum->leaked_bytes += sign * g->leaked_bytes;
	sum->n_temporary += sign * g->n_temporary;
	sum->temporary_bytes += sign * g->temporary_bytes;
	sum->extra_bytes += sign * g->extra_bytes;
	sum->peak_bytes += sign * g->peak_bytes;
	sum->peak_count += sign * g->peak_count;
}

static void call_tree_fini(struct call_tree *t)
{
	query_tree_fini(&t->tree);
	name_table_fini(&t->names);
	free(t->name);
}

static int call_tree_init(struct call_tree *t, struct request *rq, struct err *err)
{
	int r = request_query(rq, err);

	t->rq = rq;
	if (r == 0)
		r = query_tree(rq->query, QUERY_TOP_DOWN, &t->tree, err);
	if (r < 0)
		return r;
	t->name = calloc(t->tree.n + 1, sizeof(*t->name));
	if (!t->name)
		return err_set_memory(err, t->tree.n * sizeof(*t->name));
	for (size_t i = 0; r == 0 && i < t->tree.n; i++) {
		t->name[i] = UINT32_MAX;
		if (t->tree.node[i].frame)
			r = name_table_add(&t->names, t->tree.node[i].frame, &t->name[i], err);
	}
	return r;
}

static bool is_outermost(const struct call_tree *t, uint32_t node)
{
	for (uint32_t i = node; i;) {
		i = t->tree.node[i].parent;
		if (t->name[i] == t->name[node])
			return false;
	}
	return true;
}

/* ---- functions ---- */

static uint64_t rank_of(const struct query_group *g, unsigned sort)
{
	const uint64_t value[] = {g->n_bytes,    g->leaked_bytes, g->n_leaked,
				  g->peak_bytes, g->n_allocs,     g->n_temporary};

	return value[sort];
}

struct ranking {
	unsigned sort;
	bool by_self;
	bool is_ascending;
};

static int compare(const void *a, const void *b, void *user)
{
	const struct function *x = a, *y = b;
	const struct ranking *k = user;
	uint64_t n = rank_of(k->by_self ? &x->self : &x->cost, k->sort);
	uint64_t m = rank_of(k->by_self ? &y->self : &y->cost, k->sort);

	if (n != m)
		return (n < m) == k->is_ascending ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void add_up(const struct call_tree *t, struct function *f)
{
	for (size_t i = 0; i < t->names.n; i++)
		f[i].name = (uint32_t)i;
	for (uint32_t i = 1; i < t->tree.n; i++) {
		const struct query_tree_node *n = &t->tree.node[i];

		if (t->name[n->parent] < t->names.n) /* what a caller does not do itself */
			group_add(&f[t->name[n->parent]].self, &n->cost, UINT64_MAX);
		if (t->name[i] >= t->names.n)
			continue;
		group_add(&f[t->name[i]].self, &n->cost, 1);
		if (is_outermost(t, i))
			group_add(&f[t->name[i]].cost, &n->cost, 1);
	}
}

static void put_name(struct json *j, const struct frame *f)
{
	json_text(j, "function", f ? f->function : NULL);
	json_text(j, "source", f ? f->source : NULL);
	json_text(j, "module", f ? f->module : NULL);
}

static void put_functions(struct call_tree *t, const struct function *f, uint64_t skip,
			  uint64_t count)
{
	struct json *j = &t->rq->json;

	json_object(j, NULL);
	json_array(j, "functions");
	for (uint64_t i = skip; i < t->names.n && i - skip < count; i++) {
		json_object(j, NULL);
		put_name(j, t->names.frame[f[i].name]);
		wire_cost(j, "cost", &f[i].cost);
		wire_cost(j, "self", &f[i].self);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "total_count", t->names.n);
	wire_cost(j, "total", &t->tree.node[0].cost);
	json_end_object(j);
}

int v1_functions(struct request *rq, struct err *err)
{
	struct call_tree t = {0};
	struct ranking k = {0};
	struct function *f = NULL;
	uint64_t skip, count;
	unsigned order = 1;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, UINT64_MAX, &count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &order, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", V1_FUNCTIONS_SORT, 0, &k.sort, err);
	if (r == 0)
		r = request_flag(rq, "self", false, &k.by_self, err);
	if (r == 0)
		r = call_tree_init(&t, rq, err);
	if (r < 0)
		goto out;
	k.is_ascending = order == 0;
	f = calloc(t.names.n + 1, sizeof(*f));
	if (!f) {
		r = err_set_memory(err, t.names.n * sizeof(*f));
		goto out;
	}
	add_up(&t, f);
	qsort_r(f, t.names.n, sizeof(*f), compare, &k);
	put_functions(&t, f, skip, count);
out:
	free(f);
	call_tree_fini(&t);
	return r;
}

/* ---- callers and callees of one function ---- */

struct neighbours {
	struct function *caller, *callee; /* by name; one more for "no frame" */
	struct query_group cost;
	size_t n_found;
};

/* Is there an occurrence of the same call (same function, same caller) further out? */
static bool is_outermost_call(const struct call_tree *t, uint32_t node, const bool *is_it)
{
	for (uint32_t i = t->tree.node[node].parent; i; i = t->tree.node[i].parent) {
		if (t->name[i] == t->name[node] && t->tree.node[i].parent &&
		    is_it[t->tree.node[i].parent])
			return false;
	}
	return true;
}

static size_t name_or_none(const struct call_tree *t, uint32_t node)
{
	return t->name[node] < t->names.n ? t->name[node] : t->names.n;
}

static int find_neighbours(const struct call_tree *t, const char *function, struct neighbours *n,
			   struct err *err)
{
	bool *is_it = calloc(t->tree.n + 1, sizeof(*is_it));

	if (!is_it)
		return err_set_memory(err, t->tree.n);
	for (uint32_t i = 1; i < t->tree.n; i++) {
		const struct frame *f = t->tree.node[i].frame;

		is_it[i] = f && f->function && strcmp(f->function, function) == 0;
	}
	for (uint32_t i = 1; i < t->tree.n; i++) {
		const struct query_tree_node *node = &t->tree.node[i];
		bool is_inside = false;

		if (is_it[node->parent] && is_outermost_call(t, i, is_it))
			group_add(&n->callee[name_or_none(t, i)].cost, &node->cost, 1);
		for (uint32_t k = node->parent; is_it[i] && k && !is_inside;
		     k = t->tree.node[k].parent)
			is_inside = is_it[k];
		if (!is_it[i] || is_inside)
			continue;
		n->n_found++;
		group_add(&n->cost, &node->cost, 1);
		group_add(&n->caller[name_or_none(t, node->parent)].cost, &node->cost, 1);
	}
	free(is_it);
	return 0;
}

static void put_neighbours(struct call_tree *t, const char *name, struct function *f)
{
	struct ranking k = {0};
	struct json *j = &t->rq->json;

	for (size_t i = 0; i <= t->names.n; i++)
		f[i].name = (uint32_t)i;
	qsort_r(f, t->names.n + 1, sizeof(*f), compare, &k);
	json_array(j, name);
	for (size_t i = 0; i <= t->names.n && f[i].cost.n_allocs; i++) {
		json_object(j, NULL);
		put_name(j, f[i].name < t->names.n ? t->names.frame[f[i].name] : NULL);
		wire_cost(j, "cost", &f[i].cost);
		json_end_object(j);
	}
	json_end_array(j);
}

int v1_callers(struct request *rq, struct err *err)
{
	const char *function = url_find(&rq->url, "function");
	struct call_tree t = {0};
	struct neighbours n = {0};
	int r;

	if (!function || !*function) {
		request_refuse(rq, 400, "function", function, "the full name of a function");
		return err_set(err, ERR_USAGE, "function: which one?");
	}
	r = call_tree_init(&t, rq, err);
	if (r < 0)
		goto out;
	n.caller = calloc(t.names.n + 1, sizeof(*n.caller));
	n.callee = calloc(t.names.n + 1, sizeof(*n.callee));
	if (!n.caller || !n.callee) {
		r = err_set_memory(err, 2 * t.names.n * sizeof(*n.caller));
		goto out;
	}
	r = find_neighbours(&t, function, &n, err);
	if (r < 0)
		goto out;
	if (n.n_found == 0) {
		request_refuse(rq, 404, "function", function, "a name that /functions gives");
		r = err_set(err, ERR_USAGE, "no stack that matches has the function '%.200s'",
			    function);
		goto out;
	}
	json_object(&rq->json, NULL);
	json_text(&rq->json, "function", function);
	wire_cost(&rq->json, "cost", &n.cost);
	put_neighbours(&t, "callers", n.caller);
	put_neighbours(&t, "callees", n.callee);
	json_end_object(&rq->json);
out:
	free(n.caller);
	free(n.callee);
	call_tree_fini(&t);
	return r;
}
