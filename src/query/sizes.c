/* query/sizes.c - see sizes.h. */
#include "query/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/query_i.h"
#include "query/shared_results.h"

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
			size_t *n_functions, struct sizes *ret, struct err *err)
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
	*n_functions = g.n;
	free(all);
	query_groups_fini(&g);
	return r;
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

/* ---- all costs of functions, by bucket ---- */

#define N_COSTS (QUERY_COST_EXTRA_BYTES + 1u) /* of enum query_cost */
#define CELLS_OF_KEY (SIZES_MAX_BUCKETS * N_COSTS)

/* Of all functions a table takes so much memory at most. */
#define TABLE_MAX_BYTES ((size_t)8 << 20)

/* What one pass over the rows finds out, for whatever cost and number of parts somebody asks. */
struct sizes_table {
	struct query_group bucket[SIZES_MAX_BUCKETS];
	uint64_t *key; /* owned; ascending: functions to blame */
	size_t n_keys;
	uint64_t *cell; /* owned: [key][bucket][cost] */
};

static void table_fini(struct sizes_table *t)
{
	free(t->key);
	free(t->cell);
	*t = (struct sizes_table){0};
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The number of a key; n_keys: the table does not have it. */
static size_t table_find(const struct sizes_table *t, uint64_t key)
{
	const uint64_t *found =
		t->n_keys ? bsearch(&key, t->key, t->n_keys, sizeof(key), compare_u64) : NULL;

	return found ? (size_t)(found - t->key) : t->n_keys;
}

struct sizes_state {
	const uint32_t *number_of; /* by stack: of its function; n_keys: none */
	bool wants_peak;
	uint64_t peak_ns;
	struct query_group bucket[SIZES_MAX_BUCKETS];
	uint64_t *cell; /* one key more than the table: for rows of none */
	size_t n_keys;
};

static inline void add_cell(uint64_t *cell, const struct sizes_state *st,
			    const struct group_columns *c, uint32_t i)
{
	uint64_t is_leaked = c->life[i] == 0;

	cell[QUERY_COST_BYTES] += c->size[i];
	cell[QUERY_COST_LEAKED_BYTES] += is_leaked ? c->size[i] : 0;
	cell[QUERY_COST_LEAKED_COUNT] += is_leaked;
	cell[QUERY_COST_ALLOCATIONS]++;
	cell[QUERY_COST_TEMPORARY] += !!(c->flags[i] & STORE_FLAG_TEMPORARY);
	cell[QUERY_COST_EXTRA_BYTES] += c->extra[i];
	if (st->wants_peak && row_is_alive(c, i, st->peak_ns))
		cell[QUERY_COST_PEAK_BYTES] += c->size[i];
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
		size_t key = stack[i] < s->q->n_stacks ? st->number_of[stack[i]] : st->n_keys;

		group_add_row(&st->bucket[bucket], &c, i);
		if (st->wants_peak)
			group_add_peak(&st->bucket[bucket], &c, i, st->peak_ns);
		add_cell(&st->cell[key * CELLS_OF_KEY + bucket * N_COSTS], st, &c, i);
	}
	return 0;
}

static int number_stacks(const struct query *q, const struct sizes_table *t, uint32_t **ret,
			 struct err *err)
{
	uint32_t *number = malloc((q->n_stacks + 1) * sizeof(*number));

	if (!number)
		return err_set_memory(err, q->n_stacks * sizeof(*number));
	for (size_t i = 0; i < q->n_stacks; i++) {
		uint64_t key = t->n_keys ? sites_key(q, QUERY_BY_BLAME, (uint32_t)i) : 0;

		number[i] = (uint32_t)(key ? table_find(t, key) : t->n_keys);
	}
	*ret = number;
	return 0;
}

static void take_state(struct sizes_table *t, const struct sizes_state *st)
{
	for (unsigned i = 0; i < SIZES_MAX_BUCKETS; i++)
		group_add(&t->bucket[i], &st->bucket[i]);
	for (size_t i = 0; i < t->n_keys * CELLS_OF_KEY; i++)
		t->cell[i] += st->cell[i];
}

static int count_rows(struct query *q, const struct sizes_state *from, struct sizes_table *t,
		      struct err *err)
{
	size_t n_cells = (t->n_keys + 1) * CELLS_OF_KEY;
	struct sizes_state *st = NULL;
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r = 0;

	scan_init(&scan, q, &q->plan);
	scan.sink = sizes_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       sizeof(*st) + n_cells * sizeof(*st->cell));
	st = calloc(scan.n_states, sizeof(*st));
	if (!st)
		return err_set_memory(err, scan.n_states * sizeof(*st));
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i] = *from;
		st[i].cell = calloc(n_cells, sizeof(*st->cell));
		states[i] = &st[i];
		if (!st[i].cell)
			r = err_set_memory(err, n_cells * sizeof(*st->cell));
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned i = 0; i < scan.n_states; i++) {
		if (r >= 0)
			take_state(t, &st[i]);
		free(st[i].cell);
	}
	free(st);
	return r;
}

/* Fills in the table for its keys. Call sites_need() before, if there are any. */
static int table_fill(struct query *q, struct sizes_table *t, struct err *err)
{
	struct sizes_state st = {.wants_peak = q->wants & QUERY_WANT_PEAK, .n_keys = t->n_keys};
	struct query_peak peak = {0};
	uint32_t *number_of = NULL;
	int r = st.wants_peak ? query_peak(q, &peak, err) : 0;

	t->cell = calloc(t->n_keys * CELLS_OF_KEY + 1, sizeof(*t->cell));
	if (r >= 0 && !t->cell)
		r = err_set_memory(err, t->n_keys * CELLS_OF_KEY * sizeof(*t->cell));
	if (r >= 0)
		r = number_stacks(q, t, &number_of, err);
	st.number_of = number_of;
	st.peak_ns = peak.at_ns;
	if (r >= 0)
		r = count_rows(q, &st, t, err);
	free(number_of);
	return r;
}

/* ---- the table of all functions, shared ---- */

static void destroy_table(void *data)
{
	table_fini(data);
	free(data);
}

static int make_table(struct query *q, unsigned kind, struct shared_result *ret, struct err *err)
{
	struct sizes_table *t = calloc(1, sizeof(*t));
	struct query_groups g = {0};
	int r = t ? query_groups(q, QUERY_BY_BLAME, &g, err) : err_set_memory(err, sizeof(*t));

	(void)kind;
	if (r >= 0) {
		t->key = calloc(g.n + 1, sizeof(*t->key));
		if (!t->key)
			r = err_set_memory(err, g.n * sizeof(*t->key));
	}
	for (size_t i = 0; i < g.n && r >= 0; i++)
		t->key[t->n_keys++] = g.group[i].key;
	if (r >= 0)
		r = table_fill(q, t, err);
	query_groups_fini(&g);
	if (r < 0) {
		if (t)
			destroy_table(t);
		return r;
	}
	ret->data = t;
	ret->n_bytes = sizeof(*t) + t->n_keys * (1 + CELLS_OF_KEY) * sizeof(uint64_t);
	ret->destroy = destroy_table;
	return 0;
}

/* ---- an answer ---- */

static void take_buckets(const struct query *q, const struct sizes_table *t, enum query_cost cost,
			 struct sizes *ret)
{
	unsigned first = 0, end = SIZES_MAX_BUCKETS;

	while (first < end && t->bucket[first].n_allocs == 0)
		first++;
	while (end > first && t->bucket[end - 1].n_allocs == 0)
		end--;
	for (unsigned i = first; i < end; i++) {
		struct sizes_bucket *b = &ret->bucket[ret->n_buckets++];

		*b = (struct sizes_bucket){.min_bytes = i ? bucket_max(i - 1) + 1 : 0,
					   .max_bytes = bucket_max(i),
					   .cost = t->bucket[i]};
		for (size_t k = 0; k < ret->n_parts; k++) {
			size_t key = table_find(t, ret->part[k].key);

			if (key < t->n_keys)
				b->part[k] = t->cell[key * CELLS_OF_KEY + i * N_COSTS + cost];
		}
		estimate_scale_group(q, &b->cost);
		estimate_scale_all(q, b->part, ARRAY_LEN(b->part));
	}
}

/* Where all functions are too many, or the query's rules say whose code a frame is: of the parts alone,
 * and for this answer alone. */
static int count_parts(struct query *q, enum query_cost cost, struct sizes *ret, struct err *err)
{
	uint64_t key[SIZES_MAX_PARTS];
	struct sizes_table t = {.n_keys = ret->n_parts};
	int r;

	for (size_t i = 0; i < ret->n_parts; i++)
		key[i] = ret->part[i].key;
	qsort(key, ret->n_parts, sizeof(*key), compare_u64);
	t.key = calloc(ret->n_parts + 1, sizeof(*t.key));
	if (!t.key)
		return err_set_memory(err, ret->n_parts * sizeof(*t.key));
	memcpy(t.key, key, ret->n_parts * sizeof(*key));
	r = table_fill(q, &t, err);
	if (r >= 0)
		take_buckets(q, &t, cost, ret);
	table_fini(&t);
	return r;
}

int sizes_count(struct query *q, enum query_cost cost, unsigned max_parts, struct sizes *ret,
		struct err *err)
{
	struct shared_result *all = NULL;
	size_t n_functions = 0;
	int r = 0;

	ASSERT(max_parts <= SIZES_MAX_PARTS);
	ret->n_buckets = ret->n_parts = 0;
	if (max_parts)
		r = choose_parts(q, cost, max_parts, &n_functions, ret, err);
	if (r < 0)
		return r;
	if (n_functions == 0 || q->c.rules->own || !(q->wants & QUERY_WANT_PEAK) ||
	    n_functions > TABLE_MAX_BYTES / sizeof(uint64_t) / CELLS_OF_KEY)
		return count_parts(q, cost, ret, err);
	r = shared_results_get(q->c.shared, q, SHARED_SIZES, make_table, &all, err);
	if (r >= 0)
		take_buckets(q, all->data, cost, ret);
	shared_result_release(all);
	return r;
}
