/* query/query_functions.c - functions with what they cost, and who calls whom.
 *
 * A stack that passes through a function more than once (recursion) counts once for it, and once
 * for each different caller and callee.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "util/vec.h"

/* The functions of one stack, innermost first, by number of their names. */
struct path {
	uint32_t *function;
	size_t n, capacity;
};

static int walk_stack(struct query *q, uint32_t stack, struct path *p, struct err *err)
{
	const struct query_names *names = q->names;
	uint32_t at = q->stack[stack].node;

	p->n = 0;
	while (at) {
		const struct store_node *n = store_node(q->c.store, at);
		uint32_t first = n->code ? names->first[n->code] : 0;
		uint32_t end = n->code ? names->first[n->code + 1] : 0;
		int r = vec_reserve(&p->function, &p->capacity, p->n + (end - first) + 1,
				    sizeof(*p->function), err);

		if (r < 0)
			return r;
		for (uint32_t i = first; i < end; i++)
			p->function[p->n++] = names->identity[names->frame[i].identity].function;
		at = n->parent;
	}
	return 0;
}

/* Costs by function; stamps tell whether the current stack was already counted there. */
struct table {
	struct query_function *item; /* by number of name */
	uint32_t *stamp;
};

static int table_init(struct table *t, size_t n, struct err *err)
{
	t->item = calloc(n, sizeof(*t->item));
	t->stamp = calloc(n, sizeof(*t->stamp));
	if (!t->item || !t->stamp)
		return err_set_memory(err, n * sizeof(*t->item));
	return 0;
}

static void table_fini(struct table *t)
{
	free(t->item);
	free(t->stamp);
}

static void table_add(struct table *t, uint32_t function, uint32_t stamp,
		      const struct query_group *cost)
{
	if (t->stamp[function] == stamp)
		return;
	t->stamp[function] = stamp;
	group_add(&t->item[function].cost, cost);
}

static int compare_functions(const void *a, const void *b)
{
	const struct query_function *x = a, *y = b;

	if (x->cost.n_bytes != y->cost.n_bytes)
		return x->cost.n_bytes > y->cost.n_bytes ? -1 : 1;
	if (x->cost.n_allocs != y->cost.n_allocs)
		return x->cost.n_allocs > y->cost.n_allocs ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Takes the rows that are not empty, largest first. */
static void table_take(struct table *t, const struct query_names *names,
		       struct query_functions *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n_texts; i++) {
		if (!t->item[i].cost.n_allocs)
			continue;
		t->item[n] = t->item[i];
		t->item[n].key = i;
		t->item[n].cost.key = i;
		t->item[n++].name = names->text[i];
	}
	if (n)
		qsort(t->item, n, sizeof(*t->item), compare_functions);
	ret->function = t->item;
	ret->n = n;
	t->item = NULL;
}

void query_functions_fini(struct query_functions *f)
{
	free(f->function);
	*f = (struct query_functions){0};
}

/* Calls fn for every matching stack with its path. */
static int each_path(struct query *q,
		     void (*fn)(void *user, const struct path *p, uint32_t stamp,
				const struct query_group *cost),
		     void *user, struct err *err)
{
	struct query_groups g = {0};
	struct path p = {0};
	int r = query_groups(q, QUERY_BY_STACK, &g, err);

	for (size_t i = 0; i < g.n && r >= 0; i++) {
		r = walk_stack(q, (uint32_t)g.group[i].key, &p, err);
		if (r >= 0)
			fn(user, &p, (uint32_t)i + 1, &g.group[i]);
		if (r >= 0 && i % 1024 == 0)
			r = query_check_cancel(q, err);
	}
	query_groups_fini(&g);
	free(p.function);
	return r;
}

static void add_self(struct query_function *f, const struct query_group *cost)
{
	f->self_bytes += cost->n_bytes;
	f->self_allocs += cost->n_allocs;
}

static void count_path(void *user, const struct path *p, uint32_t stamp,
		       const struct query_group *cost)
{
	struct table *t = user;

	for (size_t i = 0; i < p->n; i++)
		table_add(t, p->function[i], stamp, cost);
	if (p->n)
		add_self(&t->item[p->function[0]], cost);
}

int query_functions(struct query *q, struct query_functions *ret, struct err *err)
{
	struct table t = {0};
	int r = query_need_names(q, err);

	if (r >= 0)
		r = table_init(&t, q->names->n_texts, err);
	if (r >= 0)
		r = each_path(q, count_path, &t, err);
	if (r >= 0)
		table_take(&t, q->names, ret);
	table_fini(&t);
	return r;
}

/* ---- around one function ---- */

struct around {
	uint32_t wanted;
	struct query_function self;
	struct table callers, callees;
};

static void count_neighbours(void *user, const struct path *p, uint32_t stamp,
			     const struct query_group *cost)
{
	struct around *a = user;
	bool is_in = false;

	for (size_t i = 0; i < p->n; i++) {
		if (p->function[i] != a->wanted)
			continue;
		is_in = true;
		if (i + 1 < p->n)
			table_add(&a->callers, p->function[i + 1], stamp, cost);
		if (i > 0)
			table_add(&a->callees, p->function[i - 1], stamp, cost);
		else
			add_self(&a->self, cost);
		/* What a callee allocates itself, when called from here. */
		if (i == 1)
			add_self(&a->callees.item[p->function[0]], cost);
	}
	if (is_in)
		group_add(&a->self.cost, cost);
}

int query_callers(struct query *q, const char *function, struct query_callers *ret, struct err *err)
{
	struct around a = {0};
	int r = query_need_names(q, err);

	if (r < 0)
		return r;
	a.wanted = query_names_find(q->names, function);
	if (!a.wanted)
		return err_set(err, ERR_USAGE, "no stack has a function '%.200s'", function);
	r = table_init(&a.callers, q->names->n_texts, err);
	if (r >= 0)
		r = table_init(&a.callees, q->names->n_texts, err);
	if (r >= 0)
		r = each_path(q, count_neighbours, &a, err);
	if (r >= 0) {
		a.self.key = a.self.cost.key = a.wanted;
		a.self.name = q->names->text[a.wanted];
		ret->function = a.self;
		table_take(&a.callers, q->names, &ret->callers);
		table_take(&a.callees, q->names, &ret->callees);
	}
	table_fini(&a.callers);
	table_fini(&a.callees);
	return r;
}

void query_callers_fini(struct query_callers *c)
{
	query_functions_fini(&c->callers);
	query_functions_fini(&c->callees);
	*c = (struct query_callers){0};
}
