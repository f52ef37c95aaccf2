/* export/tree_order.c - see tree_order.h. */
#include "export/tree_order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/vec.h"

struct child {
	uint64_t cost;
	uint32_t node;
	bool is_rest;
};

struct order {
	struct query_tree *tree;
	enum export_cost cost;
	struct tree_order *ret;
	struct child *child;
	size_t cap;
};

static int compare_child(const void *pa, const void *pb)
{
	const struct child *a = pa, *b = pb;

	if (a->is_rest != b->is_rest)
		return a->is_rest ? 1 : -1;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int compare_falling(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a > b ? -1 : a < b;
}

/* The smallest minimum that at most max_nodes nodes reach. A child never costs more than its
 * parent, so the nodes that reach it form a tree. */
static int find_minimum(const struct query_tree *t, enum export_cost cost, size_t max_nodes,
			uint64_t *ret, struct err *err)
{
	uint64_t *all;

	*ret = 1;
	if (t->n <= max_nodes)
		return 0;
	all = malloc(t->n * sizeof(*all));
	if (!all)
		return err_set_memory(err, t->n * sizeof(*all));
	for (size_t i = 0; i < t->n; i++)
		all[i] = export_cost_of(&t->node[i].cost, cost);
	qsort(all, t->n, sizeof(*all), compare_falling);
	*ret = all[max_nodes] + 1;
	free(all);
	return 0;
}

static int order_children(struct order *o, uint32_t parent, struct err *err)
{
	struct query_tree_node *node = o->tree->node;
	uint32_t *link = &node[parent].first_child;
	size_t n = 0;

	for (uint32_t c = *link; c != 0; c = node[c].next_sibling) {
		uint64_t cost = export_cost_of(&node[c].cost, o->cost);
		int r;

		if (cost < o->ret->min_cost) {
			o->ret->cut_cost += cost;
			continue;
		}
		r = vec_reserve(&o->child, &o->cap, n + 1, sizeof(*o->child), err);
		if (r < 0)
			return r;
		o->child[n++] = (struct child){cost, c, query_is_rest(&node[c])};
	}
	if (n > 1)
		qsort(o->child, n, sizeof(*o->child), compare_child);
	for (size_t i = 0; i < n; i++) {
		*link = o->child[i].node;
		link = &node[o->child[i].node].next_sibling;
	}
	*link = 0;
	return 0;
}

uint32_t tree_order_next(const struct query_tree *t, uint32_t node)
{
	if (t->node[node].first_child)
		return t->node[node].first_child;
	while (node != 0 && t->node[node].next_sibling == 0)
		node = t->node[node].parent;
	return node ? t->node[node].next_sibling : 0;
}

int tree_order(struct query_tree *t, enum export_cost cost, double min_share, size_t max_nodes,
	       struct tree_order *ret, struct err *err)
{
	struct order o = {.tree = t, .cost = cost, .ret = ret};
	uint64_t at_least;
	size_t n_all = 0; /* nodes with a cost above 0 */
	int r;

	*ret = (struct tree_order){0};
	if (t->n == 0)
		return 0;
	r = find_minimum(t, cost, max_nodes, &ret->min_cost, err);
	if (r < 0)
		return r;
	at_least = (uint64_t)ceil(min_share * (double)export_cost_of(&t->node[0].cost, cost));
	if (at_least > ret->min_cost)
		ret->min_cost = at_least;
	for (uint32_t i = 0;;) {
		ret->n_kept++;
		r = order_children(&o, i, err);
		i = tree_order_next(t, i);
		if (r < 0 || i == 0)
			break;
	}
	for (size_t i = 0; i < t->n; i++)
		n_all += export_cost_of(&t->node[i].cost, cost) > 0;
	ret->n_cut = n_all > ret->n_kept ? n_all - ret->n_kept : 0;
	free(o.child);
	return r;
}

int tree_order_query(struct query *q, const struct export_options *o, size_t max_nodes,
		     struct query_tree *tree, struct tree_order *ret, struct err *err)
{
	struct query_tree_options options = QUERY_TREE_ALL;
	int r;

	options.kind = o->is_inverted ? QUERY_BOTTOM_UP : QUERY_TOP_DOWN;
	options.most_nodes = o->is_whole ? 0 : QUERY_TREE_READABLE;
	r = query_tree_with(q, &options, tree, err);
	return r < 0 ? r : tree_order(tree, o->cost, o->min_share, max_nodes, ret, err);
}

const char *tree_order_note(const struct query_tree *t, char buf[TREE_ORDER_NOTE_BYTES])
{
	buf[0] = 0;
	if (t->min_share_ppm)
		snprintf(buf, TREE_ORDER_NOTE_BYTES,
			 "frames with less than %.4f %% of every cost are added up; min_share=0 "
			 "shows all",
			 t->min_share_ppm / 1e4);
	return buf;
}
