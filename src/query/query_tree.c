/* query/query_tree.c - trees over frames.
 *
 * Stacks become paths first (query_paths.h). Top-down, the tree of paths is the tree that is wanted: the
 * sums of its nodes say which ones are kept. Bottom-up: query_tree_up.c.
 *
 * The cost of a stack is added to the innermost node that is kept of it (or outermost, bottom-up), and
 * then from children to parents.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query_tree_i.h"
#include "util/memory_budget.h"
#include "util/vec.h"

#define NONE UINT32_MAX
#define SHARE_STEP 4u /* how fast min_share_ppm is raised for most_nodes */

/* ---- nodes ---- */

/* The index of a name in tree.name. */
static int use_name(struct query_tree_builder *b, uint32_t name, const struct frame *frame,
		    uint32_t *ret, struct err *err)
{
	struct query_tree *t = &b->tree;
	const struct query_names *names = b->q->names;

	if (!b->number_of_name[name]) {
		int r = vec_reserve(&t->name, &b->cap_names, t->n_names + 1, sizeof(*t->name), err);

		if (r < 0)
			return r;
		t->name[t->n_names] = (struct query_tree_name){
			.frame = frame,
			.title = query_fold_name_title(names, name),
			.key = query_fold_key(names, name),
		};
		b->number_of_name[name] = (uint32_t)++t->n_names;
	}
	*ret = b->number_of_name[name] - 1;
	return 0;
}

static size_t max_nodes_of(const struct query_tree_options *o)
{
	if (o->most_nodes)
		return o->most_nodes;
	return o->max_nodes ? o->max_nodes : UINT32_MAX - 1;
}

static int put_node(struct query_tree_builder *b, struct query_tree_node node, uint32_t *ret,
		    struct err *err)
{
	size_t max_nodes = max_nodes_of(b->o);
	struct query_tree *t = &b->tree;
	int r = 0;

	if (t->n >= max_nodes)
		return err_set(err, ERR_LIMIT,
			       "the tree has more than %zu nodes: ask for fewer with min_share or "
			       "depth, or narrow the filter",
			       max_nodes);
	r = spill_vec_reserve(&t->nodes, &t->node, t->n + 1, sizeof(*t->node), err);
	if (r >= 0 && b->has_rests)
		r = vec_reserve(&b->rest, &b->cap_rest, t->n + 1, sizeof(*b->rest), err);
	if (r < 0)
		return r;
	if (t->n)
		node.depth = t->node[node.parent].depth + 1;
	if (b->has_rests)
		b->rest[t->n] = 0;
	*ret = (uint32_t)t->n;
	t->node[t->n++] = node;
	return 0;
}

int query_tree_add_node(struct query_tree_builder *b, uint32_t parent, uint32_t path, uint32_t *ret,
			struct err *err)
{
	const struct query_path_node *p = &b->paths.node[path];
	struct query_tree_node node = {.parent = parent, .name = QUERY_NO_NAME};
	int r = 0;

	if (p->name) {
		node.frame = b->q->names->frame[p->frame].frame;
		node.n_folded = p->n_folded;
		r = use_name(b, p->name, node.frame, &node.name, err);
	}
	return r < 0 ? r : put_node(b, node, ret, err);
}

static const struct frame rest_frame = {.function = "[smaller ones]"};

bool query_is_rest(const struct query_tree_node *n)
{
	return n->frame == &rest_frame;
}

int query_tree_use_rest(struct query_tree_builder *b, uint32_t node, uint32_t *ret, struct err *err)
{
	const struct query_tree_node rest = {
		.parent = node, .name = QUERY_NO_NAME, .frame = &rest_frame};
	int r = 0;

	*ret = node;
	if (!b->has_rests)
		return 0;
	if (!b->rest[node]) {
		r = put_node(b, rest, ret, err);
		if (r >= 0)
			b->rest[node] = *ret;
	}
	*ret = b->rest[node];
	if (r >= 0)
		b->tree.node[*ret].n_children++;
	return r;
}

void query_tree_add_cost(struct query_tree_builder *b, uint32_t node, const struct query_group *g,
			 bool is_self)
{
	struct query_tree_node *n = &b->tree.node[node];

	group_add(&n->cost, g);
	n->n_stacks++;
	if (is_self)
		query_main_add(n->self, g);
}

bool query_tree_is_kept(const struct query_tree_builder *b, const uint64_t sum[QUERY_N_MAIN_COSTS])
{
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
		if (sum[c] > 0 && sum[c] >= b->least[c])
			return true;
	}
	return false;
}

void query_tree_set_least(struct query_tree_builder *b, const uint64_t all[QUERY_N_MAIN_COSTS])
{
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++)
		b->least[c] =
			b->share_ppm > 1000000
				? UINT64_MAX /* nothing has more than all */
				: (uint64_t)((unsigned __int128)all[c] * b->share_ppm / 1000000);
}

/* ---- top-down ---- */

/* The node of the paths that `under` leads to; NONE: there is no such way. */
static uint32_t find_under(const struct query_tree_builder *b)
{
	uint32_t at = 0;

	for (size_t i = 0; i < b->o->n_under; i++) {
		at = query_paths_child(&b->paths, at, b->under[i]);
		if (!at)
			return NONE;
	}
	return at;
}

/* Makes the nodes that are kept. of_path[i]: the node that has the cost of path i, NONE: none; is_end:
 * the node stands for just this path. */
static int keep_paths(struct query_tree_builder *b, uint32_t top, uint32_t *of_path,
		      uint64_t *is_end, struct err *err)
{
	const struct query_paths *p = &b->paths;
	const uint64_t(*sum)[QUERY_N_MAIN_COSTS] = b->sum;
	int r;

	query_tree_set_least(b, sum[top]);
	memset(of_path, 0xff, top * sizeof(*of_path));
	r = query_tree_add_node(b, 0, top, &of_path[top], err);
	set_add(is_end, top);
	for (size_t i = top + 1; i < p->n && r >= 0; i++) {
		uint32_t parent = p->node[i].parent, node = of_path[parent];

		of_path[i] = node;
		if (node == NONE || !set_has(is_end, parent) || !sum[i][QUERY_MAIN_ALLOCS])
			continue;
		b->tree.node[node].n_children++;
		if (b->tree.node[node].depth >= b->o->max_depth || !query_tree_is_kept(b, sum[i])) {
			r = query_tree_use_rest(b, node, &of_path[i], err);
			continue;
		}
		r = query_tree_add_node(b, node, (uint32_t)i, &of_path[i], err);
		set_add(is_end, i);
		if (r >= 0 && i % QUERY_TREE_CANCEL_STEPS == 0)
			r = query_check_cancel(b->q, err);
	}
	return r;
}

static int build_top_down(struct query_tree_builder *b, struct err *err)
{
	const struct query_paths *p = &b->paths;
	uint32_t *of_path = malloc(p->n * sizeof(*of_path));
	uint64_t *is_end = set_create(p->n);
	uint32_t top = find_under(b);
	int r = 0;

	if (!of_path || !is_end)
		r = err_set_memory(err, p->n * sizeof(*of_path));
	else if (top != NONE)
		r = keep_paths(b, top, of_path, is_end, err);
	for (size_t i = 0; i < b->groups.n && r >= 0 && top != NONE; i++) {
		uint32_t node = of_path[p->end[i]];

		if (node == NONE)
			continue;
		query_tree_add_cost(b, node, &b->groups.group[i], set_has(is_end, p->end[i]));
		b->tree.n_stacks++;
	}
	free(of_path);
	free(is_end);
	return r;
}

/* ---- order ---- */

/* Largest bytes first; those that came first, first. A rest is the last one. */
static int compare_siblings(const void *a, const void *b, void *user)
{
	const struct query_tree_node *node = user;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (query_is_rest(&node[x]) != query_is_rest(&node[y]))
		return query_is_rest(&node[x]) ? 1 : -1;
	if (node[x].cost.n_bytes != node[y].cost.n_bytes)
		return node[x].cost.n_bytes > node[y].cost.n_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Adds the costs of children to parents and links siblings. */
static int link_nodes(struct query_tree *t, struct err *err)
{
	uint32_t *child = malloc(t->n * sizeof(*child)); /* those of a parent side by side */
	size_t *end = calloc(t->n + 1, sizeof(*end)); /* by parent, behind its children */
	size_t at = 0;
	int r = 0;

	if (!child || !end) {
		r = err_set_memory(err, t->n * sizeof(*end));
		goto out;
	}
	for (size_t i = t->n - 1; i > 0; i--) {
		group_add(&t->node[t->node[i].parent].cost, &t->node[i].cost);
		t->node[t->node[i].parent].n_stacks += t->node[i].n_stacks;
		end[t->node[i].parent]++;
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t n = end[i];

		end[i] = at;
		at += n;
	}
	for (size_t i = 1; i < t->n; i++)
		child[end[t->node[i].parent]++] = (uint32_t)i;
	for (size_t i = 0, first = 0; i < t->n; first = end[i++]) {
		if (end[i] - first > 1)
			qsort_r(child + first, end[i] - first, sizeof(*child), compare_siblings,
				t->node);
		for (size_t k = end[i]; k > first; k--) {
			t->node[child[k - 1]].next_sibling = t->node[i].first_child;
			t->node[i].first_child = child[k - 1];
		}
	}
out:
	free(child);
	free(end);
	return r;
}

/* ---- all together ---- */

/* Groups that the caller changed have paths of their own. */
static bool are_sums(const struct query_groups *g, const struct query_groups *sums)
{
	if (g->n != sums->n)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		if (g->group[i].key != sums->group[i].key)
			return false;
	}
	return true;
}

static int make_own_paths(struct query_tree_builder *b, struct err *err)
{
	struct query_fold fold = {0};
	int r = query_fold_init(&fold, b->q, b->o, err);

	if (r >= 0)
		r = query_paths_init(&b->paths, b->q, &fold, &b->groups, err);
	query_fold_fini(&fold);
	return r;
}

static int take_shared_paths(struct query_tree_builder *b, struct err *err)
{
	const struct shared_paths *s;
	int r = shared_paths_get(b->q, b->o, &b->shared, err);

	if (r < 0)
		return r;
	s = b->shared->data;
	b->paths = s->paths;
	b->sum = (const uint64_t(*)[QUERY_N_MAIN_COSTS])s->sum;
	return 0;
}

static void give_paths(struct query_tree_builder *b)
{
	if (!b->shared)
		query_paths_fini(&b->paths);
	shared_result_release(b->shared);
}

/* Paths, and the names of `under`. */
static int prepare(struct query_tree_builder *b, struct err *err)
{
	const struct query_tree_options *o = b->o;
	const struct query_groups *sums;
	int r = query_need_names(b->q, err);

	if (r >= 0 && o->n_under) {
		b->under = calloc(o->n_under, sizeof(*b->under));
		r = b->under
			    ? query_fold_find_keys(b->q->names, o->under, o->n_under, b->under, err)
			    : err_set_memory(err, o->n_under * sizeof(*b->under));
	}
	if (r >= 0)
		r = query_stack_sums(b->q, &sums, err);
	if (r < 0)
		return r;
	return are_sums(&b->groups, sums) ? take_shared_paths(b, err) : make_own_paths(b, err);
}

/* Node 0 where `under` leads nowhere: the last name, and nothing in it. */
static int add_empty_top(struct query_tree_builder *b, struct err *err)
{
	uint32_t name = b->under[b->o->n_under - 1], node;
	const struct query_names *names = b->q->names;
	int r = query_tree_add_node(b, 0, 0, &node, err);

	if (r < 0)
		return r;
	b->tree.node[0].frame = name < names->n_identities ? names->identity[name].frame : NULL;
	return use_name(b, name, b->tree.node[0].frame, &b->tree.node[0].name, err);
}

static void forget_nodes(struct query_tree_builder *b)
{
	size_t budget_bytes = b->tree.nodes.budget_bytes;

	query_tree_fini(&b->tree);
	b->tree.nodes.budget_bytes = budget_bytes;
	b->tree.total = b->groups.total;
	b->cap_names = 0;
	memset(b->number_of_name, 0,
	       (b->q->names->n_identities + QUERY_FOLD_MAX_TITLES) * sizeof(*b->number_of_name));
}

/* Makes the nodes. If they are more than most_nodes, once more with those of a larger share. */
static int build_nodes(struct query_tree_builder *b, struct err *err)
{
	int r;

	b->share_ppm = b->o->min_share_ppm;
	b->has_rests = false;
	for (;;) {
		forget_nodes(b);
		r = b->o->kind == QUERY_TOP_DOWN ? build_top_down(b, err)
						 : query_tree_build_up(b, err);
		if (r != -ERR_LIMIT || !b->o->most_nodes || b->share_ppm > 1000000)
			break;
		b->has_rests = true;
		b->share_ppm = b->share_ppm ? b->share_ppm * SHARE_STEP
					    : (uint32_t)(1000000 / b->o->most_nodes + 1);
	}
	b->tree.min_share_ppm = b->share_ppm;
	return r;
}

int query_tree_with(struct query *q, const struct query_tree_options *o, struct query_tree *ret,
		    struct err *err)
{
	struct query_tree_builder b = {.q = q, .o = o};
	const struct query_groups *sums;
	int r = query_need_names(q, err);

	b.tree.nodes.budget_bytes = memory_budget_share(QUERY_PATHS_SIXTEENTHS);
	if (r >= 0)
		r = query_stack_sums(q, &sums, err);
	if (r < 0)
		return r;
	b.groups = *sums;
	r = prepare(&b, err);
	if (r < 0)
		goto out;
	b.number_of_name =
		calloc(q->names->n_identities + QUERY_FOLD_MAX_TITLES, sizeof(*b.number_of_name));
	if (!b.number_of_name) {
		r = err_set_memory(err, q->names->n_identities * sizeof(*b.number_of_name));
		goto out;
	}
	r = build_nodes(&b, err);
	if (r >= 0 && !b.tree.n)
		r = add_empty_top(&b, err);
	if (r >= 0)
		r = link_nodes(&b.tree, err);
	if (r >= 0) {
		*ret = b.tree;
		b.tree = (struct query_tree){0};
	}
out:
	query_tree_fini(&b.tree);
	give_paths(&b);
	free(b.number_of_name);
	free(b.rest);
	free(b.under);
	return r;
}

int query_tree(struct query *q, enum query_tree_kind kind, struct query_tree *ret, struct err *err)
{
	struct query_tree_options o = QUERY_TREE_ALL;

	o.kind = kind;
	return query_tree_with(q, &o, ret, err);
}

void query_tree_fini(struct query_tree *t)
{
	spill_vec_fini(&t->nodes);
	free(t->name);
	*t = (struct query_tree){0};
}

/* ---- the stacks of a node ---- */

/* Does the path that ends at `end` pass through the node that `under` names? */
static bool is_under(const struct query_tree_builder *b, uint32_t end, const uint64_t *is_inside)
{
	if (b->o->kind == QUERY_TOP_DOWN)
		return set_has(is_inside, end);
	for (size_t i = 0; i < b->o->n_under; i++) {
		if (!end || b->paths.node[end].name != b->under[i])
			return false;
		end = b->paths.node[end].parent;
	}
	return true;
}

int query_tree_keep_under(struct query *q, const struct query_tree_options *o,
			  struct query_groups *g, struct err *err)
{
	struct query_tree_builder b = {.q = q, .o = o, .groups = *g};
	uint64_t *is_inside = NULL;
	uint32_t top;
	size_t n = 0;
	int r = prepare(&b, err);

	if (r < 0)
		goto out;
	is_inside = set_create(b.paths.n);
	if (!is_inside) {
		r = err_set_memory(err, b.paths.n / 8);
		goto out;
	}
	top = find_under(&b);
	for (size_t i = top; top != NONE && i < b.paths.n; i++) {
		if (i == top || (i > 0 && set_has(is_inside, b.paths.node[i].parent)))
			set_add(is_inside, i);
	}
	g->total = (struct query_group){0};
	for (size_t i = 0; i < g->n; i++) {
		if (!is_under(&b, b.paths.end[i], is_inside))
			continue;
		group_add(&g->total, &g->group[i]);
		g->group[n++] = g->group[i];
	}
	g->n = n;
out:
	give_paths(&b);
	free(b.under);
	free(is_inside);
	return r;
}
