/* query/query_walk.c - see query_walk.h. */
#include "query/query_walk.h"

#include <stdlib.h>

#include "util/vec.h"

#define CANCEL_STEPS 1024u

struct path {
	uint32_t *frame, *function;
	size_t n, cap_frame, cap_function;
};

static int list_frames(struct query *q, uint32_t stack, struct path *p, struct err *err)
{
	const struct query_names *names = q->names;
	uint32_t at = q->stack[stack].node;

	p->n = 0;
	while (at) {
		const struct store_node *n = store_node(q->c.store, at);
		uint32_t first = n->code ? names->first[n->code] : 0;
		uint32_t end = n->code ? names->first[n->code + 1] : 0;
		size_t n_room = p->n + (end - first) + 1;
		int r = vec_reserve(&p->frame, &p->cap_frame, n_room, sizeof(*p->frame), err);

		if (r >= 0)
			r = vec_reserve(&p->function, &p->cap_function, n_room,
					sizeof(*p->function), err);
		if (r < 0)
			return r;
		for (uint32_t i = first; i < end; i++) {
			p->frame[p->n] = i;
			p->function[p->n++] = names->identity[names->frame[i].identity].name;
		}
		at = n->parent;
	}
	return 0;
}

int query_walk(struct query *q,
	       int (*fn)(void *user, const struct query_walk_stack *s, struct err *err), void *user,
	       struct err *err)
{
	const struct query_groups *g = NULL;
	struct path p = {0};
	int r = query_stack_sums(q, &g, err);

	for (size_t i = 0; r >= 0 && i < g->n; i++) {
		struct query_walk_stack s = {.number = (uint32_t)i + 1, .cost = &g->group[i]};

		r = list_frames(q, (uint32_t)g->group[i].key, &p, err);
		s.frame = p.frame;
		s.function = p.function;
		s.n = p.n;
		if (r >= 0)
			r = fn(user, &s, err);
		if (r >= 0 && i % CANCEL_STEPS == 0)
			r = query_check_cancel(q, err);
	}
	free(p.frame);
	free(p.function);
	return r;
}
