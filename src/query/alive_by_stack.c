/* query/alive_by_stack.c - see alive_by_stack.h. */
#include "query/alive_by_stack.h"

#include <stdlib.h>

#include "util/scratch.h"

struct alive_state {
	struct alive_of_stack *of_stack;
	size_t n_stacks;
};

static int alive_sink(void *state, struct scanner *s, struct err *err)
{
	const struct alive_state *st = state;
	const uint64_t *stack = scanner_column(s, STORE_STACK);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		struct alive_of_stack *a = &st->of_stack[stack[i] < st->n_stacks ? stack[i] : 0];

		a->n_bytes += size[i];
		a->count++;
	}
	return 0;
}

/* The plan of what is alive, which asks for the moment first: that leaves fewer rows than other
 * conditions do. */
static void plan_alive_first(const struct query *q, uint64_t at_ns, struct plan *ret)
{
	struct plan_step last;

	plan_alive(q, at_ns, ret);
	last = ret->step[ret->n_steps - 1];
	for (unsigned i = ret->n_steps - 1; i > 0; i--)
		ret->step[i] = ret->step[i - 1];
	ret->step[0] = last;
}

int alive_by_stack(struct query *q, uint64_t at_ns, struct alive_of_stack **ret, struct err *err)
{
	struct alive_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	size_t n_bytes = (q->n_stacks + 1) * sizeof(struct alive_of_stack);
	struct scan scan;
	struct plan plan;
	unsigned n = 0;
	int r = 0;

	plan_alive_first(q, at_ns, &plan);
	scan_init(&scan, q, &plan);
	scan.sink = alive_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, n_bytes);
	for (; n < scan.n_states && r >= 0; n++) {
		st[n] = (struct alive_state){scratch_take(n_bytes), q->n_stacks};
		states[n] = &st[n];
		if (!st[n].of_stack)
			r = err_set_memory(err, n_bytes);
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned i = 1; i < n && r >= 0; i++) {
		for (size_t k = 0; k < q->n_stacks; k++) {
			st[0].of_stack[k].n_bytes += st[i].of_stack[k].n_bytes;
			st[0].of_stack[k].count += st[i].of_stack[k].count;
		}
	}
	for (unsigned i = r >= 0 ? 1 : 0; i < n; i++)
		scratch_give(st[i].of_stack);
	if (r >= 0)
		*ret = st[0].of_stack;
	return r;
}
