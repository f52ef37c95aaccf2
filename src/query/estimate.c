/* query/estimate.c - see estimate.h. */
#include "query/estimate.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/hash.h"

/* The blocks that minima and maxima do not rule out: a set, and their number. */
static uint64_t find_matching(struct scanner *s, const struct scan *scan, uint64_t *set)
{
	uint64_t n = 0;

	for (uint64_t block = scan->first_block; block < scan->end_block; block++) {
		if (scanner_can_match(s, block)) {
			set_add(set, block);
			n++;
		}
	}
	return n;
}

/* Keeps one block of each of n_read parts of the set. Which one is random, so that a program that
 * repeats itself does not show the same phase in every part. */
static void thin_out(struct estimate *e, const struct scan *scan)
{
	uint64_t at = 0, part = 0, keep = 0;

	for (uint64_t block = scan->first_block; block < scan->end_block; block++) {
		uint64_t first, end;

		if (!set_has(e->blocks, block))
			continue;
		first = part * e->n_matching / e->n_read;
		end = (part + 1) * e->n_matching / e->n_read;
		if (at == first)
			keep = first + hash_pair64(part, e->n_matching) % (end - first);
		if (at != keep)
			set_remove(e->blocks, block);
		if (++at == end)
			part++;
	}
}

int estimate_create(struct query *q, struct err *err)
{
	struct estimate *e;
	struct scanner *s;
	struct scan scan;

	scan_init(&scan, q, &q->plan);
	if (q->c.sample_blocks == 0 || scan.end_block - scan.first_block <= q->c.sample_blocks)
		return 0;
	e = calloc(1, sizeof(*e));
	s = malloc(sizeof(*s));
	if (e)
		e->blocks = set_create(store_n_blocks(q->c.store));
	if (!e || !s || !e->blocks) {
		estimate_destroy(e);
		free(s);
		return err_set_memory(err, sizeof(*s));
	}
	s->q = q;
	s->plan = &q->plan;
	e->n_matching = find_matching(s, &scan, e->blocks);
	e->n_read = q->c.sample_blocks;
	free(s);
	if (e->n_matching <= e->n_read) {
		estimate_destroy(e);
		return 0;
	}
	thin_out(e, &scan);
	q->estimate = e;
	return 0;
}

void estimate_destroy(struct estimate *e)
{
	if (e)
		free(e->blocks);
	free(e);
}

uint64_t estimate_scale(const struct query *q, uint64_t sum)
{
	const struct estimate *e = q->estimate;

	if (!e)
		return sum;
	return (uint64_t)((double)sum * ((double)e->n_matching / (double)e->n_read) + 0.5);
}

void estimate_scale_all(const struct query *q, uint64_t *sum, size_t n)
{
	for (size_t i = 0; i < n && q->estimate; i++)
		sum[i] = estimate_scale(q, sum[i]);
}

void estimate_scale_group(const struct query *q, struct query_group *g)
{
	if (!q->estimate)
		return;
	g->n_allocs = estimate_scale(q, g->n_allocs);
	g->n_bytes = estimate_scale(q, g->n_bytes);
	g->n_leaked = estimate_scale(q, g->n_leaked);
	g->leaked_bytes = estimate_scale(q, g->leaked_bytes);
	g->n_temporary = estimate_scale(q, g->n_temporary);
	g->temporary_bytes = estimate_scale(q, g->temporary_bytes);
	g->extra_bytes = estimate_scale(q, g->extra_bytes);
	g->peak_bytes = estimate_scale(q, g->peak_bytes);
	g->peak_count = estimate_scale(q, g->peak_count);
	g->lifetime_sum_ns = estimate_scale(q, g->lifetime_sum_ns);
	g->leaked_early_bytes = estimate_scale(q, g->leaked_early_bytes);
	g->leaked_late_bytes = estimate_scale(q, g->leaked_late_bytes);
}

struct estimate_bound estimate_bound(const struct query *q, uint64_t from_ns, uint64_t end_ns)
{
	uint64_t unit_ns = store_facts(q->c.store)->bucket_ns;
	struct estimate_bound ret = {0};
	size_t n;
	const struct store_bucket *b = store_table(q->c.store, STORE_BUCKETS, &n);

	if (n == 0 || unit_ns == 0)
		return (struct estimate_bound){UINT64_MAX, UINT64_MAX};
	for (uint64_t i = from_ns / unit_ns; i < n && i * unit_ns < end_ns; i++) {
		ret.n_bytes = b[i].max_bytes > ret.n_bytes ? b[i].max_bytes : ret.n_bytes;
		ret.count = b[i].max_count > ret.count ? b[i].max_count : ret.count;
	}
	if (from_ns / unit_ns >= n) { /* after the end nothing changes */
		ret.n_bytes = b[n - 1].last_bytes;
		ret.count = b[n - 1].last_count;
	}
	return ret;
}

static void keep_below(uint64_t *value, uint64_t most)
{
	*value = *value < most ? *value : most;
}

static void bound_by_site(struct query_group *g, const struct store_stack *s)
{
	keep_below(&g->n_allocs, s->n_allocs);
	keep_below(&g->n_bytes, s->n_bytes);
	keep_below(&g->n_leaked, s->n_leaked);
	keep_below(&g->leaked_bytes, s->leaked_bytes);
	keep_below(&g->n_temporary, s->n_temporary);
	keep_below(&g->temporary_bytes, s->temporary_bytes);
	keep_below(&g->extra_bytes, s->extra_bytes);
	keep_below(&g->peak_bytes, s->max_bytes);
	keep_below(&g->lifetime_sum_ns, s->lifetime_sum_ns);
}

/* Makes the values of all groups smaller by one factor, if their sum is more than `most`. */
static void bound_sum(struct query_groups *g, size_t offset, uint64_t most)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->n; i++)
		sum += *(uint64_t *)((char *)&g->group[i] + offset);
	for (size_t i = 0; i < g->n && sum > most; i++) {
		uint64_t *value = (uint64_t *)((char *)&g->group[i] + offset);

		*value = (uint64_t)((double)*value * ((double)most / (double)sum));
	}
}

void estimate_bound_groups(const struct query *q, bool is_by_stack, struct query_groups *g)
{
	struct estimate_bound all = estimate_bound(q, 0, UINT64_MAX);

	for (size_t i = 0; i < g->n && is_by_stack; i++) {
		if (g->group[i].key < q->n_stacks)
			bound_by_site(&g->group[i], &q->stack[g->group[i].key]);
	}
	bound_sum(g, offsetof(struct query_group, peak_bytes), all.n_bytes);
	bound_sum(g, offsetof(struct query_group, peak_count), all.count);
}

bool estimate_is_near_peak(struct query *q, const struct query_groups *g)
{
	uint64_t sum = 0, most = 0;

	if (!q->estimate)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		const struct store_stack *s = &q->stack[g->group[i].key];

		sum += s->peak_bytes;
		most = s->max_bytes > most ? s->max_bytes : most;
	}
	if (sum < most / 2)
		return false;
	atomic_store(&q->estimate->is_of_table, true);
	return true;
}

void query_used_others(struct query *q)
{
	if (q->estimate)
		atomic_store(&q->estimate->was_used, true);
}

double query_read_share(const struct query *q)
{
	const struct estimate *e = q->estimate;

	if (e && atomic_load(&e->was_used))
		return (double)e->n_read / (double)e->n_matching;
	return e && atomic_load(&e->is_of_table) ? 0 : 1;
}
