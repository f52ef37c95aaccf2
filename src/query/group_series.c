/* query/group_series.c - see group_series.h. */
#include "query/group_series.h"

#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/exact_peak.h"
#include "query/query_i.h"

/* A pass: which rows belong to which group, and what the threads add up. */
struct pass {
	struct query *q;
	const struct group_series *s;
	struct exact_peak_span span;
	uint64_t span_ns;
	double inverse_width;
	enum store_column column; /* whose value tells the group; not used without groups */
	uint32_t *index; /* value of the column -> group; n_groups: none of those wanted */
	uint64_t *only; /* set of the values that count; NULL: all */
	size_t n_values, n_groups;
	size_t stride; /* n_groups + 1: one more for rows of no wanted group; has_leaked: and n_groups */
	bool has_leaked; /* behind all others: what each group has leaked */
};

/* One thread's part. Changes, which may be negative: numbers that wrap around. */
struct pass_state {
	const struct pass *pass;
	uint64_t *cell; /* [bucket * stride + group] */
};

static bool is_level(enum group_series_kind k)
{
	return k == GROUP_SERIES_BYTES || k == GROUP_SERIES_COUNT || k == GROUP_SERIES_LEAKED_BYTES;
}

/* ---- rows ---- */

static inline size_t bucket_of(const struct pass *p, uint64_t at_ns)
{
	return exact_peak_bucket_of(at_ns - p->span.from_ns, p->span.width_ns, p->inverse_width);
}

static inline size_t group_of(const struct pass *p, const uint64_t *value, uint32_t i)
{
	return value && value[i] < p->n_values ? p->index[value[i]] : p->n_groups;
}

static inline bool is_in_span(const struct pass *p, uint64_t at_ns)
{
	return at_ns >= p->span.from_ns && at_ns - p->span.from_ns < p->span_ns;
}

static const uint64_t *group_column(const struct pass *p, struct scanner *s)
{
	return p->n_groups ? scanner_column(s, p->column) : NULL;
}

/* Allocations of a block that all lie in one bucket need not be looked at one by one. */
static bool is_in_one_bucket(const struct pass *p, const struct scanner *s, size_t *bucket)
{
	uint64_t first = store_block_min(s->q->c.store, STORE_ALLOC_NS, s->block);
	uint64_t last = store_block_max(s->q->c.store, STORE_ALLOC_NS, s->block);

	if (!is_in_span(p, first) || !is_in_span(p, last) ||
	    bucket_of(p, first) != bucket_of(p, last))
		return false;
	*bucket = bucket_of(p, first);
	return true;
}

/* Leaves out the rows that are freed in the bucket in which they were allocated: they change no level
 * at the end of a bucket. In most programs few others are left, and often none of a block. */
static void drop_short_lived(const struct pass *p, struct scanner *s)
{
	uint64_t last_ns;
	const uint64_t *alloc_ns, *lifetime;
	uint32_t n = 0;
	size_t bucket;

	if (!is_in_one_bucket(p, s, &bucket))
		return;
	last_ns = p->span.from_ns + (bucket + 1) * p->span.width_ns - 1;
	alloc_ns = scanner_column(s, STORE_ALLOC_NS);
	lifetime = scanner_column(s, STORE_LIFETIME_NS);
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];

		/* lifetime is one more than it was, and 0 for what was never freed */
		s->selected[n] = (uint16_t)i;
		n += lifetime[i] - 1 > last_ns - alloc_ns[i];
	}
	s->n_selected = n;
}

static void add_leaked(struct pass_state *st, uint64_t at_ns, size_t group, uint64_t weight)
{
	const struct pass *p = st->pass;
	size_t bucket = at_ns < p->span.from_ns ? 0 : bucket_of(p, at_ns);

	if (group < p->n_groups)
		st->cell[bucket * p->stride + p->n_groups + 1 + group] += weight;
}

/* What is alive: up with the allocation, down with the free. What is older than the span belongs to
 * its first bucket. */
static int level_sink(void *state, struct scanner *s, struct err *err)
{
	struct pass_state *st = state;
	const struct pass *p = st->pass;
	const uint64_t *value, *alloc_ns, *lifetime, *size;
	bool is_count = p->s->kind == GROUP_SERIES_COUNT;
	uint64_t from = p->span.from_ns, end = from + p->span_ns;

	(void)err;
	drop_short_lived(p, s);
	if (s->n_selected == 0)
		return 0;
	value = group_column(p, s);
	alloc_ns = scanner_column(s, STORE_ALLOC_NS);
	lifetime = scanner_column(s, STORE_LIFETIME_NS);
	size = scanner_column(s, STORE_SIZE_BYTES);
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t free_ns = row_free_ns(alloc_ns[i], lifetime[i]),
			 weight = is_count ? 1 : size[i];
		size_t g = group_of(p, value, i);

		if (alloc_ns[i] >= end || free_ns < from)
			continue;
		st->cell[(alloc_ns[i] < from ? 0 : bucket_of(p, alloc_ns[i])) * p->stride + g] +=
			weight;
		if (is_in_span(p, free_ns))
			st->cell[bucket_of(p, free_ns) * p->stride + g] -= weight;
		if (p->has_leaked && lifetime[i] == 0)
			add_leaked(st, alloc_ns[i], g, weight);
	}
	return 0;
}

static int count_sink(void *state, struct scanner *s, struct err *err)
{
	struct pass_state *st = state;
	const struct pass *p = st->pass;
	bool is_temporary = p->s->kind == GROUP_SERIES_TEMPORARY, is_one;
	const uint64_t *value = group_column(p, s), *alloc_ns = NULL, *flags = NULL;
	size_t bucket = 0;

	(void)err;
	is_one = is_in_one_bucket(p, s, &bucket);
	if (!is_one)
		alloc_ns = scanner_column(s, STORE_ALLOC_NS);
	if (is_temporary)
		flags = scanner_column(s, STORE_FLAGS);
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];

		if (!is_one) {
			if (!is_in_span(p, alloc_ns[i]))
				continue;
			bucket = bucket_of(p, alloc_ns[i]);
		}
		st->cell[bucket * p->stride + group_of(p, value, i)] +=
			!flags || flags[i] & STORE_FLAG_TEMPORARY ? 1 : 0;
	}
	return 0;
}

/* ---- a pass ---- */

static int pass_init(struct pass *p, struct query *q, const struct group_series *s, struct err *err)
{
	ASSERT(s->by != QUERY_BY_SIZE_CLASS);
	*p = (struct pass){.q = q, .s = s, .stride = 1};
	p->span = (struct exact_peak_span){
		.from_ns = s->from_ns,
		.width_ns = query_timeline_width(s->from_ns, s->to_ns, s->n_buckets),
		.n_buckets = s->n_buckets,
	};
	p->span_ns = p->span.width_ns * s->n_buckets;
	p->inverse_width = 1.0 / (double)p->span.width_ns;
	return exact_peak_check(&p->span, err);
}

static void pass_fini(struct pass *p)
{
	free(p->index);
	free(p->only);
	p->index = NULL;
	p->only = NULL;
}

static int index_by_frame(struct pass *p, const uint64_t *key, struct err *err)
{
	struct map number_of = {0};
	uint64_t *number;
	int r = 0;

	for (size_t i = 0; i < p->n_groups && r >= 0; i++) {
		r = map_add(&number_of, key[i], &number, NULL, err);
		if (r >= 0)
			*number = i;
	}
	for (size_t i = 0; i < p->n_values && r >= 0; i++) {
		number = map_find(&number_of, sites_key(p->q, p->s->by, (uint32_t)i));
		p->index[i] = (uint32_t)(number ? *number : p->n_groups);
	}
	map_fini(&number_of);
	return r;
}

/* Fills p->index for the groups that are wanted. */
static int pass_choose(struct pass *p, const uint64_t *key, size_t n_keys, struct err *err)
{
	enum query_group_by by = p->s->by;

	pass_fini(p);
	p->n_groups = n_keys;
	p->stride = n_keys + 1;
	p->column = by == QUERY_BY_THREAD       ? STORE_THREAD
		    : by == QUERY_BY_FREE_STACK ? STORE_FREE_STACK
						: STORE_STACK;
	p->n_values = by == QUERY_BY_THREAD ? p->q->n_threads : p->q->n_stacks;
	p->index = malloc((p->n_values + 1) * sizeof(*p->index));
	if (!p->index)
		return err_set_memory(err, p->n_values * sizeof(*p->index));
	if (sites_are_by_frame(by))
		return index_by_frame(p, key, err);
	for (size_t i = 0; i < p->n_values; i++)
		p->index[i] = (uint32_t)n_keys;
	for (size_t i = 0; i < n_keys; i++) {
		if (key[i] < p->n_values)
			p->index[key[i]] = (uint32_t)i;
	}
	return 0;
}

/* Nobody asks for the rows of other groups. */
static int pass_drop_others(struct pass *p, struct err *err)
{
	p->only = set_create(p->n_values);
	if (!p->only)
		return err_set_memory(err, p->n_values / 8);
	for (size_t i = 0; i < p->n_values; i++) {
		if (p->index[i] < p->n_groups)
			set_add(p->only, i);
	}
	return 0;
}

/* Rows that can not matter are left out. */
static void pass_plan(const struct pass *p, struct plan *ret)
{
	uint64_t from = p->span.from_ns, row;

	plan_narrow(p->q, is_level(p->s->kind) ? from : 0, from + p->span_ns, ret);
	if (p->only) {
		ASSERT(ret->n_steps < PLAN_MAX_STEPS);
		ret->step[ret->n_steps++] = (struct plan_step){.kind = PLAN_SET,
							       .column = p->column,
							       .set = p->only,
							       .n_set = p->n_values};
	}
	if (p->s->kind == GROUP_SERIES_LEAKED_BYTES) {
		ASSERT(ret->n_steps < PLAN_MAX_STEPS);
		ret->step[ret->n_steps++] = (struct plan_step){
			.kind = PLAN_DEATH, .min = UINT64_MAX, .max = UINT64_MAX};
	}
	if (is_level(p->s->kind))
		return;
	row = plan_first_row(p->q->c.store, from);
	if (row > ret->first_row)
		ret->first_row = row < ret->end_row ? row : ret->end_row;
}

/* Sums of the threads, and over buckets; then by group: ret[group * n_buckets + bucket], the last group
 * being that of all other rows. */
static void pass_finish(const struct pass *p, struct pass_state *st, unsigned n, uint64_t *ret)
{
	size_t n_buckets = p->span.n_buckets, n_cells = n_buckets * p->stride;

	for (unsigned k = 1; k < n; k++) {
		for (size_t i = 0; i < n_cells; i++)
			st[0].cell[i] += st[k].cell[i];
	}
	for (size_t i = p->stride; i < n_cells && is_level(p->s->kind); i++)
		st[0].cell[i] += st[0].cell[i - p->stride];
	for (size_t b = 0; b < n_buckets; b++) {
		for (size_t g = 0; g < p->stride; g++)
			ret[g * n_buckets + b] = st[0].cell[b * p->stride + g];
	}
	estimate_scale_all(p->q, ret, n_cells);
}

static int pass_run(struct pass *p, uint64_t *ret, struct err *err)
{
	size_t n_cells = p->span.n_buckets * p->stride;
	struct pass_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	struct plan plan;
	unsigned n = 0;
	int r = query_check_cancel(p->q, err);

	pass_plan(p, &plan);
	scan_init(&scan, p->q, &plan);
	scan.sink = is_level(p->s->kind) ? level_sink : count_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(p->q, scan.end_block - scan.first_block,
				       n_cells * sizeof(*st->cell));
	for (; n < scan.n_states && r >= 0; n++) {
		st[n] = (struct pass_state){p, calloc(n_cells, sizeof(*st->cell))};
		states[n] = &st[n];
		if (!st[n].cell)
			r = err_set_memory(err, n_cells * sizeof(*st->cell));
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	if (r >= 0)
		pass_finish(p, st, n, ret);
	for (unsigned i = 0; i < n; i++)
		free(st[i].cell);
	return r;
}

int group_series_total(struct query *q, const struct group_series *s, uint64_t *ret,
		       struct err *err)
{
	struct pass p;
	int r = pass_init(&p, q, s, err);

	return r < 0 ? r : pass_run(&p, ret, err);
}

/* Room for the values of n groups and of the rest. NULL: no memory, or too many. */
static uint64_t *make_values(const struct group_series *s, size_t n, struct err *err)
{
	uint64_t *v;

	if (n >= GROUP_SERIES_CELLS / s->n_buckets) {
		err_set(err, ERR_LIMIT,
			"%zu groups in %zu buckets: at most %zu values are possible", n,
			s->n_buckets, GROUP_SERIES_CELLS);
		return NULL;
	}
	v = malloc((n + 1) * s->n_buckets * sizeof(*v));
	if (!v)
		err_set_memory(err, (n + 1) * s->n_buckets * sizeof(*v));
	return v;
}

/* The values of some groups; finishes the pass. */
static int series_of(struct pass *p, const uint64_t *key, size_t n_keys, uint64_t *ret,
		     struct err *err)
{
	size_t n_buckets = p->s->n_buckets, n_values = n_keys * n_buckets;
	uint64_t *value = NULL;
	int r = sites_need(p->q, p->s->by, err);

	if (r >= 0)
		r = pass_choose(p, key, n_keys, err);
	if (r >= 0)
		r = pass_drop_others(p, err);
	if (r >= 0) {
		p->stride += p->has_leaked ? n_keys : 0;
		value = make_values(p->s, p->stride - 1, err);
		r = value ? pass_run(p, value, err) : err ? -(int)err->code : -ERR_MEMORY;
	}
	if (r >= 0)
		memcpy(ret, value, n_values * sizeof(*ret));
	if (r >= 0 && p->has_leaked)
		memcpy(ret + n_values, value + n_values + n_buckets, n_values * sizeof(*ret));
	free(value);
	pass_fini(p);
	return r;
}

int group_series_of(struct query *q, const struct group_series *s, const uint64_t *key,
		    size_t n_keys, uint64_t *ret, struct err *err)
{
	struct pass p;
	int r = pass_init(&p, q, s, err);

	return r < 0 ? r : series_of(&p, key, n_keys, ret, err);
}

int group_series_with_leaked(struct query *q, const struct group_series *s, const uint64_t *key,
			     size_t n_keys, uint64_t *ret, struct err *err)
{
	struct pass p;
	int r = pass_init(&p, q, s, err);

	ASSERT(s->kind == GROUP_SERIES_BYTES);
	p.has_leaked = true;
	return r < 0 ? r : series_of(&p, key, n_keys, ret, err);
}

/* ---- the greatest ones ---- */

static enum query_cost cost_of_kind(enum group_series_kind k)
{
	switch (k) {
	case GROUP_SERIES_COUNT:
	case GROUP_SERIES_ALLOCATIONS:
		return QUERY_COST_ALLOCATIONS;
	case GROUP_SERIES_TEMPORARY:
		return QUERY_COST_TEMPORARY;
	case GROUP_SERIES_LEAKED_BYTES:
		return QUERY_COST_LEAKED_BYTES;
	case GROUP_SERIES_BYTES:
		break;
	}
	return QUERY_COST_BYTES;
}

/* A group that may be among the greatest, with what none of its values can exceed. */
struct contender {
	uint64_t most;
	uint64_t key;
	uint32_t stack;
};

static int compare_contenders(const void *a, const void *b)
{
	const struct contender *x = a, *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

struct contest {
	struct pass pass;
	struct contender *contender; /* those with most > 0, greatest first */
	size_t n_contenders;
	size_t n_wanted;
	struct contender *best; /* n_wanted + 1; most: the greatest value; in order */
	uint64_t **value; /* of the best, n_buckets each */
	size_t n_best;
	uint64_t *total; /* of all rows: known after the first pass */
};

/* What a call site had alive at most is in the store: a closer bound than all that it allocated. */
static int bound_by_stacks(const struct query *q, enum query_group_by by, struct query_groups *g,
			   struct err *err)
{
	uint64_t *most = calloc(g->n + 1, sizeof(*most));

	if (!most)
		return err_set_memory(err, g->n * sizeof(*most));
	for (size_t i = 0; i < q->n_stacks && g->n > 0; i++) {
		const struct query_group want = {
			.key = by == QUERY_BY_STACK ? i : sites_key(q, by, (uint32_t)i)};
		const struct query_group *at =
			bsearch(&want, g->group, g->n, sizeof(want), query_compare_keys);

		if (at)
			most[at - g->group] += q->stack[i].max_bytes;
	}
	for (size_t i = 0; i < g->n; i++) {
		if (most[i] < g->group[i].n_bytes)
			g->group[i].n_bytes = most[i];
	}
	free(most);
	return 0;
}

/* All groups; a group's values are at most its cost. */
static int find_contenders(struct contest *c, struct err *err)
{
	struct query *q = c->pass.q;
	enum query_cost cost = cost_of_kind(c->pass.s->kind), was_cost = q->site_cost;
	unsigned was_wanted = q->wants;
	struct query_groups g = {0};
	int r;

	query_want(q, 0);
	query_represent_by(q, cost);
	r = query_groups(q, c->pass.s->by, &g, err);
	query_want(q, was_wanted);
	query_represent_by(q, was_cost);
	if (r >= 0 && c->pass.s->kind == GROUP_SERIES_BYTES &&
	    (c->pass.s->by == QUERY_BY_STACK || sites_are_by_frame(c->pass.s->by)))
		r = bound_by_stacks(q, c->pass.s->by, &g, err);
	if (r < 0)
		goto out;
	c->contender = malloc((g.n + 1) * sizeof(*c->contender));
	if (!c->contender)
		r = err_set_memory(err, g.n * sizeof(*c->contender));
	for (size_t i = 0; i < g.n && r >= 0; i++) {
		struct contender *x = &c->contender[c->n_contenders];

		*x = (struct contender){query_group_cost(&g.group[i], cost), g.group[i].key,
					g.stack ? g.stack[i] : 0};
		c->n_contenders += x->most > 0;
	}
	if (c->n_contenders)
		qsort(c->contender, c->n_contenders, sizeof(*c->contender), compare_contenders);
out:
	query_groups_fini(&g);
	return r;
}

/* Puts a group where it belongs among the best, if it does. */
static int judge(struct contest *c, const struct contender *x, const uint64_t *value,
		 struct err *err)
{
	size_t n_buckets = c->pass.span.n_buckets, at = c->n_best;
	struct contender found = {.key = x->key, .stack = x->stack};
	uint64_t *kept;

	for (size_t b = 0; b < n_buckets; b++)
		found.most = value[b] > found.most ? value[b] : found.most;
	while (at > 0 && compare_contenders(&found, &c->best[at - 1]) < 0)
		at--;
	if (found.most == 0 || at == c->n_wanted)
		return 0;
	kept = c->n_best < c->n_wanted ? malloc(n_buckets * sizeof(*kept)) : c->value[--c->n_best];
	if (!kept)
		return err_set_memory(err, n_buckets * sizeof(*kept));
	memcpy(kept, value, n_buckets * sizeof(*kept));
	memmove(&c->best[at + 1], &c->best[at], (c->n_best - at) * sizeof(*c->best));
	memmove(&c->value[at + 1], &c->value[at], (c->n_best - at) * sizeof(*c->value));
	c->best[at] = found;
	c->value[at] = kept;
	c->n_best++;
	return 0;
}

static void add_total(struct contest *c, const uint64_t *value, size_t n_groups)
{
	size_t n_buckets = c->pass.span.n_buckets;

	for (size_t g = 0; g <= n_groups; g++) {
		for (size_t b = 0; b < n_buckets; b++)
			c->total[b] += value[g * n_buckets + b];
	}
}

/* A pass over as many contenders as fit. */
static int run_heat(struct contest *c, size_t first, size_t n, struct err *err)
{
	size_t n_buckets = c->pass.span.n_buckets;
	uint64_t *value = make_values(c->pass.s, n, err), *key = malloc((n + 1) * sizeof(*key));
	int r = 0;

	if (!value)
		r = err ? -(int)err->code : -ERR_MEMORY;
	else if (!key)
		r = err_set_memory(err, n * sizeof(*key));
	for (size_t i = 0; i < n && r >= 0; i++)
		key[i] = c->contender[first + i].key;
	if (r >= 0)
		r = pass_choose(&c->pass, key, n, err);
	if (r >= 0)
		r = pass_run(&c->pass, value, err);
	if (r >= 0 && first == 0)
		add_total(c, value, n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = judge(c, &c->contender[first + i], &value[i * n_buckets], err);
	free(value);
	free(key);
	return r;
}

static int run_contest(struct contest *c, struct err *err)
{
	size_t at_once = GROUP_SERIES_CELLS / c->pass.span.n_buckets - 1, first = 0;
	int r = 0;

	do {
		size_t n = c->n_contenders - first;

		if (c->n_wanted == 0)
			n = 0; /* only the total */
		if (n > at_once)
			n = at_once;
		r = run_heat(c, first, n, err);
		first += n;
		if (c->n_wanted == 0 || (first < c->n_contenders && c->n_best == c->n_wanted &&
					 c->contender[first].most < c->best[c->n_best - 1].most))
			break;
	} while (r >= 0 && first < c->n_contenders);
	return r;
}

/* The best go to ret, with what is left. */
static int take_best(struct contest *c, struct group_series_top *ret, struct err *err)
{
	size_t n_buckets = c->pass.span.n_buckets;

	ret->group = calloc(c->n_best + 1, sizeof(*ret->group));
	if (!ret->group)
		return err_set_memory(err, c->n_best * sizeof(*ret->group));
	for (size_t i = 0; i < c->n_best; i++) {
		ret->group[i] =
			(struct group_series_group){c->best[i].key, c->best[i].stack, c->value[i]};
		for (size_t b = 0; b < n_buckets; b++)
			c->total[b] -= c->value[i][b];
	}
	ret->n = c->n_best;
	ret->other = c->total;
	c->n_best = 0;
	c->total = NULL;
	return 0;
}

int group_series_top(struct query *q, const struct group_series *s, size_t n,
		     struct group_series_top *ret, struct err *err)
{
	struct contest c = {.n_wanted = n};
	struct group_series_top top = {0};
	int r = pass_init(&c.pass, q, s, err);

	if (r >= 0)
		r = find_contenders(&c, err);
	if (r < 0)
		goto out;
	c.n_wanted = n < c.n_contenders ? n : c.n_contenders;
	c.best = calloc(c.n_wanted + 1, sizeof(*c.best));
	c.value = calloc(c.n_wanted + 1, sizeof(*c.value));
	c.total = calloc(s->n_buckets, sizeof(*c.total));
	if (!c.best || !c.value || !c.total) {
		r = err_set_memory(err, (c.n_wanted + 1) * sizeof(*c.best));
		goto out;
	}
	r = run_contest(&c, err);
	if (r >= 0)
		r = take_best(&c, &top, err);
	if (r >= 0)
		*ret = top;
out:
	for (size_t i = 0; i < c.n_best; i++)
		free(c.value[i]);
	free(c.value);
	free(c.best);
	free(c.total);
	free(c.contender);
	pass_fini(&c.pass);
	return r;
}

void group_series_top_fini(struct group_series_top *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->group[i].value);
	free(t->group);
	free(t->other);
	*t = (struct group_series_top){0};
}
