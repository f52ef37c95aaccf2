/* query/query_groups.c - sums over matching rows, by stack, thread, size and so on.
 *
 * Stacks and threads have small numbers: each thread sums up into an array of its own, and the
 * arrays are added. What goes by function, line, module or code is made from the groups by stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/alive_by_stack.h"
#include "query/estimate.h"
#include "query/query_i.h"
#include "query/shared_results.h"
#include "util/huge_pages.h"
#include "util/map.h"
#include "util/scratch.h"
#include "util/vec.h"

static void group_min_max(struct query_group *sum, const struct query_group *g)
{
	if (sum->n_allocs == 0) {
		sum->first_ns = g->first_ns;
		sum->last_ns = g->last_ns;
		sum->min_size_bytes = g->min_size_bytes;
		sum->max_size_bytes = g->max_size_bytes;
		return;
	}
	if (g->first_ns < sum->first_ns)
		sum->first_ns = g->first_ns;
	if (g->last_ns > sum->last_ns)
		sum->last_ns = g->last_ns;
	if (g->min_size_bytes < sum->min_size_bytes)
		sum->min_size_bytes = g->min_size_bytes;
	if (g->max_size_bytes > sum->max_size_bytes)
		sum->max_size_bytes = g->max_size_bytes;
}

void group_add(struct query_group *sum, const struct query_group *g)
{
	if (g->n_allocs == 0)
		return;
	group_min_max(sum, g);
	sum->n_allocs += g->n_allocs;
	sum->n_bytes += g->n_bytes;
	sum->n_leaked += g->n_leaked;
	sum->leaked_bytes += g->leaked_bytes;
	sum->n_temporary += g->n_temporary;
	sum->temporary_bytes += g->temporary_bytes;
	sum->extra_bytes += g->extra_bytes;
	sum->peak_bytes += g->peak_bytes;
	sum->peak_count += g->peak_count;
	sum->lifetime_sum_ns += g->lifetime_sum_ns;
	sum->n_culled += g->n_culled;
	sum->leaked_early_bytes += g->leaked_early_bytes;
	sum->leaked_late_bytes += g->leaked_late_bytes;
}

/* ---- from the table ---- */

/* All figures that are wanted, but those of the peak if has_peak is false. */
static bool table_knows_sums(const struct query *q, bool *has_peak)
{
	const struct plan *p = &q->plan;

	*has_peak = !q->stack_set || !(q->wants & QUERY_WANT_PEAK);
	if (!p->is_table)
		return false;
	/* A range can hold all rows and be shorter than the run: early and late are other rows. */
	if (q->span.from_ns > 0 || q->span.span_ns != store_facts(q->c.store)->duration_ns)
		return false;
	if (p->is_leaked || p->is_released)
		return !(q->wants & (QUERY_WANT_PEAK | QUERY_WANT_SPAN));
	return true;
}

static bool table_knows(const struct query *q)
{
	bool has_peak;

	return table_knows_sums(q, &has_peak) && has_peak;
}

struct query_group query_whole_site(const struct store_stack *s)
{
	return (struct query_group){
		.n_allocs = s->n_allocs,
		.n_bytes = s->n_bytes,
		.n_leaked = s->n_leaked,
		.leaked_bytes = s->leaked_bytes,
		.n_temporary = s->n_temporary,
		.temporary_bytes = s->temporary_bytes,
		.extra_bytes = s->extra_bytes,
		.peak_bytes = s->peak_bytes,
		.peak_count = s->peak_count,
		.first_ns = s->first_ns,
		.last_ns = s->last_ns,
		.min_size_bytes = s->min_size_bytes,
		.max_size_bytes = s->max_size_bytes,
		.lifetime_sum_ns = s->lifetime_sum_ns,
		.n_culled = s->n_culled,
		.leaked_early_bytes = s->leaked_early_bytes,
		.leaked_late_bytes = s->leaked_late_bytes,
	};
}

static struct query_group group_of_stack(const struct query *q, uint32_t stack)
{
	const struct store_stack *s = &q->stack[stack];
	struct query_group g = query_whole_site(s);

	g.key = stack;
	if (q->plan.is_leaked || q->plan.is_released) {
		g.peak_bytes = g.peak_count = g.first_ns = g.last_ns = 0;
		g.min_size_bytes = g.max_size_bytes = 0;
	}
	if (q->plan.is_leaked) {
		g.n_allocs = s->n_leaked;
		g.n_bytes = s->leaked_bytes;
		g.extra_bytes = s->leaked_extra_bytes;
		g.n_temporary = g.temporary_bytes = g.lifetime_sum_ns = g.n_culled = 0;
	} else if (q->plan.is_released) {
		g.n_allocs -= s->n_leaked;
		g.n_bytes -= s->leaked_bytes;
		g.extra_bytes -= s->leaked_extra_bytes;
		g.n_leaked = g.leaked_bytes = 0;
		g.leaked_early_bytes = g.leaked_late_bytes = 0;
	}
	return g;
}

/* ---- from the rows ---- */

struct group_columns group_columns(struct scanner *s)
{
	return (struct group_columns){
		.allocated_ns = scanner_column(s, STORE_ALLOC_NS),
		.life = scanner_column(s, STORE_LIFETIME_NS),
		.size = scanner_column(s, STORE_SIZE_BYTES),
		.extra = scanner_column(s, STORE_EXTRA_BYTES),
		.flags = scanner_column(s, STORE_FLAGS),
		.span = s->q->span,
	};
}

struct group_state {
	struct query_group *group; /* by key; by number in order of appearance for sizes */
	size_t n_groups, capacity;
	enum store_column column; /* of the key */
	bool is_sparse; /* keys are any numbers: sizes */
	struct map number_of; /* key -> number */
	uint32_t *small; /* key below N_SMALL -> 1 + number; 0: none yet */
	bool wants_peak;
	uint64_t peak_ns;
};

#define N_SMALL 65536u /* most sizes are below: no need to ask the map */

static struct query_group *add_group(struct group_state *st, uint64_t key, struct err *err)
{
	if (st->n_groups == QUERY_MAX_SIZES) {
		err_set(err, ERR_LIMIT, "more than %zu different sizes: narrow the filter",
			QUERY_MAX_SIZES);
		return NULL;
	}
	if (vec_reserve(&st->group, &st->capacity, st->n_groups + 1, sizeof(*st->group), err) < 0)
		return NULL;
	st->group[st->n_groups] = (struct query_group){.key = key};
	return &st->group[st->n_groups++];
}

/* The group for a key; a key that no table has (a damaged store) goes to 0. */
static struct query_group *find_group(struct group_state *st, uint64_t key, struct err *err)
{
	struct query_group *g;
	uint64_t *number;
	bool is_new;

	if (!st->is_sparse)
		return &st->group[key < st->n_groups ? key : 0];
	if (key < N_SMALL && st->small) {
		g = st->small[key] ? &st->group[st->small[key] - 1] : add_group(st, key, err);
		if (g)
			st->small[key] = (uint32_t)(g - st->group) + 1;
		return g;
	}
	if (map_add(&st->number_of, key, &number, &is_new, err) < 0)
		return NULL;
	if (!is_new)
		return &st->group[*number];
	g = add_group(st, key, err);
	if (g)
		*number = (uint64_t)(g - st->group);
	return g;
}

/* Groups by stack lie anywhere in more memory than the caches hold: they are asked for some rows ahead. */
#define PREFETCH_ROWS 16u
#define CACHE_LINE_BYTES 64u

static inline void prefetch_group(const struct group_state *st, uint64_t key)
{
	const char *g = (const char *)&st->group[key < st->n_groups ? key : 0];

	if (st->is_sparse)
		return;
	__builtin_prefetch(g, 1);
	__builtin_prefetch(g + CACHE_LINE_BYTES, 1);
	__builtin_prefetch(g + sizeof(struct query_group) - 1, 1);
}

static int group_sink(void *state, struct scanner *s, struct err *err)
{
	struct group_state *st = state;
	const uint64_t *key = scanner_column(s, st->column);
	const struct group_columns columns = group_columns(s);

	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		struct query_group *g = find_group(st, key[i], err);

		if (k + PREFETCH_ROWS < s->n_selected)
			prefetch_group(st, key[s->selected[k + PREFETCH_ROWS]]);
		if (!g)
			return err ? -(int)err->code : -ERR_MEMORY;
		group_add_row(g, &columns, i);
		if (st->wants_peak)
			group_add_peak(g, &columns, i, st->peak_ns);
	}
	return 0;
}

static int merge_groups(struct group_state *all, struct group_state *st, struct err *err)
{
	for (size_t i = 0; i < st->n_groups; i++) {
		uint64_t key = st->is_sparse ? st->group[i].key : i;
		struct query_group *g = find_group(all, key, err);

		if (!g)
			return err ? -(int)err->code : -ERR_MEMORY;
		group_add(g, &st->group[i]);
	}
	return 0;
}

int query_compare_keys(const void *a, const void *b)
{
	uint64_t x = ((const struct query_group *)a)->key, y = ((const struct query_group *)b)->key;

	return x < y ? -1 : x > y;
}

/* Keys, no empty groups, ascending: copied, because most of the capacity is unused, and a shared result keeps
 * the array for long. */
static int finish(struct group_state *st, struct query_groups *ret, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < st->n_groups; i++)
		n += st->group[i].n_allocs > 0;
	ret->group = malloc((n + 1) * sizeof(*ret->group));
	if (!ret->group)
		return err_set_memory(err, n * sizeof(*ret->group));
	for (size_t i = 0; i < st->n_groups; i++) {
		if (st->group[i].n_allocs == 0)
			continue;
		ret->group[ret->n] = st->group[i];
		if (!st->is_sparse)
			ret->group[ret->n].key = i;
		ret->n++;
	}
	if (st->is_sparse && n)
		qsort(ret->group, n, sizeof(*ret->group), query_compare_keys);
	return 0;
}

static void state_fini(struct group_state *st)
{
	if (st->is_sparse)
		free(st->group);
	else
		scratch_give(st->group);
	free(st->small);
	map_fini(&st->number_of);
}

static size_t n_keys(const struct query *q, enum query_group_by by)
{
	size_t n = by == QUERY_BY_THREAD ? q->n_threads : q->n_stacks;

	return n ? n : 1;
}

static int make_state(struct query *q, enum query_group_by by, struct group_state *st,
		      struct err *err)
{
	static const enum store_column columns[] = {
		[QUERY_BY_STACK] = STORE_STACK,
		[QUERY_BY_FREE_STACK] = STORE_FREE_STACK,
		[QUERY_BY_THREAD] = STORE_THREAD,
		[QUERY_BY_SIZE_CLASS] = STORE_SIZE_BYTES,
	};

	*st = (struct group_state){
		.column = columns[by],
		.is_sparse = by == QUERY_BY_SIZE_CLASS,
		.wants_peak = q->wants & QUERY_WANT_PEAK,
		.peak_ns = q->peak.at_ns,
	};
	if (st->is_sparse) {
		st->small = calloc(N_SMALL, sizeof(*st->small));
		return st->small ? 0 : err_set_memory(err, N_SMALL * sizeof(*st->small));
	}
	st->group = scratch_take(n_keys(q, by) * sizeof(*st->group));
	if (!st->group)
		return err_set_memory(err, n_keys(q, by) * sizeof(*st->group));
	st->n_groups = n_keys(q, by);
	return 0;
}

static int groups_by_rows(struct query *q, enum query_group_by by, struct query_groups *ret,
			  struct err *err)
{
	struct group_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct query_peak peak;
	struct scan scan;
	unsigned n = 0;
	int r = 0;

	if (q->wants & QUERY_WANT_PEAK)
		r = query_peak(q, &peak, err);
	if (r < 0)
		return r;
	scan_init(&scan, q, &q->plan);
	scan.sink = group_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       n_keys(q, by) * sizeof(struct query_group));
	for (; n < scan.n_states && r >= 0; n++) {
		r = make_state(q, by, &st[n], err);
		states[n] = &st[n];
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned i = 1; i < n && r >= 0; i++)
		r = merge_groups(&st[0], &st[i], err);
	if (r >= 0)
		r = finish(&st[0], ret, err);
	for (size_t i = 0; r >= 0 && q->estimate && i < ret->n; i++)
		estimate_scale_group(q, &ret->group[i]);
	if (r >= 0 && q->estimate)
		estimate_bound_groups(q, by == QUERY_BY_STACK, ret);
	for (unsigned i = 0; i < n; i++)
		state_fini(&st[i]);
	return r;
}

static int groups_by_table(struct query *q, struct query_groups *ret, struct err *err)
{
	struct query_group *group;
	size_t n = 0;

	group = malloc((q->n_stacks + 1) * sizeof(*group));
	if (!group)
		return err_set_memory(err, q->n_stacks * sizeof(*group));
	huge_pages_advise(group, q->n_stacks * sizeof(*group));
	for (size_t i = 0; i < q->n_stacks; i++) {
		if (q->stack_set && !set_has(q->stack_set, i))
			continue;
		group[n] = group_of_stack(q, (uint32_t)i);
		n += group[n].n_allocs > 0;
	}
	ret->group = group;
	ret->n = n;
	return 0;
}

/* The peak of the stacks that match is another moment than that of all rows, which the table has. */
static int set_peaks(struct query *q, struct query_groups *g, struct err *err)
{
	struct alive_of_stack *alive = NULL;
	struct query_peak peak;
	int r;

	if (estimate_is_near_peak(q, g))
		return 0;
	r = query_peak(q, &peak, err);
	if (r >= 0)
		r = alive_by_stack(q, peak.at_ns, &alive, err);
	for (size_t i = 0; r >= 0 && i < g->n; i++) {
		struct query_group *to = &g->group[i];

		to->peak_bytes = estimate_scale(q, alive[to->key].n_bytes);
		to->peak_count = estimate_scale(q, alive[to->key].count);
	}
	if (r >= 0 && q->estimate)
		estimate_bound_groups(q, true, g);
	scratch_give(alive);
	return r;
}

/* Groups of all rows by THREAD: makes them groups of all allocations, also of culled ones, which the
 * table of threads has counted. */
static int add_culled_threads(const struct query *q, struct query_groups *ret, struct err *err)
{
	size_t n_threads, n = 0, from = 0;
	const struct store_thread *t = store_table(q->c.store, STORE_THREADS, &n_threads);
	struct query_group *group = calloc(n_threads + 1, sizeof(*group));

	if (!group)
		return err_set_memory(err, n_threads * sizeof(*group));
	for (size_t i = 0; i < n_threads; i++) {
		struct query_group *g = &group[n];

		g->key = i;
		if (from < ret->n && ret->group[from].key == i)
			*g = ret->group[from++];
		if (t[i].n_allocs > g->n_allocs && !q->estimate)
			g->n_culled = t[i].n_allocs - g->n_allocs;
		g->n_allocs = t[i].n_allocs;
		g->n_bytes = t[i].n_bytes;
		g->n_temporary = t[i].n_temporary;
		g->temporary_bytes = t[i].temporary_bytes;
		n += g->n_allocs > 0;
		if (g->n_allocs == 0)
			*g = (struct query_group){0};
	}
	free(ret->group);
	ret->group = group;
	ret->n = n;
	return 0;
}

/* ---- shared with other queries ---- */

static void destroy_groups(void *data)
{
	query_groups_fini(data);
	free(data);
}

static int make_groups(struct query *q, unsigned kind, struct shared_result *ret, struct err *err)
{
	enum query_group_by by = (kind - SHARED_GROUPS) / 2;
	struct query_groups *g = calloc(1, sizeof(*g));
	bool has_peak = true;
	int r;

	if (!g)
		return err_set_memory(err, sizeof(*g));
	if (by == QUERY_BY_STACK && table_knows_sums(q, &has_peak))
		r = groups_by_table(q, g, err);
	else
		r = groups_by_rows(q, by, g, err);
	if (r >= 0 && !has_peak)
		r = set_peaks(q, g, err);
	if (r >= 0 && by == QUERY_BY_THREAD && query_is_everything(q) &&
	    store_facts(q->c.store)->n_culled)
		r = add_culled_threads(q, g, err);
	if (r < 0) {
		query_groups_fini(g);
		free(g);
		return r;
	}
	for (size_t i = 0; i < g->n; i++)
		group_add(&g->total, &g->group[i]);
	ret->data = g;
	ret->n_bytes = sizeof(*g) + g->n * sizeof(*g->group);
	ret->destroy = destroy_groups;
	return 0;
}

static bool is_table_of(const struct query *q, enum query_group_by by)
{
	return by == QUERY_BY_STACK && table_knows(q);
}

/* Groups are the same whether they were made with the peak for somebody else or not. */
static void forget_peaks(struct query_groups *g)
{
	g->total.peak_bytes = g->total.peak_count = 0;
	for (size_t i = 0; i < g->n; i++)
		g->group[i].peak_bytes = g->group[i].peak_count = 0;
}

/* By STACK to SIZE_CLASS. Figures from the table are made faster than they are compared. */
static int share_groups(struct query *q, enum query_group_by by, struct shared_result **ret,
			struct err *err)
{
	bool is_table = is_table_of(q, by), has_peak = q->wants & QUERY_WANT_PEAK;
	unsigned kind = SHARED_GROUPS + 2 * by;
	int r;

	/* Groups with the peak will do where nobody wants the peak, too. */
	*ret = NULL;
	r = is_table || has_peak ? 0 : shared_results_find(q->c.shared, q, kind + 1, ret, err);
	if (r < 0 || *ret)
		return r;
	kind += has_peak;
	return shared_results_get(is_table ? NULL : q->c.shared, q, kind, make_groups, ret, err);
}

int query_stack_sums(struct query *q, const struct query_groups **ret, struct err *err)
{
	int r = query_check_cancel(q, err);

	if (r == 0 && !q->sums)
		r = share_groups(q, QUERY_BY_STACK, &q->sums, err);
	if (r == 0)
		*ret = q->sums->data;
	return r;
}

void query_forget_sums(struct query *q)
{
	shared_result_release(q->sums);
	q->sums = NULL;
}

/* The caller gets groups of its own: the shared ones if no other query has them, else a copy.
 * Takes over the reference. */
static int own_groups(struct shared_result *from, struct query_groups *ret, struct err *err)
{
	struct query_groups *g = from->data;
	size_t n_bytes = (g->n + 1) * sizeof(*g->group);
	int r = 0;

	*ret = *g;
	if (atomic_load(&from->n_refs) == 1) {
		*g = (struct query_groups){0};
	} else {
		ret->group = malloc(n_bytes);
		if (ret->group)
			memcpy(ret->group, g->group, g->n * sizeof(*g->group));
		else
			r = err_set_memory(err, n_bytes);
	}
	shared_result_release(from);
	return r;
}

/* ---- by site ---- */

uint64_t query_group_cost(const struct query_group *g, enum query_cost c)
{
	switch (c) {
	case QUERY_COST_LEAKED_BYTES:
		return g->leaked_bytes;
	case QUERY_COST_LEAKED_COUNT:
		return g->n_leaked;
	case QUERY_COST_PEAK_BYTES:
		return g->peak_bytes;
	case QUERY_COST_ALLOCATIONS:
		return g->n_allocs;
	case QUERY_COST_TEMPORARY:
		return g->n_temporary;
	case QUERY_COST_EXTRA_BYTES:
		return g->extra_bytes;
	case QUERY_COST_BYTES:
		break;
	}
	return g->n_bytes;
}

uint64_t query_main_cost_of(const struct query_group *g, enum query_main_cost c)
{
	uint64_t sum[QUERY_N_MAIN_COSTS] = {0};

	query_main_add(sum, g);
	return sum[c];
}

/* The stack that stands for each group: the one that costs most, of equal ones the first. */
static int choose_stacks(struct query *q, enum query_group_by by, const struct query_groups *stacks,
			 struct query_groups *ret, struct err *err)
{
	uint64_t *most = calloc(ret->n + 1, sizeof(*most));

	ret->stack = calloc(ret->n + 1, sizeof(*ret->stack));
	if (!most || !ret->stack) {
		free(most);
		return err_set_memory(err, ret->n * sizeof(*most));
	}
	for (size_t i = 0; i < stacks->n; i++) {
		const struct query_group *s = &stacks->group[i];
		const struct query_group want = {.key = sites_key(q, by, (uint32_t)s->key)};
		const struct query_group *g =
			bsearch(&want, ret->group, ret->n, sizeof(want), query_compare_keys);
		uint64_t cost = 1 + query_group_cost(s, q->site_cost);

		if (g && cost > most[g - ret->group]) {
			most[g - ret->group] = cost;
			ret->stack[g - ret->group] = (uint32_t)s->key;
		}
	}
	free(most);
	return 0;
}

static int groups_by_site(struct query *q, enum query_group_by by, struct query_groups *ret,
			  struct err *err)
{
	struct group_state sites = {.is_sparse = true};
	const struct query_groups *stacks = NULL;
	int r = sites_need(q, by, err);

	if (r >= 0)
		r = query_stack_sums(q, &stacks, err);
	for (size_t i = 0; r >= 0 && i < stacks->n; i++) {
		const struct query_group *from = &stacks->group[i];
		struct query_group *g =
			find_group(&sites, sites_key(q, by, (uint32_t)from->key), err);

		if (g)
			group_add(g, from);
		else
			r = err ? -(int)err->code : -ERR_MEMORY;
	}
	if (r >= 0)
		r = finish(&sites, ret, err);
	if (r >= 0) {
		ret->total = stacks->total;
		r = choose_stacks(q, by, stacks, ret, err);
	}
	state_fini(&sites);
	return r;
}

int query_groups(struct query *q, enum query_group_by by, struct query_groups *ret, struct err *err)
{
	struct shared_result *shared = NULL;
	struct query_groups g = {0};
	int r = query_check_cancel(q, err);

	if (r < 0)
		return r;
	if (sites_are_by_frame(by)) {
		r = groups_by_site(q, by, &g, err);
	} else if (by == QUERY_BY_STACK && q->sums) {
		shared = q->sums;
		q->sums = NULL;
	} else {
		r = share_groups(q, by, &shared, err);
	}
	if (shared)
		r = own_groups(shared, &g, err);
	if (r >= 0 && !(q->wants & QUERY_WANT_PEAK) &&
	    !is_table_of(q, sites_are_by_frame(by) ? QUERY_BY_STACK : by))
		forget_peaks(&g);
	if (r < 0) {
		query_groups_fini(&g);
		return r;
	}
	*ret = g;
	return 0;
}

void query_groups_keep(struct query_groups *g, const struct query *found)
{
	size_t n = 0;

	g->total = (struct query_group){0};
	for (size_t i = 0; i < g->n; i++) {
		if (found->stack_set && !set_has(found->stack_set, g->group[i].key))
			continue;
		group_add(&g->total, &g->group[i]);
		g->group[n++] = g->group[i];
	}
	g->n = n;
}

void query_groups_fini(struct query_groups *g)
{
	free(g->group);
	free(g->stack);
	*g = (struct query_groups){0};
}

int query_total(struct query *q, struct query_group *ret, struct err *err)
{
	const struct query_groups *g;
	int r = query_stack_sums(q, &g, err);

	if (r < 0)
		return r;
	*ret = g->total;
	return 0;
}
