/* query/sort_skip.c - see sort_skip.h.
 *
 * Keys and numbers of rows are those of struct sorted_row: all bits turned when descending, so that
 * the list is always ascending.
 */
#include "query/sort_skip.h"

#include <stdlib.h>

#include "query/sort_key.h"

/* What a pass looks at: keys, or the numbers of the rows that have one key. */
struct range {
	const struct sort_order *order;
	bool is_by_row; /* then only rows whose key is `key` count */
	uint64_t key;
	uint64_t low, high; /* both included */
	unsigned shift; /* a counter stands for 1 << shift values */
};

struct skip_state {
	const struct range *range;
	uint64_t *counter; /* NULL: the pass looks for the least and the greatest key */
	uint64_t least, greatest;
	uint64_t n;
};

static int skip_sink(void *state, struct scanner *s, struct err *err)
{
	struct skip_state *st = state;
	const struct range *range = st->range;
	const struct key_columns columns = key_columns(s, range->order->sort);
	uint64_t flip = range->order->is_descending ? UINT64_MAX : 0;

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t value = sort_key(&columns, i) ^ flip;

		if (range->is_by_row) {
			if (value != range->key)
				continue;
			value = (s->block * STORE_BLOCK_ROWS + i) ^ flip;
		}
		if (value < range->low || value > range->high)
			continue;
		st->n++;
		if (st->counter) {
			st->counter[(value - range->low) >> range->shift]++;
			continue;
		}
		if (value < st->least)
			st->least = value;
		if (value > st->greatest)
			st->greatest = value;
	}
	return 0;
}

/* One pass; the sum over all threads is in *ret, whose counter is the caller's (NULL: none). */
static int run_pass(struct query *q, const struct range *range, struct skip_state *ret,
		    struct err *err)
{
	size_t state_bytes = ret->counter ? SORT_SKIP_COUNTERS * sizeof(*ret->counter) : 0;
	struct skip_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r = 0;

	scan_init(&scan, q, range->order->plan);
	scan.n_states =
		scan_n_threads(q, scan.end_block - scan.first_block, sizeof(st[0]) + state_bytes);
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i] = (struct skip_state){.range = range, .least = UINT64_MAX};
		states[i] = &st[i];
		if (!ret->counter)
			continue;
		st[i].counter = calloc(SORT_SKIP_COUNTERS, sizeof(*st[i].counter));
		if (!st[i].counter)
			r = err_set_memory(err, state_bytes);
	}
	scan.sink = skip_sink;
	scan.states = states;
	if (r >= 0)
		r = scan_run(&scan, err);
	ret->least = UINT64_MAX;
	ret->greatest = ret->n = 0;
	for (unsigned i = 0; i < scan.n_states; i++) {
		ret->n += st[i].n;
		ret->least = st[i].least < ret->least ? st[i].least : ret->least;
		ret->greatest = st[i].greatest > ret->greatest ? st[i].greatest : ret->greatest;
		for (size_t j = 0; r >= 0 && ret->counter && j < SORT_SKIP_COUNTERS; j++)
			ret->counter[j] += st[i].counter[j];
		free(st[i].counter);
	}
	return r;
}

static unsigned shift_for(uint64_t low, uint64_t high)
{
	unsigned shift = 0;

	while ((high - low) >> shift >= SORT_SKIP_COUNTERS)
		shift++;
	return shift;
}

/* Counts the range once and makes it the part in which the position lies. *n_before: rows before the
 * range, in and out. */
static int narrow(struct query *q, struct range *range, uint64_t position, uint64_t *n_before,
		  struct err *err)
{
	struct skip_state sum = {.counter = calloc(SORT_SKIP_COUNTERS, sizeof(*sum.counter))};
	size_t i = 0;
	int r;

	if (!sum.counter)
		return err_set_memory(err, SORT_SKIP_COUNTERS * sizeof(*sum.counter));
	range->shift = shift_for(range->low, range->high);
	r = run_pass(q, range, &sum, err);
	if (r >= 0) {
		/* the position lies in the range: the sum of all counters is more than this */
		while (i + 1 < SORT_SKIP_COUNTERS && position - *n_before >= sum.counter[i])
			*n_before += sum.counter[i++];
		range->low += (uint64_t)i << range->shift;
		if ((range->high - range->low) >> range->shift)
			range->high = range->low + (((uint64_t)1 << range->shift) - 1);
	}
	free(sum.counter);
	return r;
}

/* The end of what lies before the range. */
static void set_after(const struct range *range, struct sort_skip *ret)
{
	if (range->low) {
		ret->after.key = range->is_by_row ? range->key : range->low - 1;
		ret->after.row = range->is_by_row ? range->low - 1 : UINT64_MAX;
		ret->has_after = true;
	}
}

int sort_skip(struct query *q, const struct sort_order *order, uint64_t position, uint64_t near,
	      struct sort_skip *ret, struct err *err)
{
	struct range range = {.order = order, .high = UINT64_MAX};
	struct skip_state all = {0};
	uint64_t last_row = store_n_rows(q->c.store);
	int r = run_pass(q, &range, &all, err);

	*ret = (struct sort_skip){.n_matching = all.n};
	if (r < 0 || all.n == 0)
		return r;
	last_row = last_row ? last_row - 1 : 0;
	position = position < all.n ? position : all.n - 1;
	range.low = all.least;
	range.high = all.greatest;
	while (position - ret->n_before >= near) {
		if (range.low == range.high && !range.is_by_row) {
			set_after(&range, ret); /* the least row of the key may be number 0 */
			range.key = range.low;
			range.is_by_row = true;
			range.low = order->is_descending ? ~last_row : 0;
			range.high = order->is_descending ? UINT64_MAX : last_row;
		}
		r = narrow(q, &range, position, &ret->n_before, err);
		if (r < 0)
			return r;
		set_after(&range, ret);
	}
	return 0;
}
