/* query/query_paths.c - see query_paths.h.
 *
 * The tree of frames in the store is the tree that is wanted, but for inlined frames, frames with equal
 * names, and folding: so each of its nodes is turned into nodes of ours once, from the root inwards.
 */
#include "query/query_paths.h"

#include <stdlib.h>

#include "util/memory_budget.h"

#define MAX_PERIOD 16u /* of recursion that collapses: f1 -> f2 -> ... -> f16 -> f1 */
#define CANCEL_STEPS 4096u

/* A run of folded frames that is not a node yet. */
struct run {
	uint32_t name; /* of the most telling frame */
	uint32_t frame;
	uint32_t length; /* 0: there is none */
	bool is_chosen; /* it has a frame that fold_regex chose */
};

/* What is known at a node of the store. */
struct state {
	uint32_t at; /* our node for what is settled */
	struct run open; /* inside of it */
	struct run end; /* what is left of it if the stack ends here; where has_allocator */
	bool has_allocator;
};

struct builder {
	struct query *q;
	const struct query_fold *fold;
	struct query_paths *p;
	const struct store_node *node; /* of the store */
	size_t n_nodes;
	uint64_t *is_needed; /* nodes of the store that lie on a path */
	uint32_t *at; /* by node of the store; where nothing is folded */
	struct spill_vec at_memory;
	struct state *state; /* by rank of the needed node; where something is folded */
	uint32_t *rank; /* of a needed node of the store */
};

uint32_t query_paths_child(const struct query_paths *p, uint32_t parent, uint32_t name)
{
	uint32_t first = p->node[parent].first_child;
	const uint64_t *slot;

	if (!first || p->node[first].name == name)
		return first;
	slot = map_find(&p->child_of, (uint64_t)parent << 32 | name);
	return slot ? (uint32_t)*slot : 0;
}

static int add_node(struct query_paths *p, struct query_path_node node, uint32_t *ret,
		    struct err *err)
{
	int r = spill_vec_reserve(&p->nodes, &p->node, p->n + 1, sizeof(*p->node), err);

	if (r >= 0 && p->n == UINT32_MAX)
		r = err_set(err, ERR_LIMIT, "the tree has more than %u nodes: narrow the filter",
			    UINT32_MAX);
	if (r < 0)
		return r;
	*ret = (uint32_t)p->n;
	p->node[p->n++] = node;
	return 0;
}

/* The child of `parent`; made when it is not there yet. Most nodes have one child: the map is asked for
 * others only. */
static int enter(struct query_paths *p, uint32_t parent, const struct run *run, bool is_run,
		 uint32_t *ret, struct err *err)
{
	struct query_path_node node = {.parent = parent, .name = run->name, .frame = run->frame};
	uint32_t first = p->node[parent].first_child, number;
	uint64_t *slot = NULL;
	bool is_new = !first;
	int r = 0;

	number = first;
	if (first && p->node[first].name != run->name) {
		r = map_add(&p->child_of, (uint64_t)parent << 32 | run->name, &slot, &is_new, err);
		number = r < 0 ? 0 : (uint32_t)*slot;
	}
	if (r >= 0 && is_new) {
		r = add_node(p, node, &number, err);
		if (r >= 0 && slot)
			*slot = number;
		else if (r >= 0)
			p->node[parent].first_child = number;
	}
	if (r < 0)
		return r;
	if (is_run && run->length > p->node[number].n_folded)
		p->node[number].n_folded = run->length;
	*ret = number;
	return 0;
}

/* Would `name` inside of `parent` end a sequence that repeats the one before it? Then *ret is the node
 * at which the first of the two ends. */
static bool find_repetition(const struct query_paths *p, uint32_t parent, uint32_t name,
			    uint32_t *ret)
{
	uint32_t seen[2 * MAX_PERIOD] = {name}, node[2 * MAX_PERIOD] = {0};
	unsigned n = 1;

	for (uint32_t at = parent; at && n < 2 * MAX_PERIOD; at = p->node[at].parent, n++) {
		seen[n] = p->node[at].name;
		node[n] = at;
	}
	for (unsigned period = 1; 2 * period <= n; period++) {
		unsigned i = 0;

		while (i < period && seen[i] == seen[period + i])
			i++;
		if (i == period) {
			*ret = node[period];
			return true;
		}
	}
	return false;
}

static int append(struct builder *b, uint32_t *at, const struct run *run, bool is_run,
		  struct err *err)
{
	if (b->fold->collapses_recursion && find_repetition(b->p, *at, run->name, at))
		return 0;
	return enter(b->p, *at, run, is_run, at, err);
}

/* ---- folding ---- */

static void extend_run(struct builder *b, struct run *run, uint32_t identity, uint32_t frame)
{
	uint32_t n_identities = (uint32_t)b->q->names->n_identities;
	uint8_t title = b->fold->title[identity];
	bool is_titled = run->length && run->name >= n_identities;

	if (title && (!is_titled || title < run->name - n_identities)) {
		run->name = n_identities + title;
		run->frame = frame;
	} else if (!run->length) {
		run->name = identity;
		run->frame = frame;
	}
	run->length++;
}

/* One more frame inside of what s says. */
static int fold_frame(struct builder *b, struct state *s, uint32_t frame, struct err *err)
{
	uint32_t identity = b->q->names->frame[frame].identity;
	uint8_t action = b->fold->action ? b->fold->action[identity] : QUERY_FOLD_KEEP;
	const struct run single = {.name = identity, .frame = frame};
	int r = 0;

	switch ((enum query_fold_action)action) {
	case QUERY_FOLD_HIDE:
		return 0;
	case QUERY_FOLD_ALLOCATOR:
		if (!s->has_allocator)
			s->end = s->open;
		s->has_allocator = true;
		extend_run(b, &s->open, identity, frame);
		return 0;
	case QUERY_FOLD_RUN:
		extend_run(b, &s->open, identity, frame);
		return 0;
	case QUERY_FOLD_CHOSEN:
		extend_run(b, &s->open, identity, frame);
		s->open.is_chosen = true;
		return 0;
	case QUERY_FOLD_KEEP:
		break;
	}
	if (s->open.length)
		r = append(b, &s->at, &s->open, true, err);
	if (r >= 0)
		r = append(b, &s->at, &single, false, err);
	s->open.length = 0;
	s->open.is_chosen = false;
	s->has_allocator = false;
	return r;
}

/* The node of a stack that ends here. */
static int fold_end(struct builder *b, const struct state *s, uint32_t *ret, struct err *err)
{
	const struct run *left = s->has_allocator ? &s->end : &s->open;

	*ret = s->at;
	if (b->fold->drops_innermost && s->at && !left->is_chosen)
		return 0;
	return left->length ? append(b, ret, left, true, err) : 0;
}

/* ---- nodes of the store ---- */

static int mark_needed(struct builder *b, const struct query_groups *g, struct err *err)
{
	b->is_needed = set_create(b->n_nodes);
	if (!b->is_needed)
		return err_set_memory(err, b->n_nodes / 8);
	set_add(b->is_needed, 0);
	for (size_t i = 0; i < g->n; i++) {
		uint32_t at = b->q->stack[g->group[i].key].node;

		for (; !set_has(b->is_needed, at); at = b->node[at].parent)
			set_add(b->is_needed, at);
	}
	return 0;
}

/* Calls fn for each needed node of the store but the root, callers first. */
static int each_needed(struct builder *b,
		       int (*fn)(struct builder *b, uint32_t node, struct err *err),
		       struct err *err)
{
	int r = 0;

	for (size_t i = 1; i < b->n_nodes && r >= 0; i++) { /* a parent has the smaller number */
		if (set_has(b->is_needed, i))
			r = fn(b, (uint32_t)i, err);
		if (r >= 0 && i % CANCEL_STEPS == 0)
			r = query_check_cancel(b->q, err);
	}
	return r;
}

static int add_plain(struct builder *b, uint32_t number, struct err *err)
{
	const struct query_names *names = b->q->names;
	uint32_t code = b->node[number].code, at = b->at[b->node[number].parent];
	int r = 0;

	for (uint32_t i = code ? names->first[code + 1] : 0;
	     code && r >= 0 && i > names->first[code]; i--) {
		const struct run single = {.name = names->frame[i - 1].identity, .frame = i - 1};

		r = enter(b->p, at, &single, false, &at, err);
	}
	b->at[number] = at;
	return r;
}

static int add_folded(struct builder *b, uint32_t number, struct err *err)
{
	const struct query_names *names = b->q->names;
	struct state s = b->state[b->rank[b->node[number].parent]];
	uint32_t code = b->node[number].code;
	int r = 0;

	for (uint32_t i = code ? names->first[code + 1] : 0;
	     code && r >= 0 && i > names->first[code]; i--)
		r = fold_frame(b, &s, i - 1, err);
	b->state[b->rank[number]] = s;
	return r;
}

static int build_plain(struct builder *b, const struct query_groups *g, struct err *err)
{
	int r;

	r = spill_vec_reserve(&b->at_memory, &b->at, b->n_nodes, sizeof(*b->at), err);
	if (r >= 0)
		r = each_needed(b, add_plain, err);
	for (size_t i = 0; i < g->n && r >= 0; i++)
		b->p->end[i] = b->at[b->q->stack[g->group[i].key].node];
	return r;
}

static int build_folded(struct builder *b, const struct query_groups *g, struct err *err)
{
	uint32_t n = 0;
	int r;

	b->rank = calloc(b->n_nodes, sizeof(*b->rank));
	if (!b->rank)
		return err_set_memory(err, b->n_nodes * sizeof(*b->rank));
	for (size_t i = 0; i < b->n_nodes; i++) {
		if (set_has(b->is_needed, i))
			b->rank[i] = n++;
	}
	b->state = calloc(n, sizeof(*b->state));
	if (!b->state)
		return err_set_memory(err, n * sizeof(*b->state));
	r = each_needed(b, add_folded, err);
	for (size_t i = 0; i < g->n && r >= 0; i++)
		r = fold_end(b, &b->state[b->rank[b->q->stack[g->group[i].key].node]],
			     &b->p->end[i], err);
	return r;
}

int query_paths_init(struct query_paths *p, struct query *q, const struct query_fold *fold,
		     const struct query_groups *g, struct err *err)
{
	struct builder b = {.q = q, .fold = fold, .p = p};
	uint32_t root;
	int r;

	*p = (struct query_paths){0};
	p->nodes.budget_bytes = b.at_memory.budget_bytes =
		memory_budget_share(QUERY_PATHS_SIXTEENTHS);
	b.node = store_table(q->c.store, STORE_NODES, &b.n_nodes);
	p->end = calloc(g->n + 1, sizeof(*p->end));
	r = p->end ? add_node(p, (struct query_path_node){0}, &root, err)
		   : err_set_memory(err, g->n * sizeof(*p->end));
	if (r >= 0)
		r = mark_needed(&b, g, err);
	if (r >= 0)
		r = fold->action || fold->collapses_recursion ? build_folded(&b, g, err)
							      : build_plain(&b, g, err);
	free(b.is_needed);
	spill_vec_fini(&b.at_memory);
	free(b.state);
	free(b.rank);
	if (r < 0)
		query_paths_fini(p);
	return r;
}

void query_paths_fini(struct query_paths *p)
{
	spill_vec_fini(&p->nodes);
	free(p->end);
	map_fini(&p->child_of);
	*p = (struct query_paths){0};
}
