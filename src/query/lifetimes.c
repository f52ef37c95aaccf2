/* query/lifetimes.c - see lifetimes.h.
 *
 * The median is found by counting, not by sorting. The first pass counts lifetimes in fine classes, 1024
 * of equal width between two powers of two, so the class of the median is known. Each pass after it
 * cuts that class into N_STEPS steps of equal width and counts again what lies in it.
 */
#include "query/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/query_i.h"
#include "util/log_class.h"

#define FINE_BITS 10u /* of the digits behind the first one that tell classes apart */
#define N_FINE LOG_CLASSES(FINE_BITS)
#define N_STEPS 65536u

/* ---- buckets ---- */

/* Upper ends, ascending; the last one is all that fits. */
struct bounds {
	uint64_t max_ns[LIFETIMES_MAX_BUCKETS];
	unsigned n;
	uint8_t first
		[65]; /* by the number of binary digits: no bucket before it can hold the value */
};

static void make_bounds(struct bounds *b)
{
	static const uint64_t factor[] = {1, 2, 5};
	uint64_t power = 1;

	b->n = 0;
	for (unsigned k = 0; b->n + 1 < LIFETIMES_MAX_BUCKETS; k++) {
		uint64_t max_ns;

		if (k && k % 3 == 0 && __builtin_mul_overflow(power, 10u, &power))
			break;
		if (__builtin_mul_overflow(power, factor[k % 3], &max_ns))
			break;
		b->max_ns[b->n++] = max_ns;
	}
	b->max_ns[b->n++] = UINT64_MAX;
	for (unsigned digits = 0, i = 0; digits <= 64; digits++) {
		while (digits && b->max_ns[i] < 1ull << (digits - 1))
			i++;
		b->first[digits] = (uint8_t)i;
	}
}

static inline unsigned n_digits(uint64_t value)
{
	return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

static inline unsigned bucket_of(const struct bounds *b, uint64_t ns)
{
	unsigned i = b->first[n_digits(ns)];

	while (ns > b->max_ns[i])
		i++;
	return i;
}

/* ---- one pass ---- */

struct lifetimes_state {
	const struct bounds *bounds;
	uint64_t count[LIFETIMES_MAX_BUCKETS];
	uint64_t n_bytes[LIFETIMES_MAX_BUCKETS];
	uint64_t never_count, never_bytes;
	uint64_t fine[N_FINE];
};

static int lifetimes_sink(void *state, struct scanner *s, struct err *err)
{
	struct lifetimes_state *st = state;
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		unsigned bucket;

		if (!store_is_released(life[i])) {
			st->never_count++;
			st->never_bytes += size[i];
			continue;
		}
		bucket = bucket_of(st->bounds, life[i] - 1);
		st->count[bucket]++;
		st->n_bytes[bucket] += size[i];
		st->fine[log_class(life[i] - 1, FINE_BITS)]++;
	}
	return 0;
}

static void add_state(struct lifetimes_state *sum, const struct lifetimes_state *st)
{
	for (unsigned i = 0; i < LIFETIMES_MAX_BUCKETS; i++) {
		sum->count[i] += st->count[i];
		sum->n_bytes[i] += st->n_bytes[i];
	}
	sum->never_count += st->never_count;
	sum->never_bytes += st->never_bytes;
	for (size_t i = 0; i < N_FINE; i++)
		sum->fine[i] += st->fine[i];
}

/* ---- the median ---- */

/* What is looked for: the lifetime with `rank` shorter ones among those in [min, min + width]. */
struct median {
	uint64_t min_ns, width_ns;
	uint64_t rank;
};

/* Finds the class in which the rank lies, and leaves the rank within that class. */
static size_t find_class(const uint64_t *count, size_t n, uint64_t *rank)
{
	size_t i = 0;

	while (i + 1 < n && *rank >= count[i])
		*rank -= count[i++];
	return i;
}

struct median_state {
	uint64_t min_ns, width_ns, step_ns;
	uint64_t count[N_STEPS];
};

static int median_sink(void *state, struct scanner *s, struct err *err)
{
	struct median_state *st = state;
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint64_t value = life[s->selected[k]];
		uint64_t distance = value - 1 - st->min_ns;

		if (value && distance <= st->width_ns)
			st->count[distance / st->step_ns]++;
	}
	return 0;
}

/* Narrows the range to one of N_STEPS parts of it. */
static int narrow(struct query *q, const struct plan *plan, struct median *m, struct err *err)
{
	uint64_t step_ns = m->width_ns / N_STEPS + 1, left_ns;
	struct median_state *st = NULL;
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	size_t step;
	int r;

	scan_init(&scan, q, plan);
	scan.sink = median_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, sizeof(*st));
	st = calloc(scan.n_states, sizeof(*st));
	if (!st)
		return err_set_memory(err, scan.n_states * sizeof(*st));
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i].min_ns = m->min_ns;
		st[i].width_ns = m->width_ns;
		st[i].step_ns = step_ns;
		states[i] = &st[i];
	}
	r = scan_run(&scan, err);
	for (unsigned i = 1; i < scan.n_states && r >= 0; i++) {
		for (size_t k = 0; k < N_STEPS; k++)
			st[0].count[k] += st[i].count[k];
	}
	if (r >= 0) {
		step = find_class(st[0].count, N_STEPS, &m->rank);
		left_ns = m->width_ns - step * step_ns;
		m->min_ns += step * step_ns;
		m->width_ns = left_ns < step_ns - 1 ? left_ns : step_ns - 1;
	}
	free(st);
	return r;
}

static int find_median(struct query *q, const struct lifetimes_state *st, struct lifetimes *ret,
		       struct err *err)
{
	struct median m = {.rank = (ret->freed_count - 1) / 2};
	size_t fine = find_class(st->fine, N_FINE, &m.rank);
	int r = 0;

	log_class_range(fine, FINE_BITS, &m.min_ns, &m.width_ns);
	while (r >= 0 && m.width_ns) {
		struct plan plan = q->plan;

		/* The column holds 1 + the lifetime: blocks without any in the range are not read. */
		plan.step[plan.n_steps++] = (struct plan_step){
			.kind = PLAN_RANGE,
			.column = STORE_LIFETIME_NS,
			.min = m.min_ns + 1,
			.max = m.min_ns + m.width_ns == UINT64_MAX ? UINT64_MAX
								   : m.min_ns + m.width_ns + 1};
		r = narrow(q, &plan, &m, err);
	}
	ret->median_ns = m.min_ns;
	return r;
}

/* ---- all of it ---- */

static void take_buckets(const struct lifetimes_state *st, struct lifetimes *ret)
{
	const struct bounds *b = st->bounds;
	unsigned first = 0, end = b->n;

	while (first < end && st->count[first] == 0)
		first++;
	while (end > first && st->count[end - 1] == 0)
		end--;
	for (unsigned i = first; i < end; i++) {
		ret->bucket[ret->n_buckets++] = (struct lifetimes_bucket){
			.min_ns = i ? b->max_ns[i - 1] + 1 : 0,
			.max_ns = b->max_ns[i],
			.count = st->count[i],
			.n_bytes = st->n_bytes[i],
		};
		ret->freed_count += st->count[i];
		ret->freed_bytes += st->n_bytes[i];
	}
	ret->never_count = st->never_count;
	ret->never_bytes = st->never_bytes;
}

static void scale(const struct query *q, struct lifetimes *l)
{
	for (unsigned i = 0; i < l->n_buckets; i++) {
		l->bucket[i].count = estimate_scale(q, l->bucket[i].count);
		l->bucket[i].n_bytes = estimate_scale(q, l->bucket[i].n_bytes);
	}
	l->freed_count = estimate_scale(q, l->freed_count);
	l->freed_bytes = estimate_scale(q, l->freed_bytes);
	l->never_count = estimate_scale(q, l->never_count);
	l->never_bytes = estimate_scale(q, l->never_bytes);
}

int lifetimes_count(struct query *q, struct lifetimes *ret, struct err *err)
{
	struct lifetimes result = {0};
	struct lifetimes_state *st;
	void *states[SCAN_MAX_THREADS];
	struct bounds bounds;
	struct scan scan;
	int r;

	make_bounds(&bounds);
	scan_init(&scan, q, &q->plan);
	scan.sink = lifetimes_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, sizeof(*st));
	st = calloc(scan.n_states, sizeof(*st));
	if (!st)
		return err_set_memory(err, scan.n_states * sizeof(*st));
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i].bounds = &bounds;
		states[i] = &st[i];
	}
	r = scan_run(&scan, err);
	for (unsigned i = 1; i < scan.n_states && r >= 0; i++)
		add_state(&st[0], &st[i]);
	if (r >= 0) {
		take_buckets(&st[0], &result);
		if (result.freed_count)
			r = find_median(q, &st[0], &result, err);
	}
	if (r >= 0) {
		scale(q, &result);
		*ret = result;
	}
	free(st);
	return r;
}
