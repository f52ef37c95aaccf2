/* query/compare_tree.c - trees of two recordings merged by names: see compare.h.
 *
 * Both trees are made whole, from the root and one level deeper than wanted, because a node that is too small
 * to be shown in one recording may be large in the other. The nodes of both go into one tree, where a node is
 * found by its parent and its name. Then the wanted part is copied out in pre-order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/compare.h"
#include "query/query_fold.h"
#include "util/text_set.h"
#include "util/vec.h"

#define NONE UINT32_MAX
#define TWO_NAMES UINT64_MAX /* a key that belongs to two names */

struct merged_node {
	struct compare_node n; /* parent: in this tree; n_left_out: number of children */
	uint32_t depth;
	uint32_t first_child, n_children; /* in `child`, once they are sorted */
	uint64_t n_stacks[COMPARE_N_SIDES];
};

struct merger {
	struct query *const *q;
	const struct query_tree_options *o;
	struct text_set *texts; /* number 1 + index of name */
	struct compare_name *name;
	size_t n_names, cap_names;
	struct map name_of_key; /* 1 + index of name, or TWO_NAMES */
	struct map node_of; /* parent and name -> node */
	struct merged_node *node;
	size_t n, capacity;
	uint32_t *child; /* those of a parent side by side */
	uint32_t top; /* what `under` leads to; NONE: nowhere */
	uint64_t least[QUERY_N_MAIN_COSTS];
	uint32_t *number_of_name; /* 1 + index in tree.name; 0: not used yet */
	size_t cap_nodes, cap_used; /* of tree */
	struct compare_tree tree;
};

static uint64_t both(const struct compare_node *n, unsigned cost)
{
	return n->cost[COMPARE_BEFORE][cost] + n->cost[COMPARE_AFTER][cost];
}

/* ---- names ---- */

/* The text that a name is matched by, to be freed; NULL: no memory. */
static char *name_text(const struct query_tree_name *n)
{
	const struct frame *f = n->frame;
	char *text = NULL, *made = NULL;
	const char *function;
	int len;

	if (n->title)
		return asprintf(&text, "\n%s", n->title) < 0 ? NULL : text;
	function = compare_code_name(f, &made);
	if (!function)
		return NULL;
	len = asprintf(&text, "%s\n%s\n%s", function, f->source ? text_basename(f->source) : "",
		       f->module ? text_basename(f->module) : "");
	free(made);
	return len < 0 ? NULL : text;
}

static int note_key(struct merger *m, uint64_t key, uint64_t name, struct err *err)
{
	uint64_t *slot;
	bool is_new;
	int r = map_add(&m->name_of_key, key, &slot, &is_new, err);

	if (r >= 0)
		*slot = is_new || *slot == name ? name : TWO_NAMES;
	return r;
}

/* The number of a name in both recordings. */
static int merge_name(struct merger *m, const struct query_tree_name *n, enum compare_side side,
		      uint32_t *ret, struct err *err)
{
	char *text = name_text(n);
	uint32_t number;
	int r = text ? text_set_add(m->texts, text, &number, err) : err_set_memory(err, sizeof(*n));

	free(text);
	if (r >= 0 && number > m->n_names) {
		r = vec_reserve(&m->name, &m->cap_names, m->n_names + 1, sizeof(*m->name), err);
		if (r >= 0)
			m->name[m->n_names++] =
				(struct compare_name){n->frame, n->title, n->key, side};
	}
	if (r >= 0)
		r = note_key(m, n->key, number, err);
	if (r >= 0)
		*ret = number - 1;
	return r;
}

/* ---- nodes ---- */

static int merged_child(struct merger *m, uint32_t parent, uint32_t name, uint32_t *ret,
			struct err *err)
{
	uint64_t *slot;
	bool is_new;
	int r = map_add(&m->node_of, (uint64_t)parent << 32 | name, &slot, &is_new, err);

	if (r >= 0 && is_new)
		r = vec_reserve(&m->node, &m->capacity, m->n + 1, sizeof(*m->node), err);
	if (r < 0)
		return r;
	if (is_new) {
		m->node[m->n] = (struct merged_node){.n = {.parent = parent, .name = name}};
		m->node[m->n].depth = m->n ? m->node[parent].depth + 1 : 0;
		m->node[parent].n_children += m->n > 0;
		*slot = m->n++;
	}
	*ret = (uint32_t)*slot;
	return 0;
}

static void add_node(struct merged_node *to, enum compare_side side,
		     const struct query_tree_node *from)
{
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
		to->n.cost[side][c] += query_main_cost_of(&from->cost, (enum query_main_cost)c);
		to->n.self[side][c] += from->self[c];
	}
	if (from->n_folded > to->n.n_folded)
		to->n.n_folded = from->n_folded;
	to->n_stacks[side] += from->n_stacks;
}

static int merge_nodes(struct merger *m, const struct query_tree *t, enum compare_side side,
		       struct err *err)
{
	uint32_t *name = calloc(t->n_names + 1, sizeof(*name)); /* numbers in m */
	uint32_t *node = calloc(t->n, sizeof(*node));
	int r = name && node ? 0 : err_set_memory(err, t->n * sizeof(*node));

	for (size_t i = 0; i < t->n_names && r >= 0; i++)
		r = merge_name(m, &t->name[i], side, &name[i], err);
	for (size_t i = 0; i < t->n && r >= 0; i++) { /* parents come first */
		r = merged_child(m, i ? node[t->node[i].parent] : 0,
				 i ? name[t->node[i].name] : QUERY_NO_NAME, &node[i], err);
		if (r >= 0)
			add_node(&m->node[node[i]], side, &t->node[i]);
		if (r >= 0 && i % COMPARE_CANCEL_STEPS == 0)
			r = query_check_cancel(m->q[side], err);
	}
	free(name);
	free(node);
	return r;
}

static int merge_side(struct merger *m, enum compare_side side, struct err *err)
{
	struct query_tree_options o = *m->o;
	struct query_tree t = {0};
	size_t depth = (size_t)o.max_depth + 1 + o.n_under;
	int r;

	o.under = NULL;
	o.n_under = 0;
	o.min_share_ppm = 0;
	o.max_depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
	r = query_tree_with(m->q[side], &o, &t, err);
	if (r == -ERR_LIMIT)
		err_set(err, ERR_LIMIT,
			"a tree of the comparison has more than %zu nodes: ask for fewer with "
			"depth, or narrow the filter",
			o.max_nodes);
	if (r >= 0)
		r = merge_nodes(m, &t, side, err);
	m->tree.total[side] = t.total;
	query_tree_fini(&t);
	return r;
}

/* ---- under ---- */

/* The name of a key; *ret is NONE when this filter leaves nothing of it. */
static int find_key(struct merger *m, uint64_t key, uint32_t *ret, struct err *err)
{
	const uint64_t *found = map_find(&m->name_of_key, key);
	int r = 0;

	*ret = found ? (uint32_t)(*found - 1) : NONE;
	if (found && *found == TWO_NAMES)
		return err_set(err, ERR_USAGE, "under: two names have the key %llu; use a filter",
			       (unsigned long long)key);
	for (unsigned s = 0; !found && s < COMPARE_N_SIDES; s++) {
		uint32_t name;

		r = query_fold_find_keys(m->q[s]->names, &key, 1, &name, err);
		if (r != -ERR_USAGE)
			return r;
	}
	return r < 0 ? err_set(err, ERR_USAGE,
			       "under: no name of the two recordings has the key %llu",
			       (unsigned long long)key)
		     : 0;
}

static int find_top(struct merger *m, struct err *err)
{
	m->top = 0;
	for (size_t i = 0; i < m->o->n_under; i++) {
		const uint64_t *slot = NULL;
		uint32_t name;
		int r = find_key(m, m->o->under[i], &name, err);

		if (r < 0)
			return r;
		if (name != NONE && m->top != NONE)
			slot = map_find(&m->node_of, (uint64_t)m->top << 32 | name);
		m->top = slot ? (uint32_t)*slot : NONE;
	}
	return 0;
}

/* ---- the wanted part ---- */

/* Most bytes of both first; what was met first, first. */
static int compare_siblings(const void *a, const void *b, void *user)
{
	const struct merged_node *node = user;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t n = both(&node[x].n, QUERY_MAIN_BYTES), k = both(&node[y].n, QUERY_MAIN_BYTES);

	if (n != k)
		return n > k ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort_children(struct merger *m, struct err *err)
{
	uint32_t at = 0;

	m->child = malloc(m->n * sizeof(*m->child));
	if (!m->child)
		return err_set_memory(err, m->n * sizeof(*m->child));
	for (size_t i = 0; i < m->n; i++) {
		m->node[i].first_child = at;
		at += m->node[i].n_children;
		m->node[i].n_children = 0;
	}
	for (size_t i = 1; i < m->n; i++) {
		struct merged_node *parent = &m->node[m->node[i].n.parent];

		m->child[parent->first_child + parent->n_children++] = (uint32_t)i;
	}
	for (size_t i = 0; i < m->n; i++) {
		if (m->node[i].n_children > 1)
			qsort_r(m->child + m->node[i].first_child, m->node[i].n_children,
				sizeof(*m->child), compare_siblings, m->node);
	}
	return 0;
}

static bool is_kept(const struct merger *m, const struct merged_node *n)
{
	if (n->depth - m->node[m->top].depth > m->o->max_depth)
		return false;
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++) {
		if (both(&n->n, c) > 0 && both(&n->n, c) >= m->least[c])
			return true;
	}
	return false;
}

/* Adds a node below a node of the tree that is asked for. */
static int copy_node(struct merger *m, uint32_t from, uint32_t parent, struct err *err)
{
	struct compare_tree *t = &m->tree;
	struct compare_node n = m->node[from].n;
	int r = vec_reserve(&t->node, &m->cap_nodes, t->n + 1, sizeof(*t->node), err);

	if (r >= 0 && n.name != QUERY_NO_NAME && !m->number_of_name[n.name]) {
		r = vec_reserve(&t->name, &m->cap_used, t->n_names + 1, sizeof(*t->name), err);
		if (r >= 0) {
			t->name[t->n_names++] = m->name[n.name];
			m->number_of_name[n.name] = (uint32_t)t->n_names;
		}
	}
	if (r < 0)
		return r;
	if (n.name != QUERY_NO_NAME)
		n.name = m->number_of_name[n.name] - 1;
	n.parent = parent;
	t->node[t->n++] = n;
	return 0;
}

/* Depth first; `waiting` holds nodes whose parents are there, with the number that the parent got. */
static int copy_nodes(struct merger *m, struct err *err)
{
	struct waiting {
		uint32_t node, parent;
	} *waiting = NULL;
	size_t n = 1, capacity = 0, n_steps = 0;
	int r = vec_reserve(&waiting, &capacity, 1, sizeof(*waiting), err);

	if (r >= 0)
		waiting[0] = (struct waiting){m->top, 0};
	while (r >= 0 && n) {
		struct waiting w = waiting[--n];
		const struct merged_node *from = &m->node[w.node];
		uint32_t number = (uint32_t)m->tree.n;

		r = copy_node(m, w.node, w.parent, err);
		if (r >= 0)
			r = vec_reserve(&waiting, &capacity, n + from->n_children + 1,
					sizeof(*waiting), err);
		for (uint32_t i = from->n_children; i > 0 && r >= 0; i--) { /* the last is first */
			uint32_t child = m->child[from->first_child + i - 1];

			if (is_kept(m, &m->node[child]))
				waiting[n++] = (struct waiting){child, number};
			else
				m->tree.node[number].n_left_out++;
		}
		if (r >= 0 && n_steps++ % COMPARE_CANCEL_STEPS == 0)
			r = query_check_cancel(m->q[COMPARE_AFTER], err);
	}
	free(waiting);
	return r;
}

static int take_part(struct merger *m, struct err *err)
{
	int r;

	if (m->top == NONE) { /* a way that this filter leaves nothing of */
		m->tree.node = calloc(1, sizeof(*m->tree.node));
		if (!m->tree.node)
			return err_set_memory(err, sizeof(*m->tree.node));
		m->tree.node[0].name = QUERY_NO_NAME;
		m->tree.n = 1;
		return 0;
	}
	m->number_of_name = calloc(m->n_names + 1, sizeof(*m->number_of_name));
	r = m->number_of_name ? sort_children(m, err)
			      : err_set_memory(err, m->n_names * sizeof(*m->number_of_name));
	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++)
		m->least[c] = (uint64_t)((unsigned __int128)both(&m->node[m->top].n, c) *
					 m->o->min_share_ppm / 1000000);
	memcpy(m->tree.n_stacks, m->node[m->top].n_stacks, sizeof(m->tree.n_stacks));
	return r < 0 ? r : copy_nodes(m, err);
}

int compare_trees(struct query *const q[COMPARE_N_SIDES], const struct query_tree_options *o,
		  struct compare_tree *ret, struct err *err)
{
	struct merger m = {.q = q, .o = o};
	uint32_t root;
	int r = text_set_create(true, &m.texts, err);

	if (r >= 0)
		r = merged_child(&m, 0, QUERY_NO_NAME, &root, err);
	if (r >= 0)
		r = merge_side(&m, COMPARE_AFTER, err);
	if (r >= 0)
		r = merge_side(&m, COMPARE_BEFORE, err);
	if (r >= 0)
		r = find_top(&m, err);
	if (r >= 0)
		r = take_part(&m, err);
	if (r >= 0)
		*ret = m.tree;
	else
		compare_tree_fini(&m.tree);
	text_set_destroy(m.texts);
	map_fini(&m.name_of_key);
	map_fini(&m.node_of);
	free(m.name);
	free(m.node);
	free(m.child);
	free(m.number_of_name);
	return r < 0 ? r : 0;
}

void compare_tree_fini(struct compare_tree *t)
{
	free(t->node);
	free(t->name);
	*t = (struct compare_tree){0};
}
