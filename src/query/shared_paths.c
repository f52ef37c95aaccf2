/* query/shared_paths.c - see shared_paths.h. */
#include "query/shared_paths.h"

#include <stdlib.h>

#include "query/query_i.h"
#include "util/memory_budget.h"

/* The costs of all paths through each node. */
static int sum_up(struct shared_paths *s, const struct query_groups *g, struct err *err)
{
	const struct query_paths *p = &s->paths;
	int r;

	s->sum_memory.budget_bytes = memory_budget_share(QUERY_PATHS_SIXTEENTHS);
	r = spill_vec_reserve(&s->sum_memory, &s->sum, p->n, sizeof(*s->sum), err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < g->n; i++)
		query_main_add(s->sum[p->end[i]], &g->group[i]);
	for (size_t i = p->n - 1; i > 0; i--) { /* children have greater numbers */
		for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++)
			s->sum[p->node[i].parent][c] += s->sum[i][c];
	}
	return 0;
}

static void destroy(void *data)
{
	struct shared_paths *s = data;

	query_paths_fini(&s->paths);
	spill_vec_fini(&s->sum_memory);
	free(s);
}

/* What lies in a file takes no memory that could not be taken back. */
static size_t in_memory(const struct spill_vec *v, size_t n_bytes)
{
	return v->memory && !spill_is_file(v->memory) ? n_bytes : 0;
}

static int make(struct query *q, unsigned kind, struct shared_result *ret, struct err *err)
{
	struct shared_paths *s = calloc(1, sizeof(*s));
	const struct query_groups *g;
	struct query_fold fold = {0};
	int r = s ? query_fold_init(&fold, q, q->tree_options, err)
		  : err_set_memory(err, sizeof(*s));

	(void)kind;
	if (r >= 0)
		r = query_stack_sums(q, &g, err);
	if (r >= 0)
		r = query_paths_init(&s->paths, q, &fold, g, err);
	query_fold_fini(&fold);
	if (r >= 0 && q->tree_options->kind == QUERY_TOP_DOWN)
		r = sum_up(s, g, err);
	if (r < 0) {
		if (s)
			destroy(s);
		return r;
	}
	ret->data = s;
	ret->n_bytes = sizeof(*s) + s->paths.child_of.n_slots * sizeof(struct map_slot) +
		       g->n * sizeof(*s->paths.end) +
		       in_memory(&s->paths.nodes, s->paths.n * sizeof(*s->paths.node)) +
		       in_memory(&s->sum_memory, s->paths.n * sizeof(*s->sum));
	ret->destroy = destroy;
	return 0;
}

static bool has_text(const char *text)
{
	return text && *text;
}

int shared_paths_get(struct query *q, const struct query_tree_options *o,
		     struct shared_result **ret, struct err *err)
{
	bool folds = o->fold == QUERY_FOLD_RUNTIME;
	bool is_own = has_text(o->fold_regex) || has_text(o->hide_regex) ||
		      (folds && q->c.rules->own); /* the classes are this query's own */
	unsigned kind = SHARED_PATHS + (q->wants & QUERY_WANT_ALL) + 4u * folds +
			8u * o->collapses_recursion + 16u * (o->kind == QUERY_BOTTOM_UP);
	int r;

	q->tree_options = o;
	r = shared_results_get(is_own ? NULL : q->c.shared, q, kind, make, ret, err);
	q->tree_options = NULL;
	return r;
}
