/* query/chains_row.c - the allocations of one realloc chain: chains.h.
 *
 * Rows of a chain have rising numbers, and the table of chains knows the first and the last one, so
 * only the blocks between these two are looked at, in order.
 */
#include <stdlib.h>

#include "query/chains.h"
#include "query/query_i.h"

#define BLOCKS_AT_ONCE 64u /* between two looks whether to go on */

static bool list_block(const struct chains_list *l, struct scanner *s)
{
	struct query_row row;
	bool goes_on = true;

	for (uint32_t k = 0; k < s->n_selected && goes_on; k++) {
		scanner_row(s, s->selected[k], &row);
		goes_on = l->fn(l->user, &row);
	}
	return goes_on;
}

static int list_rows(struct query *q, const struct plan *plan, const struct chains_list *l,
		     struct err *err)
{
	struct scanner *s = malloc(sizeof(*s));
	bool goes_on = true;
	struct scan range;
	int r = 0;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->q = q;
	s->plan = plan;
	scan_init(&range, q, plan);
	for (uint64_t block = range.first_block; block < range.end_block && goes_on; block++) {
		if ((block - range.first_block) % BLOCKS_AT_ONCE == 0)
			r = query_check_cancel(q, err);
		if (r < 0)
			break;
		scanner_select(s, block);
		goes_on = list_block(l, s);
	}
	free(s);
	return r;
}

int chains_of_row(struct query *q, uint64_t row, struct chains_list *list, struct err *err)
{
	uint64_t n = store_n_rows(q->c.store), number;
	struct plan plan = {.first_row = row, .end_row = row + 1};
	int r = plan_need_rows(q, err);

	if (r < 0)
		return r;
	if (row >= n)
		return err_set(err, ERR_USAGE,
			       "there is no allocation %llu: the recording has %llu",
			       (unsigned long long)row, (unsigned long long)n);
	number = store_value(q->c.store, STORE_CHAIN, row);
	list->n_rows = 1;
	if (number && number - 1 < q->n_chains) {
		const struct store_chain *c = &q->chain[number - 1];

		list->n_rows = c->length;
		plan.first_row = c->first_row;
		plan.end_row = c->last_row < n ? c->last_row + 1 : n;
		plan.step[plan.n_steps++] = (struct plan_step){
			.kind = PLAN_RANGE, .column = STORE_CHAIN, .min = number, .max = number};
	}
	if (list->count == 0 || list->skip >= list->n_rows)
		return 0;
	plan.step[plan.n_steps++] = (struct plan_step){
		.kind = PLAN_RANGE,
		.column = STORE_CHAIN_POSITION,
		.min = list->skip,
		.max = list->count - 1 > UINT64_MAX - list->skip ? UINT64_MAX
								 : list->skip + list->count - 1,
	};
	return list_rows(q, &plan, list, err);
}
