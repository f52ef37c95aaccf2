/* query/query.c - see query.h. Compiling a filter: plan.c; answers: query_rows.c and so on. */
#include "query/query.h"

#include <stdlib.h>

#include "query/query_i.h"

void query_give_turn(const struct query *q)
{
	if (q->c.turn)
		q->c.turn->give(q->c.turn->user);
}

void query_take_turn(const struct query *q)
{
	if (q->c.turn)
		q->c.turn->take(q->c.turn->user);
}

struct frame_rules *query_rules(struct query *q)
{
	return q->c.rules;
}

void query_want(struct query *q, unsigned wants)
{
	if (q->wants == wants)
		return;
	q->wants = wants;
	query_forget_sums(q);
}

void query_represent_by(struct query *q, enum query_cost c)
{
	q->site_cost = c;
}

static struct query_span span_of(const struct store *s, const struct filter *f)
{
	uint64_t duration_ns = store_facts(s)->duration_ns, from_ns = 0, end_ns = duration_ns;

	if (f->from.kind != FILTER_TIME_NONE)
		from_ns = plan_moment(s, &f->from).ns;
	if (f->to.kind != FILTER_TIME_NONE) {
		struct plan_moment to = plan_moment(s, &f->to);

		end_ns = to.is_before ? 0 : to.ns < duration_ns ? to.ns + 1 : duration_ns;
	}
	return (struct query_span){from_ns, end_ns > from_ns ? end_ns - from_ns : 0};
}

struct query_span query_span(const struct query *q)
{
	return q->span;
}

int query_create(const struct query_context *c, const struct filter *f, struct query **ret,
		 struct err *err)
{
	struct query *q = calloc(1, sizeof(*q));
	uint64_t n_blocks = store_n_blocks(c->store);
	int r;

	if (!q)
		return err_set_memory(err, sizeof(*q));
	q->c = *c;
	q->rules.executable = store_string(c->store, store_facts(c->store)->executable, NULL);
	if (!q->c.rules)
		q->c.rules = &q->rules;
	q->filter = f;
	q->span = span_of(c->store, f);
	q->wants = QUERY_WANT_ALL;
	q->stack = store_table(c->store, STORE_STACKS, &q->n_stacks);
	q->chain = store_table(c->store, STORE_CHAINS, &q->n_chains);
	store_table(c->store, STORE_THREADS, &q->n_threads);
	q->end_ns = store_facts(c->store)->duration_ns;
	if (n_blocks && store_block_max(c->store, STORE_ALLOC_NS, n_blocks - 1) > q->end_ns)
		q->end_ns = store_block_max(c->store, STORE_ALLOC_NS, n_blocks - 1);
	r = plan_create(q, err);
	if (r >= 0)
		r = estimate_create(q, err);
	if (r < 0) {
		query_destroy(q);
		return r;
	}
	*ret = q;
	return 0;
}

void query_destroy(struct query *q)
{
	if (!q)
		return;
	query_forget_sums(q);
	estimate_destroy(q->estimate);
	tree_filter_destroy(q->tree);
	if (!q->has_shared_names) {
		owners_destroy(q->owners);
		query_names_destroy(q->names);
	}
	free(q->made_name);
	free(q->stack_set);
	free(q->thread_set);
	free(q->free_stack_set);
	free(q->flags_set);
	free(q);
}
