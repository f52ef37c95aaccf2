/* query/sizes.c - see sizes.h. */
#include "query/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/query_i.h"

/* ---- parts ---- */

static int compare_parts(const void *a, const void *b)
{
	const struct sizes_part *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The functions that have most of the cost. Stacks without a frame (key 0) belong to none. */
static int choose_parts(struct query *q, enum query_cost cost, unsigned max_parts,
			struct sizes *ret, struct err *err)
{
	struct query_groups g = {0};
	struct sizes_part *all;
	size_t n = 0;
	int r;

	query_represent_by(q, cost);
	r = query_groups(q, QUERY_BY_BLAME, &g, err);
	if (r < 0)
		return r;
	all = calloc(g.n + 1, sizeof(*all));
	if (!all)
		r = err_set_memory(err, g.n * sizeof(*all));
	for (size_t i = 0; i < g.n && r >= 0; i++) {
		uint64_t value = query_group_cost(&g.group[i], cost);

		if (g.group[i].key && value)
			all[n++] = (struct sizes_part){g.group[i].key, g.stack[i], value};
	}
	if (r >= 0) {
		qsort(all, n, sizeof(*all), compare_parts);
		ret->n_parts = n < max_parts ? n : max_parts;
		memcpy(ret->part, all, ret->n_parts * sizeof(*all));
	}
	free(all);
	query_groups_fini(&g);
	return r;
}

/* part[stack] becomes the number of its part, or SIZES_MAX_PARTS. */
static int number_stacks(const struct query *q, const struct sizes *s, uint8_t **ret,
			 struct err *err)
{
	uint8_t *part = malloc(q->n_stacks + 1);

	if (!part)
		return err_set_memory(err, q->n_stacks);
	for (size_t i = 0; i < q->n_stacks; i++) {
		uint64_t key = s->n_parts ? sites_key(q, QUERY_BY_BLAME, (uint32_t)i) : 0;
		uint8_t number = 0;

		while (number < s->n_parts && s->part[number].key != key)
			number++;
		part[i] = number < s->n_parts ? number : SIZES_MAX_PARTS;
	}
	*ret = part;
	return 0;
}

/* ---- buckets ---- */

/* 0, 1, 2, 4, 8 ... are the largest sizes of buckets 0, 1, 2, 3, 4 ... */
static inline unsigned bucket_of(uint64_t size_bytes)
{
	if (size_bytes <= 2)
		return (unsigned)size_bytes;
	return 65u - (unsigned)__builtin_clzll(size_bytes - 1);
}

static uint64_t bucket_max(unsigned bucket)
{
	if (bucket <= 2)
		return bucket;
	return bucket == SIZES_MAX_BUCKETS - 1 ? UINT64_MAX : 1ull << (bucket - 1);
}

struct sizes_state {
	const uint8_t *part_of; /* by stack */
	enum query_cost cost;
	bool wants_peak;
	uint64_t peak_ns;
	struct query_group bucket[SIZES_MAX_BUCKETS];
	/* The last one takes what belongs to no part. */
	uint64_t part[SIZES_MAX_BUCKETS][SIZES_MAX_PARTS + 1];
};

/* The cost of one row. */
static inline uint64_t row_cost(const struct sizes_state *st, const struct group_columns *c,
				uint32_t i)
{
	switch (st->cost) {
	case QUERY_COST_PEAK_BYTES:
		return st->wants_peak && row_is_alive(c, i, st->peak_ns) ? c->size[i] : 0;
	case QUERY_COST_LEAKED_BYTES:
		return c->life[i] ? 0 : c->size[i];
	case QUERY_COST_LEAKED_COUNT:
		return c->life[i] == 0;
	case QUERY_COST_ALLOCATIONS:
		return 1;
	case QUERY_COST_TEMPORARY:
		return !!(c->flags[i] & STORE_FLAG_TEMPORARY);
	case QUERY_COST_EXTRA_BYTES:
		return c->extra[i];
	case QUERY_COST_BYTES:
		break;
	}
	return c->size[i];
}

static int sizes_sink(void *state, struct scanner *s, struct err *err)
{
	struct sizes_state *st = state;
	const struct group_columns c = group_columns(s);
	const uint64_t *stack = scanner_column(s, STORE_STACK);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		unsigned bucket = bucket_of(c.size[i]);

		group_add_row(&st->bucket[bucket], &c, i);
		if (st->wants_peak)
			group_add_peak(&st->bucket[bucket], &c, i, st->peak_ns);
		if (stack[i] < s->q->n_stacks)
			st->part[bucket][st->part_of[stack[i]]] += row_cost(st, &c, i);
	}
	return 0;
}

static void add_state(struct sizes_state *sum, const struct sizes_state *st)
{
	for (unsigned i = 0; i < SIZES_MAX_BUCKETS; i++) {
		group_add(&sum->bucket[i], &st->bucket[i]);
		for (unsigned k = 0; k < SIZES_MAX_PARTS; k++)
			sum->part[i][k] += st->part[i][k];
	}
}

static void take_buckets(const struct query *q, const struct sizes_state *st, struct sizes *ret)
{
	unsigned first = 0, end = SIZES_MAX_BUCKETS;

	while (first < end && st->bucket[first].n_allocs == 0)
		first++;
	while (end > first && st->bucket[end - 1].n_allocs == 0)
		end--;
	for (unsigned i = first; i < end; i++) {
		struct sizes_bucket *b = &ret->bucket[ret->n_buckets++];

		b->min_bytes = i ? bucket_max(i - 1) + 1 : 0;
		b->max_bytes = bucket_max(i);
		b->cost = st->bucket[i];
		memcpy(b->part, st->part[i], sizeof(b->part));
		estimate_scale_group(q, &b->cost);
		estimate_scale_all(q, b->part, ARRAY_LEN(b->part));
	}
}

static int fill_buckets(struct query *q, const struct sizes_state *from, struct sizes *ret,
			struct err *err)
{
	void *states[SCAN_MAX_THREADS];
	struct sizes_state *st;
	struct scan scan;
	int r;

	scan_init(&scan, q, &q->plan);
	scan.sink = sizes_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, sizeof(*st));
	st = malloc(scan.n_states * sizeof(*st));
	if (!st)
		return err_set_memory(err, scan.n_states * sizeof(*st));
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i] = *from;
		states[i] = &st[i];
	}
	r = scan_run(&scan, err);
	for (unsigned i = 1; i < scan.n_states && r >= 0; i++)
		add_state(&st[0], &st[i]);
	if (r >= 0)
		take_buckets(q, &st[0], ret);
	free(st);
	return r;
}

int sizes_count(struct query *q, enum query_cost cost, unsigned max_parts, struct sizes *ret,
		struct err *err)
{
	struct sizes_state st = {.cost = cost, .wants_peak = q->wants & QUERY_WANT_PEAK};
	struct query_peak peak = {0};
	uint8_t *part_of = NULL;
	int r = st.wants_peak ? query_peak(q, &peak, err) : 0;

	ASSERT(max_parts <= SIZES_MAX_PARTS);
	ret->n_buckets = ret->n_parts = 0;
	if (r >= 0 && max_parts)
		r = choose_parts(q, cost, max_parts, ret, err);
	if (r >= 0)
		r = number_stacks(q, ret, &part_of, err);
	st.part_of = part_of;
	st.peak_ns = peak.at_ns;
	if (r >= 0)
		r = fill_buckets(q, &st, ret, err);
	free(part_of);
	return r;
}
