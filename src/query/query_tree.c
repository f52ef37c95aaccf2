/* query/query_tree.c - trees over frames.
 *
 * Top-down, the tree of frames in the store is the tree that is wanted, but for inlined frames and for
 * frames with equal names: each of its nodes is turned into a node of ours once. Bottom-up, each
 * stack is walked outwards.
 */
#include <stdlib.h>

#include "query/query_i.h"
#include "util/vec.h"

struct builder {
	struct query *q;
	struct query_tree_node *node;
	size_t n, capacity;
	struct map child_of; /* parent and identity -> node */
	uint32_t *of_store_node; /* top-down: 1 + node */
};

static int add_root(struct builder *b, struct err *err)
{
	int r = vec_reserve(&b->node, &b->capacity, 1, sizeof(*b->node), err);

	if (r < 0)
		return r;
	b->node[0] = (struct query_tree_node){0};
	b->n = 1;
	return 0;
}

/* The child of `parent` for a frame; made when it is not there yet. */
static int find_child(struct builder *b, uint32_t parent, const struct query_name_frame *frame,
		      uint32_t *ret, struct err *err)
{
	uint64_t *slot;
	bool is_new;
	int r = map_add(&b->child_of, (uint64_t)parent << 32 | frame->identity, &slot, &is_new,
			err);

	if (r >= 0 && is_new)
		r = vec_reserve(&b->node, &b->capacity, b->n + 1, sizeof(*b->node), err);
	if (r >= 0 && is_new && b->n == UINT32_MAX)
		r = err_set(err, ERR_LIMIT, "the tree has more than %u nodes: narrow the filter",
			    UINT32_MAX);
	if (r < 0)
		return r;
	if (is_new) {
		b->node[b->n] = (struct query_tree_node){
			.frame = frame->frame,
			.parent = parent,
			.depth = b->node[parent].depth + 1,
		};
		*slot = b->n++;
	}
	*ret = (uint32_t)*slot;
	return 0;
}

static void end_stack(struct builder *b, uint32_t node, const struct query_group *cost)
{
	group_add(&b->node[node].cost, cost);
	b->node[node].self_bytes += cost->n_bytes;
	b->node[node].self_allocs += cost->n_allocs;
}

/* ---- top-down ---- */

/* The nodes for a store's node: those of its caller, then its frames, outermost first. */
static int enter(struct builder *b, uint32_t store_node_number, uint32_t parent, struct err *err)
{
	const struct query_names *names = b->q->names;
	uint32_t code = store_node(b->q->c.store, store_node_number)->code, node = parent;

	for (uint32_t i = code ? names->first[code + 1] : 0; code && i > names->first[code]; i--) {
		int r = find_child(b, node, &names->frame[i - 1], &node, err);

		if (r < 0)
			return r;
	}
	b->of_store_node[store_node_number] = node + 1;
	return 0;
}

/* Only what matching stacks need: marks the way outwards, then enters from the root inwards. */
static int build_top_down(struct builder *b, const struct query_groups *g, struct err *err)
{
	size_t n_nodes;
	const struct store_node *node = store_table(b->q->c.store, STORE_NODES, &n_nodes);
	uint64_t *is_needed = set_create(n_nodes);
	int r = 0;

	b->of_store_node = calloc(n_nodes, sizeof(*b->of_store_node));
	if (!is_needed || !b->of_store_node) {
		r = err_set_memory(err, n_nodes * sizeof(*b->of_store_node));
		goto out;
	}
	for (size_t i = 0; i < g->n; i++) {
		uint32_t at = b->q->stack[g->group[i].key].node;

		for (; at && !set_has(is_needed, at); at = node[at].parent)
			set_add(is_needed, at);
	}
	b->of_store_node[0] = 1;
	for (size_t i = 1; i < n_nodes && r >= 0; i++) { /* a parent has the smaller number */
		if (set_has(is_needed, i))
			r = enter(b, (uint32_t)i, b->of_store_node[node[i].parent] - 1, err);
	}
	for (size_t i = 0; i < g->n && r >= 0; i++)
		end_stack(b, b->of_store_node[b->q->stack[g->group[i].key].node] - 1, &g->group[i]);
out:
	free(is_needed);
	free(b->of_store_node);
	return r;
}

/* ---- bottom-up ---- */

static int add_stack_outwards(struct builder *b, const struct query_group *g, struct err *err)
{
	const struct query_names *names = b->q->names;
	uint32_t at = b->q->stack[g->key].node, node = 0;

	while (at) {
		const struct store_node *n = store_node(b->q->c.store, at);

		for (uint32_t i = n->code ? names->first[n->code] : 0;
		     n->code && i < names->first[n->code + 1]; i++) {
			int r = find_child(b, node, &names->frame[i], &node, err);

			if (r < 0)
				return r;
		}
		at = n->parent;
	}
	end_stack(b, node, g);
	return 0;
}

static int build_bottom_up(struct builder *b, const struct query_groups *g, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		int r = add_stack_outwards(b, &g->group[i], err);

		if (r >= 0 && i % 1024 == 0)
			r = query_check_cancel(b->q, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- order ---- */

struct sibling {
	uint32_t node, parent;
	uint64_t n_bytes;
};

/* By parent; the largest last, so that it ends up in front of the list. */
static int compare_siblings(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->n_bytes != y->n_bytes)
		return x->n_bytes < y->n_bytes ? -1 : 1;
	return x->node > y->node ? -1 : x->node < y->node;
}

static int link_nodes(struct builder *b, struct err *err)
{
	struct sibling *list = malloc(b->n * sizeof(*list));

	if (!list)
		return err_set_memory(err, b->n * sizeof(*list));
	for (size_t i = b->n - 1; i > 0; i--) /* children have greater numbers */
		group_add(&b->node[b->node[i].parent].cost, &b->node[i].cost);
	for (size_t i = 1; i < b->n; i++)
		list[i - 1] =
			(struct sibling){(uint32_t)i, b->node[i].parent, b->node[i].cost.n_bytes};
	qsort(list, b->n - 1, sizeof(*list), compare_siblings);
	for (size_t i = 0; i + 1 < b->n; i++) {
		struct query_tree_node *parent = &b->node[list[i].parent];

		b->node[list[i].node].next_sibling = parent->first_child;
		parent->first_child = list[i].node;
	}
	free(list);
	return 0;
}

int query_tree(struct query *q, enum query_tree_kind kind, struct query_tree *ret, struct err *err)
{
	struct builder b = {.q = q};
	struct query_groups g = {0};
	int r = query_need_names(q, err);

	if (r >= 0)
		r = query_groups(q, QUERY_BY_STACK, &g, err);
	if (r >= 0)
		r = add_root(&b, err);
	if (r >= 0)
		r = kind == QUERY_TOP_DOWN ? build_top_down(&b, &g, err)
					   : build_bottom_up(&b, &g, err);
	if (r >= 0)
		r = link_nodes(&b, err);
	if (r >= 0) {
		ret->node = b.node;
		ret->n = b.n;
		b.node = NULL;
	}
	free(b.node);
	map_fini(&b.child_of);
	query_groups_fini(&g);
	return r;
}

void query_tree_fini(struct query_tree *t)
{
	free(t->node);
	*t = (struct query_tree){0};
}
