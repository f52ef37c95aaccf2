/* query/exact_peak.c - see exact_peak.h. */
#include "query/exact_peak.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/kept_rows.h"
#include "util/radix_sort.h"
#include "util/scratch.h"
#include "util/vec.h"

/* The thinner, the fewer events have to be looked at, but the more often memory is waited for. One
 * maximum leaves few slices that could hold it; many do not. */
#define MAX_SLICES_OF_ONE ((size_t)1 << 17)
#define MAX_SLICES ((size_t)1 << 21)
#define ROWS_PER_SLICE 4u
#define EVENTS_AT_ONCE ((size_t)4 << 20)
#define MAX_SPAN_NS (1ull << 62)
#define FEW_EVENTS 48u /* sorted by insertion */
#define MAX_SORTED 65536u /* sorted by digits */

struct slice {
	uint64_t allocated_bytes, freed_bytes;
	uint32_t n_allocated, n_freed;
};

/* What is alive. */
struct level {
	uint64_t n_bytes, count;
};

struct candidate {
	uint32_t slice;
	uint64_t excess; /* how far the bucket's maximum could rise: the order of work */
	struct level start;
	uint64_t first_event; /* in exact_peak.event */
	_Atomic uint64_t n_events; /* that were put there */
};

struct exact_peak {
	struct query *q;
	const struct exact_peak_span *span;
	struct plan plan; /* the query's, without rows that do not matter */
	uint64_t span_ns;
	double inverse_width;
	unsigned shift; /* of time within a bucket: the slice */
	size_t slices_per_bucket, n_slices;
	struct slice *slice;
	struct level base; /* before the span */
	uint64_t *is_done; /* set of slices whose exact maximum is known */
	struct exact_peak_bucket *bucket;
	struct candidate *candidate;
	size_t n_candidates;
	uint64_t *
		is_candidate; /* set of slices that are under way: small, so it stays in the cache */
	uint32_t *candidate_of; /* slice -> candidate, for these */
	bool keeps_rows; /* the second pass needs no scan */
	unsigned n_threads; /* of the first pass */
	struct kept_rows kept[SCAN_MAX_THREADS]; /* by thread */
	struct radix_item *event; /* of all candidates: see put_event() */
	size_t n_events, cap_events;
	struct radix_item *sorted; /* MAX_SORTED, for sorting */
};

/* One thread's part of the first pass. */
struct sum_state {
	const struct exact_peak *sw;
	struct kept_rows kept;
	struct slice *slice;
	struct level base;
	struct level *leaked; /* by bucket */
	uint32_t at[STORE_BLOCK_ROWS]; /* slices in which the rows of a block die */
	uint64_t at_bytes[STORE_BLOCK_ROWS];
};

static inline size_t slice_of(const struct exact_peak *sw, uint64_t since_ns)
{
	uint64_t width = sw->span->width_ns, bucket = 0;

	if (sw->span->n_buckets > 1)
		bucket = exact_peak_bucket_of(since_ns, width, sw->inverse_width);
	return bucket * sw->slices_per_bucket + ((since_ns - bucket * width) >> sw->shift);
}

/* ---- first pass ---- */

static void sum_allocated(struct sum_state *st, struct scanner *s)
{
	const struct exact_peak *sw = st->sw;
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	uint64_t from = sw->span->from_ns, span_ns = sw->span_ns;

	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];

		if (alloc[i] < from) {
			bool is_alive = row_free_ns(alloc[i], life[i]) >= from;

			st->base.n_bytes += is_alive ? size[i] : 0;
			st->base.count += is_alive;
		} else if (alloc[i] - from < span_ns) {
			size_t at = slice_of(sw, alloc[i] - from);

			st->slice[at].allocated_bytes += size[i];
			st->slice[at].n_allocated++;
			if (life[i] == 0) {
				st->leaked[at / sw->slices_per_bucket].n_bytes += size[i];
				st->leaked[at / sw->slices_per_bucket].count++;
			}
		}
	}
}

/* Some die long after their neighbours in the block, anywhere in a table that no cache holds: first
 * all places are found and asked for, then they are used. */
static void sum_deaths(struct sum_state *st, struct scanner *s)
{
	const struct exact_peak *sw = st->sw;
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	uint64_t from = sw->span->from_ns, span_ns = sw->span_ns;
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t freed = row_free_ns(alloc[i], life[i]);
		size_t at;

		if (freed < from || freed - from >= span_ns)
			continue;
		at = slice_of(sw, freed - from);
		__builtin_prefetch(&st->slice[at], 1);
		st->at[n] = (uint32_t)at;
		st->at_bytes[n++] = size[i];
	}
	for (uint32_t k = 0; k < n; k++) {
		st->slice[st->at[k]].freed_bytes += st->at_bytes[k];
		st->slice[st->at[k]].n_freed++;
	}
}

static int sum_sink(void *state, struct scanner *s, struct err *err)
{
	struct sum_state *st = state;

	sum_allocated(st, s);
	sum_deaths(st, s);
	return st->sw->keeps_rows ? kept_rows_add(&st->kept, s, err) : 0;
}

/* The slices of the first thread are those of all: nothing is added to an array of zeroes. */
static void add_sums(struct exact_peak *sw, struct sum_state *st)
{
	if (!sw->slice) {
		sw->slice = st->slice;
		st->slice = NULL;
	}
	for (size_t i = 0; st->slice && i < sw->n_slices; i++) {
		sw->slice[i].allocated_bytes += st->slice[i].allocated_bytes;
		sw->slice[i].freed_bytes += st->slice[i].freed_bytes;
		sw->slice[i].n_allocated += st->slice[i].n_allocated;
		sw->slice[i].n_freed += st->slice[i].n_freed;
	}
	for (size_t i = 0; i < sw->span->n_buckets; i++) {
		sw->bucket[i].figures.leaked_bytes += st->leaked[i].n_bytes;
		sw->bucket[i].figures.n_leaked += st->leaked[i].count;
	}
	sw->base.n_bytes += st->base.n_bytes;
	sw->base.count += st->base.count;
}

static int make_sum_state(struct exact_peak *sw, void **ret, struct err *err)
{
	struct sum_state *st = malloc(sizeof(*st));

	*ret = st;
	if (!st)
		return err_set_memory(err, sizeof(*st));
	st->sw = sw;
	st->kept = (struct kept_rows){0};
	st->base = (struct level){0};
	st->slice = scratch_take(sw->n_slices * sizeof(struct slice));
	st->leaked = calloc(sw->span->n_buckets, sizeof(struct level));
	if (!st->slice || !st->leaked)
		return err_set_memory(err, sw->n_slices * sizeof(struct slice));
	return 0;
}

static int sum_up(struct exact_peak *sw, struct err *err)
{
	void *states[SCAN_MAX_THREADS] = {0};
	struct scan scan;
	int r = 0;

	scan_init(&scan, sw->q, &sw->plan);
	scan.sink = sum_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(sw->q, scan.end_block - scan.first_block,
				       2 * sw->n_slices * sizeof(struct slice));
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++)
		r = make_sum_state(sw, &states[i], err);
	if (r >= 0)
		r = scan_run(&scan, err);
	sw->n_threads = scan.n_states;
	for (unsigned i = 0; i < scan.n_states; i++) {
		struct sum_state *st = states[i];

		if (r >= 0)
			add_sums(sw, st);
		if (st) {
			sw->kept[i] = st->kept;
			scratch_give(st->slice);
			free(st->leaked);
		}
		free(st);
	}
	return r;
}

static void raise_max(struct exact_peak_bucket *b, struct level level, uint64_t at_ns)
{
	if (level.n_bytes > b->figures.max_bytes ||
	    (level.n_bytes == b->figures.max_bytes && at_ns < b->max_at_ns)) {
		b->figures.max_bytes = level.n_bytes;
		b->max_at_count = level.count;
		b->max_at_ns = at_ns;
	}
	if (level.count > b->figures.max_count)
		b->figures.max_count = level.count;
}

static struct level level_after(struct level l, const struct slice *s)
{
	l.n_bytes += s->allocated_bytes - s->freed_bytes;
	l.count += (uint64_t)s->n_allocated - s->n_freed;
	return l;
}

/* First moment of a slice, and the one behind its last. */
static uint64_t slice_start(const struct exact_peak *sw, size_t slice)
{
	return sw->span->from_ns + slice / sw->slices_per_bucket * sw->span->width_ns +
	       ((uint64_t)(slice % sw->slices_per_bucket) << sw->shift);
}

static uint64_t slice_end(const struct exact_peak *sw, size_t slice)
{
	uint64_t bucket_end =
		sw->span->from_ns + (slice / sw->slices_per_bucket + 1) * sw->span->width_ns;
	uint64_t end = slice_start(sw, slice) + (1ull << sw->shift);

	return end < bucket_end ? end : bucket_end;
}

/* All figures but the exact maxima: these are at least the levels at the ends of slices. */
static void fill_buckets(struct exact_peak *sw)
{
	struct level level = sw->base;

	for (size_t i = 0; i < sw->n_slices; i++) {
		struct exact_peak_bucket *b = &sw->bucket[i / sw->slices_per_bucket];
		const struct slice *s = &sw->slice[i];

		if (i % sw->slices_per_bucket == 0) {
			b->figures.max_bytes = level.n_bytes;
			b->figures.max_count = level.count;
			b->max_at_count = level.count;
			b->max_at_ns = slice_start(sw, i);
		}
		level = level_after(level, s);
		if (s->n_allocated || s->n_freed)
			raise_max(b, level, slice_end(sw, i) - 1);
		b->figures.n_allocs += s->n_allocated;
		b->figures.n_releases += s->n_freed;
		b->figures.alloc_bytes += s->allocated_bytes;
		b->figures.release_bytes += s->freed_bytes;
		b->figures.last_bytes = level.n_bytes;
		b->figures.last_count = level.count;
	}
}

/* The maxima of whole buckets of the store are in its table: nothing in there needs a second pass. */
static void use_table(struct exact_peak *sw)
{
	uint64_t unit_ns = store_facts(sw->q->c.store)->bucket_ns;
	size_t n;
	const struct store_bucket *unit = store_table(sw->q->c.store, STORE_BUCKETS, &n);

	if (unit_ns == 0 || unit_ns > MAX_SPAN_NS)
		return;
	for (size_t i = 0; i < sw->span->n_buckets; i++) {
		struct store_bucket *b = &sw->bucket[i].figures;
		uint64_t start = sw->span->from_ns + i * sw->span->width_ns;
		uint64_t first = (start + unit_ns - 1) / unit_ns;
		uint64_t end = (start + sw->span->width_ns) / unit_ns;

		end = end < n ? end : n;
		for (uint64_t u = first; u < end; u++) {
			if (unit[u].max_bytes > b->max_bytes)
				b->max_bytes = unit[u].max_bytes;
			if (unit[u].max_count > b->max_count)
				b->max_count = unit[u].max_count;
		}
		for (size_t k = i * sw->slices_per_bucket; k < (i + 1) * sw->slices_per_bucket;
		     k++) {
			if (slice_start(sw, k) >= first * unit_ns &&
			    slice_end(sw, k) <= end * unit_ns)
				set_add(sw->is_done, k);
		}
	}
}

/* ---- second pass ---- */

/* How far the slice can raise its bucket's maximum; 0: not at all. */
static uint64_t excess_of(const struct exact_peak *sw, size_t i, struct level start)
{
	const struct exact_peak_bucket *b = &sw->bucket[i / sw->slices_per_bucket];
	const struct slice *s = &sw->slice[i];
	uint64_t most = start.n_bytes + s->allocated_bytes, excess = 0;

	if (s->n_allocated == 0 || sw->shift == 0 || set_has(sw->is_done, i))
		return 0; /* what is a nanosecond wide has one level, its last */
	if (most > b->figures.max_bytes)
		excess = most - b->figures.max_bytes;
	else if (sw->span->wants_first && most == b->figures.max_bytes &&
		 slice_start(sw, i) < b->max_at_ns)
		excess = 1;
	if (sw->span->wants_count && start.count + s->n_allocated > b->figures.max_count && !excess)
		excess = 1;
	return excess;
}

static int compare_excess(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->excess != y->excess)
		return x->excess > y->excess ? -1 : 1;
	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static uint64_t n_events_of(const struct exact_peak *sw, size_t slice)
{
	return (uint64_t)sw->slice[slice].n_allocated + sw->slice[slice].n_freed;
}

/* As many candidates as fit into one pass, the first ones. */
static void take_candidates(struct exact_peak *sw, size_t n)
{
	uint64_t n_events = 0;

	sw->n_candidates = 0;
	while (sw->n_candidates < n) {
		n_events += n_events_of(sw, sw->candidate[sw->n_candidates].slice);
		if (n_events > EVENTS_AT_ONCE)
			break;
		sw->n_candidates++;
	}
	if (n && sw->n_candidates == 0)
		sw->n_candidates = SIZE_MAX; /* not even the first one fits */
}

/* The slices that can hold a maximum, and of these as many as fit into one pass. Of one bucket those
 * with the highest bounds, which rule out most others. Of many buckets those next in time, so that
 * each pass reads a part of the rows, and all passes together read them about once. */
static void choose(struct exact_peak *sw)
{
	bool is_by_time = sw->span->n_buckets > 1;
	struct level level = sw->base;
	size_t n = 0;

	sw->n_events = 0;
	for (size_t i = 0; i < sw->n_slices; i++) {
		uint64_t excess = excess_of(sw, i, level);

		if (excess) {
			struct candidate *c = &sw->candidate[n++];

			c->slice = (uint32_t)i;
			c->excess = excess;
			c->start = level;
		}
		level = level_after(level, &sw->slice[i]);
	}
	if (n && !is_by_time)
		qsort(sw->candidate, n, sizeof(*sw->candidate), compare_excess);
	take_candidates(sw, n);
	if (sw->n_candidates == SIZE_MAX)
		return;
	if (n && is_by_time)
		qsort(sw->candidate, sw->n_candidates, sizeof(*sw->candidate), compare_excess);
	for (size_t i = 0; i < sw->n_candidates; i++) {
		struct candidate *c = &sw->candidate[i];

		c->first_event = sw->n_events;
		atomic_init(&c->n_events, 0);
		set_add(sw->is_candidate, c->slice);
		sw->candidate_of[c->slice] = (uint32_t)i;
		sw->n_events += n_events_of(sw, c->slice);
	}
}

/* The key of an event is the time since the start of the span, shifted by one; lowest bit: a release.
 * The value is the number of bytes. */
static void put_event(struct exact_peak *sw, uint64_t since_ns, bool is_release, uint64_t n_bytes)
{
	size_t slice = slice_of(sw, since_ns);
	struct candidate *c;
	uint64_t at;

	if (!set_has(sw->is_candidate, slice))
		return;
	c = &sw->candidate[sw->candidate_of[slice]];
	at = atomic_fetch_add_explicit(&c->n_events, 1, memory_order_relaxed);
	if (at < n_events_of(sw, slice))
		sw->event[c->first_event + at] =
			(struct radix_item){since_ns << 1 | is_release, n_bytes};
}

static void put_events(struct exact_peak *sw, uint64_t alloc_ns, uint64_t free_ns, uint64_t n_bytes)
{
	uint64_t from = sw->span->from_ns, span_ns = sw->span_ns;

	if (alloc_ns >= from && alloc_ns - from < span_ns)
		put_event(sw, alloc_ns - from, false, n_bytes);
	if (free_ns >= from && free_ns - from < span_ns)
		put_event(sw, free_ns - from, true, n_bytes);
}

static int event_sink(void *state, struct scanner *s, struct err *err)
{
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];

		put_events(state, alloc[i], row_free_ns(alloc[i], life[i]), size[i]);
	}
	return 0;
}

static int put_kept(void *user, unsigned i, struct err *err)
{
	struct exact_peak *sw = user;
	const struct kept_rows *k = &sw->kept[i];

	for (size_t n = 0; n < k->n; n++)
		put_events(sw, k->row[n].alloc_ns, k->row[n].free_ns, k->row[n].size_bytes);
	return query_check_cancel(sw->q, err);
}

/* Where candidates begin and end, so that blocks which can not matter are passed over. */
static void narrow(const struct exact_peak *sw, struct plan *p)
{
	uint64_t first = UINT64_MAX, end = 0, row;

	for (size_t i = 0; i < sw->n_candidates; i++) {
		uint64_t start = slice_start(sw, sw->candidate[i].slice);

		first = start < first ? start : first;
		start = slice_end(sw, sw->candidate[i].slice);
		end = start > end ? start : end;
	}
	*p = sw->plan;
	row = plan_first_row(sw->q->c.store, end);
	p->end_row = row < p->end_row ? row : p->end_row;
	if (first > 0 && p->n_steps < PLAN_MAX_STEPS)
		p->step[p->n_steps++] =
			(struct plan_step){.kind = PLAN_DEATH, .min = first, .max = UINT64_MAX};
}

static int collect(struct exact_peak *sw, struct err *err)
{
	void *states[SCAN_MAX_THREADS];
	struct plan plan;
	struct scan scan;
	int r = vec_reserve(&sw->event, &sw->cap_events, sw->n_events, sizeof(*sw->event), err);

	if (r < 0)
		return r;
	if (sw->keeps_rows)
		return scan_in_threads(sw->n_threads, put_kept, sw, err);
	narrow(sw, &plan);
	scan_init(&scan, sw->q, &plan);
	scan.sink = event_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(sw->q, scan.end_block - scan.first_block, 0);
	for (unsigned i = 0; i < scan.n_states; i++)
		states[i] = sw;
	return scan_run(&scan, err);
}

static int compare_events(const void *a, const void *b)
{
	const struct radix_item *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Sorts the events of a slice by time. */
static void sort_events(struct exact_peak *sw, struct radix_item *e, size_t n)
{
	if (n > MAX_SORTED) {
		qsort(e, n, sizeof(*e), compare_events);
		return;
	}
	if (n > FEW_EVENTS) {
		const struct radix_item *sorted = radix_sort(e, sw->sorted, n);

		if (sorted != e)
			memcpy(e, sorted, n * sizeof(*e));
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct radix_item x = e[i];
		size_t k = i;

		for (; k > 0 && e[k - 1].key > x.key; k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

/* The exact maximum of a slice whose events are all there. */
static void run_slice(struct exact_peak *sw, struct candidate *c)
{
	struct exact_peak_bucket *b = &sw->bucket[c->slice / sw->slices_per_bucket];
	struct radix_item *e = &sw->event[c->first_event];
	size_t n = (size_t)atomic_load(&c->n_events);
	struct level level = c->start;

	set_remove(sw->is_candidate, c->slice);
	if (!excess_of(sw, c->slice, c->start)) /* one before it was higher than it can be */
		n = 0;
	set_add(sw->is_done, c->slice);
	if (n > n_events_of(sw, c->slice))
		n = n_events_of(sw, c->slice);
	sort_events(sw, e, n);
	for (size_t i = 0; i < n; i++) {
		bool is_release = e[i].key & 1;

		level.n_bytes += is_release ? -e[i].value : e[i].value;
		level.count += is_release ? UINT64_MAX : 1;
		if (i + 1 == n || e[i + 1].key >> 1 != e[i].key >> 1)
			raise_max(b, level, sw->span->from_ns + (e[i].key >> 1));
	}
}

/* A slice with too many events: as a span of its own. */
static int run_wide_slice(struct exact_peak *sw, const struct candidate *c, struct err *err)
{
	struct exact_peak_bucket *b = &sw->bucket[c->slice / sw->slices_per_bucket];
	struct exact_peak_span span = *sw->span;
	struct exact_peak_bucket part;
	int r;

	span.from_ns = slice_start(sw, c->slice);
	span.width_ns = slice_end(sw, c->slice) - span.from_ns;
	span.n_buckets = 1;
	r = exact_peak_run(sw->q, &span, &part, err);
	if (r < 0)
		return r;
	raise_max(b, (struct level){part.figures.max_bytes, part.max_at_count}, part.max_at_ns);
	if (part.figures.max_count > b->figures.max_count)
		b->figures.max_count = part.figures.max_count;
	set_add(sw->is_done, c->slice);
	return 0;
}

static int refine(struct exact_peak *sw, struct err *err)
{
	int r = 0;

	for (choose(sw); sw->n_candidates && r >= 0; choose(sw)) {
		if (sw->n_candidates == SIZE_MAX) {
			r = run_wide_slice(sw, &sw->candidate[0], err);
			continue;
		}
		r = collect(sw, err);
		for (size_t i = 0; i < sw->n_candidates && r >= 0; i++)
			run_slice(sw, &sw->candidate[i]);
	}
	return r;
}

/* ---- all of it ---- */

/* At most so many rows match: the rows of the plan, or of the stacks that match. */
static uint64_t count_rows(const struct exact_peak *sw)
{
	const struct query *q = sw->q;
	uint64_t n_rows = sw->plan.end_row - sw->plan.first_row, n_of_stacks = 0;

	if (q->estimate)
		return q->estimate->n_read * STORE_BLOCK_ROWS;
	if (!q->stack_set)
		return n_rows;
	for (size_t i = 0; i < q->n_stacks; i++)
		if (set_has(q->stack_set, i))
			n_of_stacks += q->stack[i].n_allocs;
	return n_of_stacks < n_rows ? n_of_stacks : n_rows;
}

/* The slices cost memory that must be cleared, so their number follows the rows that can match. */
static void cut_slices(struct exact_peak *sw)
{
	const struct exact_peak_span *span = sw->span;
	uint64_t want = count_rows(sw) / ROWS_PER_SLICE;
	uint64_t most = span->n_buckets == 1 ? MAX_SLICES_OF_ONE : MAX_SLICES;

	if (want > most)
		want = most;
	want = want / span->n_buckets;
	if (want < 16)
		want = 16;
	while (((span->width_ns - 1) >> sw->shift) + 1 > want)
		sw->shift++;
	sw->slices_per_bucket = ((span->width_ns - 1) >> sw->shift) + 1;
	sw->n_slices = sw->slices_per_bucket * span->n_buckets;
	sw->inverse_width = 1.0 / (double)span->width_ns;
}

int exact_peak_check(const struct exact_peak_span *span, struct err *err)
{
	uint64_t span_ns;

	if (span->n_buckets == 0 || span->n_buckets > EXACT_PEAK_MAX_BUCKETS || span->width_ns == 0)
		return err_set(err, ERR_USAGE, "a timeline of %zu points: 1 to %u are possible",
			       span->n_buckets, EXACT_PEAK_MAX_BUCKETS);
	if (__builtin_mul_overflow(span->width_ns, span->n_buckets, &span_ns) ||
	    span_ns > MAX_SPAN_NS || span->from_ns > MAX_SPAN_NS)
		return err_set(err, ERR_USAGE,
			       "a timeline of %zu points, %" PRIu64 " ns each, from %" PRIu64
			       " ns on is too long",
			       span->n_buckets, span->width_ns, span->from_ns);
	return 0;
}

int exact_peak_run(struct query *q, const struct exact_peak_span *span,
		   struct exact_peak_bucket *ret, struct err *err)
{
	struct exact_peak sw = {.q = q, .span = span, .bucket = ret};
	int r = exact_peak_check(span, err);

	if (r < 0)
		return r;
	sw.span_ns = span->width_ns * span->n_buckets;
	plan_narrow(q, span->from_ns, span->from_ns + sw.span_ns, &sw.plan);
	cut_slices(&sw);
	memset(ret, 0, span->n_buckets * sizeof(*ret));
	sw.keeps_rows =
		!q->estimate && kept_rows_fit(count_rows(&sw), sw.plan.end_row - sw.plan.first_row);
	sw.is_done = set_create(sw.n_slices);
	sw.is_candidate = set_create(sw.n_slices);
	sw.candidate = malloc(sw.n_slices * sizeof(*sw.candidate));
	sw.candidate_of = malloc(sw.n_slices * sizeof(*sw.candidate_of));
	sw.sorted = malloc(MAX_SORTED * sizeof(*sw.sorted));
	if (!sw.is_done || !sw.is_candidate || !sw.candidate || !sw.candidate_of || !sw.sorted) {
		r = err_set_memory(err, sw.n_slices * sizeof(*sw.slice));
		goto out;
	}
	r = sum_up(&sw, err);
	if (r < 0)
		goto out;
	fill_buckets(&sw);
	if (span->is_everything && !span->wants_first)
		use_table(&sw);
	r = refine(&sw, err);
out:
	scratch_give(sw.slice);
	free(sw.is_done);
	free(sw.is_candidate);
	free(sw.candidate);
	free(sw.candidate_of);
	free(sw.event);
	free(sw.sorted);
	for (unsigned i = 0; i < SCAN_MAX_THREADS; i++)
		kept_rows_fini(&sw.kept[i]);
	return r;
}
