/* query/query_time.c - peaks and timelines: what was alive over time. */
#include <stdlib.h>

#include "query/estimate.h"
#include "query/exact_peak.h"
#include "query/query_i.h"
#include "query/shared_results.h"

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* An allocation makes the peak: it lies between the first and the last one that can match. */
static void span_of_rows(const struct query *q, struct exact_peak_span *ret)
{
	uint64_t last_ns = store_value(q->c.store, STORE_ALLOC_NS, q->plan.end_row - 1);

	ret->from_ns = store_value(q->c.store, STORE_ALLOC_NS, q->plan.first_row);
	ret->width_ns = last_ns - ret->from_ns + 1;
}

static int peak_by_rows(struct query *q, struct query_peak *ret, struct err *err)
{
	struct exact_peak_span span = {.n_buckets = 1, .wants_first = true};
	struct exact_peak_bucket b;
	int r = plan_need_rows(q, err);

	*ret = (struct query_peak){0};
	if (r < 0 || q->plan.first_row >= q->plan.end_row)
		return r;
	span_of_rows(q, &span);
	r = exact_peak_run(q, &span, &b, err);
	if (r < 0 || b.figures.max_bytes == 0)
		return r;
	*ret = (struct query_peak){b.max_at_ns, b.figures.max_bytes, b.max_at_count};
	if (q->estimate) {
		const struct estimate_bound most = estimate_bound(q, 0, UINT64_MAX);

		ret->n_bytes = at_most(estimate_scale(q, ret->n_bytes), most.n_bytes);
		ret->n_alive = at_most(estimate_scale(q, ret->n_alive), most.count);
	}
	return 0;
}

static int make_peak(struct query *q, unsigned kind, struct shared_result *ret, struct err *err)
{
	struct query_peak *peak = malloc(sizeof(*peak));
	int r = peak ? peak_by_rows(q, peak, err) : err_set_memory(err, sizeof(*peak));

	(void)kind;
	if (r < 0) {
		free(peak);
		return r;
	}
	ret->data = peak;
	ret->n_bytes = sizeof(*peak);
	ret->destroy = free;
	return 0;
}

int query_peak(struct query *q, struct query_peak *ret, struct err *err)
{
	const struct store_facts *facts = store_facts(q->c.store);
	struct shared_result *shared;
	int r;

	if (!q->has_peak && query_is_everything(q)) {
		q->peak = (struct query_peak){facts->peak_ns, facts->peak_bytes, facts->peak_count};
	} else if (!q->has_peak) {
		r = shared_results_get(q->c.shared, q, SHARED_PEAK, make_peak, &shared, err);
		if (r < 0)
			return r;
		q->peak = *(const struct query_peak *)shared->data;
		shared_result_release(shared);
	}
	q->has_peak = true;
	*ret = q->peak;
	return 0;
}

uint64_t query_timeline_width(uint64_t from_ns, uint64_t to_ns, size_t n_buckets)
{
	uint64_t span_ns = to_ns > from_ns ? to_ns - from_ns : 1;

	return n_buckets ? (span_ns - 1) / n_buckets + 1 : span_ns;
}

void query_timeline_round(const struct store *store, uint64_t *from_ns, uint64_t *to_ns,
			  size_t n_buckets)
{
	uint64_t unit_ns = store_facts(store)->bucket_ns, width_ns;

	width_ns = query_timeline_width(*from_ns, *to_ns, n_buckets);
	if (unit_ns == 0 || width_ns < unit_ns || n_buckets == 0)
		return;
	width_ns = (width_ns + unit_ns - 1) / unit_ns * unit_ns;
	*from_ns -= *from_ns % unit_ns;
	if (*to_ns > *from_ns && (*to_ns - *from_ns - 1) / width_ns >= n_buckets)
		width_ns += unit_ns; /* the start moved */
	if (width_ns <= (UINT64_MAX - *from_ns) / n_buckets)
		*to_ns = *from_ns + width_ns * n_buckets;
}

/* From the buckets of the store, when they fit into those that are asked for. */
static bool timeline_by_table(const struct query *q, const struct exact_peak_span *span,
			      struct store_bucket *ret)
{
	uint64_t unit_ns = store_facts(q->c.store)->bucket_ns, per_bucket, at;
	size_t n;
	const struct store_bucket *bucket = store_table(q->c.store, STORE_BUCKETS, &n);
	struct store_bucket quiet = {0};

	if (!query_is_everything(q) || n == 0 || unit_ns == 0 || span->from_ns % unit_ns ||
	    span->width_ns % unit_ns || n < (q->end_ns / unit_ns))
		return false;
	per_bucket = span->width_ns / unit_ns;
	at = span->from_ns / unit_ns;
	/* Behind the end nothing happens any more. */
	quiet.max_bytes = quiet.last_bytes = bucket[n - 1].last_bytes;
	quiet.max_count = quiet.last_count = bucket[n - 1].last_count;
	for (size_t i = 0; i < span->n_buckets; i++) {
		ret[i] = (struct store_bucket){0};
		for (uint64_t k = 0; k < per_bucket && (k == 0 || at < n); k++, at++)
			store_bucket_append(&ret[i], at < n ? &bucket[at] : &quiet);
	}
	return true;
}

/* The figures of a bucket that begins at from_ns, for all rows. */
static struct store_bucket scaled_bucket(const struct query *q, const struct store_bucket *b,
					 uint64_t from_ns, uint64_t width_ns)
{
	struct estimate_bound most;

	if (!q->estimate)
		return *b;
	most = estimate_bound(q, from_ns, from_ns + width_ns);
	return (struct store_bucket){
		.max_bytes = at_most(estimate_scale(q, b->max_bytes), most.n_bytes),
		.max_count = at_most(estimate_scale(q, b->max_count), most.count),
		.last_bytes = at_most(estimate_scale(q, b->last_bytes), most.n_bytes),
		.last_count = at_most(estimate_scale(q, b->last_count), most.count),
		.n_allocs = estimate_scale(q, b->n_allocs),
		.n_releases = estimate_scale(q, b->n_releases),
		.alloc_bytes = estimate_scale(q, b->alloc_bytes),
		.release_bytes = estimate_scale(q, b->release_bytes),
		.leaked_bytes = estimate_scale(q, b->leaked_bytes),
		.n_leaked = estimate_scale(q, b->n_leaked),
	};
}

/* What was culled up to a time that only moves on. */
struct culled {
	const struct store_bucket *unit; /* [at, n) of the store's table are left */
	size_t at, n;
	uint64_t unit_ns;
	uint64_t n_calls, n_bytes, n_temporary; /* of the units before */
};

static uint64_t part_of(uint64_t value, double share)
{
	return (uint64_t)((double)value * share);
}

/* Adds what was culled up to to_ns to b, or takes it away (sign UINT64_MAX, which is -1). A unit across to_ns
 * is divided evenly. */
static void append_culled(struct culled *c, uint64_t to_ns, uint64_t sign, struct store_bucket *b)
{
	uint64_t n_calls, n_bytes, n_temporary;

	for (; c->at < c->n && (c->at + 1) * c->unit_ns <= to_ns; c->at++) {
		c->n_calls += c->unit[c->at].n_culled;
		c->n_bytes += c->unit[c->at].culled_bytes;
		c->n_temporary += c->unit[c->at].n_culled_temporary;
	}
	n_calls = c->n_calls, n_bytes = c->n_bytes, n_temporary = c->n_temporary;
	if (c->at < c->n && to_ns > c->at * c->unit_ns) {
		double share = (double)(to_ns - c->at * c->unit_ns) / (double)c->unit_ns;

		n_calls += part_of(c->unit[c->at].n_culled, share);
		n_bytes += part_of(c->unit[c->at].culled_bytes, share);
		n_temporary += part_of(c->unit[c->at].n_culled_temporary, share);
	}
	b->n_culled += sign * n_calls;
	b->n_allocs += sign * n_calls;
	b->n_releases += sign * n_calls;
	b->culled_bytes += sign * n_bytes;
	b->alloc_bytes += sign * n_bytes;
	b->release_bytes += sign * n_bytes;
	b->n_culled_temporary += sign * n_temporary;
}

/* Adds what was culled to buckets that were counted from rows. */
static void add_culled(const struct query *q, const struct exact_peak_span *span,
		       struct store_bucket *ret)
{
	struct culled c = {.unit_ns = store_facts(q->c.store)->bucket_ns};

	c.unit = store_table(q->c.store, STORE_BUCKETS, &c.n);
	if (!c.unit_ns || !store_facts(q->c.store)->n_culled || !query_is_everything(q))
		return;
	for (size_t i = 0; i < span->n_buckets; i++) {
		uint64_t from_ns = span->from_ns + i * span->width_ns;

		append_culled(&c, from_ns, UINT64_MAX, &ret[i]);
		append_culled(&c, from_ns + span->width_ns, 1, &ret[i]);
	}
}

int query_timeline(struct query *q, uint64_t from_ns, uint64_t to_ns, size_t n_buckets,
		   struct store_bucket *ret, struct err *err)
{
	const struct exact_peak_span span = {
		.from_ns = from_ns,
		.width_ns = query_timeline_width(from_ns, to_ns, n_buckets),
		.n_buckets = n_buckets,
		.wants_count = true,
		/* exact maxima and estimates do not mix */
		.is_everything = query_is_everything(q) && !q->estimate,
	};
	struct exact_peak_bucket *b;
	int r = exact_peak_check(&span, err);

	if (r < 0 || timeline_by_table(q, &span, ret))
		return r;
	b = calloc(n_buckets, sizeof(*b));
	if (!b)
		return err_set_memory(err, n_buckets * sizeof(*b));
	r = exact_peak_run(q, &span, b, err);
	for (size_t i = 0; i < n_buckets && r >= 0; i++)
		ret[i] =
			scaled_bucket(q, &b[i].figures, from_ns + i * span.width_ns, span.width_ns);
	if (r >= 0)
		add_culled(q, &span, ret);
	free(b);
	return r;
}
