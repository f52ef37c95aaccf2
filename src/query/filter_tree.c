/* query/filter_tree.c - see filter_tree.h. */
#include "query/filter_tree.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"

/* A tree with compiled filters. */
struct query_tree_filter {
	enum filter_tree_op op;
	struct query *leaf; /* LEAF: for its plan; owned */
	struct query_tree_filter *left, *right; /* else; owned */
};

void filter_tree_destroy(struct filter_tree *t)
{
	if (!t)
		return;
	filter_fini(&t->filter);
	filter_tree_destroy(t->left);
	filter_tree_destroy(t->right);
	free(t);
}

void tree_filter_destroy(struct query_tree_filter *t)
{
	if (!t)
		return;
	query_destroy(t->leaf);
	tree_filter_destroy(t->left);
	tree_filter_destroy(t->right);
	free(t);
}

/* ---- rows of a block ---- */

enum verdict tree_filter_judge(struct scanner *s, const struct query_tree_filter *t)
{
	enum verdict left, right;

	if (t->op == FILTER_TREE_LEAF)
		return scanner_judge_plan(s, &t->leaf->plan);
	left = tree_filter_judge(s, t->left);
	right = tree_filter_judge(s, t->right);
	if (t->op == FILTER_TREE_OR)
		return left > right ? left : right;
	if (t->op == FILTER_TREE_WITHOUT)
		right = right == VERDICT_NONE  ? VERDICT_ALL
			: right == VERDICT_ALL ? VERDICT_NONE
					       : VERDICT_SOME;
	return left < right ? left : right;
}

static void leaf_rows(struct scanner *s, const struct plan *p, uint64_t rows[TREE_FILTER_WORDS])
{
	memset(rows, 0, TREE_FILTER_WORDS * sizeof(*rows));
	scanner_select_plan(s, p);
	for (uint32_t i = 0; i < s->n_selected; i++)
		set_add(rows, s->selected[i]);
}

void tree_filter_rows(struct scanner *s, const struct query_tree_filter *t,
		      uint64_t rows[TREE_FILTER_WORDS])
{
	uint64_t right[TREE_FILTER_WORDS];

	if (t->op == FILTER_TREE_LEAF) {
		leaf_rows(s, &t->leaf->plan, rows);
		return;
	}
	tree_filter_rows(s, t->left, rows);
	tree_filter_rows(s, t->right, right);
	for (size_t i = 0; i < TREE_FILTER_WORDS; i++) {
		if (t->op == FILTER_TREE_OR)
			rows[i] |= right[i];
		else
			rows[i] &= t->op == FILTER_TREE_AND ? right[i] : ~right[i];
	}
}

/* ---- compiling ---- */

struct compile {
	struct query_context context;
	unsigned n_leaves;
};

static int compile(struct compile *c, const struct filter_tree *t, unsigned depth,
		   struct query_tree_filter **ret, struct err *err)
{
	struct query_tree_filter *made = calloc(1, sizeof(*made));
	int r = 0;

	if (!made)
		return err_set_memory(err, sizeof(*made));
	made->op = t->op;
	if (depth == FILTER_TREE_MAX_DEPTH || c->n_leaves == FILTER_TREE_MAX_LEAVES)
		r = err_set(err, ERR_LIMIT,
			    "more than %u sets, or %u levels, are joined; join fewer at once",
			    FILTER_TREE_MAX_LEAVES, FILTER_TREE_MAX_DEPTH);
	else if (t->op == FILTER_TREE_LEAF) {
		c->n_leaves++;
		r = query_create(&c->context, &t->filter, &made->leaf, err);
		if (r == 0) { /* the plan is all that is used */
			query_names_destroy(made->leaf->names);
			made->leaf->names = NULL;
		}
	} else {
		r = compile(c, t->left, depth + 1, &made->left, err);
		if (r == 0)
			r = compile(c, t->right, depth + 1, &made->right, err);
	}
	if (r == 0)
		*ret = made;
	else
		tree_filter_destroy(made);
	return r;
}

int query_create_tree(const struct query_context *context, const struct filter_tree *t,
		      struct query **ret, struct err *err)
{
	static const struct filter everything;
	struct compile c = {.context = *context};
	struct query_context own = *context;
	struct query *q = NULL;
	int r;

	if (t->op == FILTER_TREE_LEAF)
		return query_create(context, &t->filter, ret, err);
	/* The keys of shared results know nothing of trees. */
	c.context.shared = own.shared = NULL;
	c.context.sample_blocks = own.sample_blocks = 0;
	r = query_create(&own, &everything, &q, err);
	if (r == 0)
		r = plan_need_rows(q, err);
	if (r == 0)
		r = compile(&c, t, 0, &q->tree, err);
	if (r < 0) {
		query_destroy(q);
		return r;
	}
	q->plan.step[q->plan.n_steps++] =
		(struct plan_step){.kind = PLAN_TREE, .column = STORE_ALLOC_NS};
	q->plan.is_table = false;
	*ret = q;
	return 0;
}
