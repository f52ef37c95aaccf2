/* query/query_growth.c - see query_growth.h. */
#include "query/query_growth.h"

#include <stdlib.h>

#include "query/estimate.h"
#include "query/query_i.h"
#include "util/vec.h"

/* One thread's part. */
struct growth_state {
	struct query_growth *group; /* by value of the column */
	size_t n;
	enum store_column column;
	uint64_t from_ns, to_ns;
};

static int growth_sink(void *state, struct scanner *s, struct err *err)
{
	struct growth_state *st = state;
	const uint64_t *value = scanner_column(s, st->column);
	const uint64_t *alloc_ns = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *lifetime = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t free_ns = row_free_ns(alloc_ns[i], lifetime[i]);
		bool at_from = alloc_ns[i] <= st->from_ns && free_ns > st->from_ns;
		bool at_to = alloc_ns[i] <= st->to_ns && free_ns > st->to_ns;
		struct query_growth *g = &st->group[value[i] < st->n ? value[i] : 0];

		g->from_bytes += at_from ? size[i] : 0;
		g->from_count += at_from;
		g->to_bytes += at_to ? size[i] : 0;
		g->to_count += at_to;
	}
	return 0;
}

static void growth_add(struct query_growth *sum, const struct query_growth *g)
{
	sum->from_bytes += g->from_bytes;
	sum->from_count += g->from_count;
	sum->to_bytes += g->to_bytes;
	sum->to_count += g->to_count;
}

/* What each value of the column has: an array of *n for the caller to free. */
static int grow_by_rows(struct query *q, const struct growth_state *want, struct query_growth **ret,
			struct err *err)
{
	struct growth_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	struct plan plan;
	unsigned n = 0;
	int r = 0;

	plan_narrow(q, want->from_ns + 1, want->to_ns + 1, &plan);
	scan_init(&scan, q, &plan);
	scan.sink = growth_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       want->n * sizeof(struct query_growth));
	for (; n < scan.n_states && r >= 0; n++) {
		st[n] = *want;
		st[n].group = calloc(want->n, sizeof(*st[n].group));
		states[n] = &st[n];
		if (!st[n].group)
			r = err_set_memory(err, want->n * sizeof(*st[n].group));
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned k = 1; k < n && r >= 0; k++) {
		for (size_t i = 0; i < want->n; i++)
			growth_add(&st[0].group[i], &st[k].group[i]);
	}
	for (size_t i = 0; i < want->n && r >= 0; i++) {
		struct query_growth *g = &st[0].group[i];

		g->from_bytes = estimate_scale(q, g->from_bytes);
		g->from_count = estimate_scale(q, g->from_count);
		g->to_bytes = estimate_scale(q, g->to_bytes);
		g->to_count = estimate_scale(q, g->to_count);
	}
	for (unsigned i = r >= 0; i < n; i++)
		free(st[i].group);
	if (r >= 0)
		*ret = st[0].group;
	return r;
}

static uint64_t distance(const struct query_growth *g)
{
	return g->to_bytes > g->from_bytes ? g->to_bytes - g->from_bytes
					   : g->from_bytes - g->to_bytes;
}

/* Groups of values with the same key; values come in ascending order. */
struct joining {
	struct query_growths all;
	uint64_t *most; /* by group: what its stack changed by, + 1 */
	size_t cap_groups, cap_most;
	struct map number_of; /* key -> number */
};

static int join(struct joining *j, uint64_t key, const struct query_growth *g, uint32_t value,
		struct err *err)
{
	struct query_growth *sum;
	uint64_t *number;
	bool is_new;
	int r = map_add(&j->number_of, key, &number, &is_new, err);

	if (r >= 0 && is_new) {
		*number = j->all.n;
		r = vec_reserve(&j->all.group, &j->cap_groups, j->all.n + 1, sizeof(*sum), err);
		if (r >= 0)
			r = vec_reserve(&j->most, &j->cap_most, j->all.n + 1, sizeof(*j->most),
					err);
		if (r < 0)
			return r;
		j->all.group[j->all.n] = (struct query_growth){.key = key};
		j->most[j->all.n++] = 0;
	}
	if (r < 0)
		return r;
	sum = &j->all.group[*number];
	growth_add(sum, g);
	if (distance(g) + 1 > j->most[*number]) {
		j->most[*number] = distance(g) + 1;
		sum->stack = value;
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct query_growth *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

int query_growth(struct query *q, enum query_group_by by, uint64_t from_ns, uint64_t to_ns,
		 struct query_growths *ret, struct err *err)
{
	struct growth_state want = {.from_ns = from_ns, .to_ns = to_ns, .column = STORE_STACK};
	struct query_growth *value = NULL;
	struct joining j = {0};
	int r = query_check_cancel(q, err);

	ASSERT(by != QUERY_BY_SIZE_CLASS);
	if (by == QUERY_BY_THREAD || by == QUERY_BY_FREE_STACK)
		want.column = by == QUERY_BY_THREAD ? STORE_THREAD : STORE_FREE_STACK;
	want.n = by == QUERY_BY_THREAD ? q->n_threads : q->n_stacks;
	want.n += want.n == 0;
	if (want.to_ns == UINT64_MAX) /* the free of what was never freed: that is alive */
		want.to_ns--;
	if (r >= 0 && want.to_ns < from_ns)
		r = err_set(err, ERR_USAGE, "the second moment lies before the first");
	if (r >= 0)
		r = sites_need(q, by, err);
	if (r >= 0)
		r = grow_by_rows(q, &want, &value, err);
	for (size_t i = 0; i < want.n && r >= 0; i++) {
		if (value[i].from_count == 0 && value[i].to_count == 0)
			continue;
		r = join(&j, sites_are_by_frame(by) ? sites_key(q, by, (uint32_t)i) : i, &value[i],
			 by == QUERY_BY_THREAD ? 0 : (uint32_t)i, err);
		growth_add(&j.all.total, &value[i]);
	}
	if (r >= 0) {
		if (j.all.n)
			qsort(j.all.group, j.all.n, sizeof(*j.all.group), compare_keys);
		*ret = j.all;
		j.all.group = NULL;
	}
	free(j.all.group);
	free(j.most);
	map_fini(&j.number_of);
	free(value);
	return r;
}

void query_growths_fini(struct query_growths *g)
{
	free(g->group);
	*g = (struct query_growths){0};
}
