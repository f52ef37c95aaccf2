/* serve/v1_timeline.c - /api/v1: a filter's matches over time, and their peak. */
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "query/group_series.h"
#include "serve/buckets.h"

#define N_BUCKETS 1000u
#define N_WHOLE 2048u /* at most, when all is asked for */
#define MAX_BUCKETS 65536u /* as query_timeline() */
#define N_TOP 8u
#define MAX_TOP 50u

static uint64_t field_of(const struct store_bucket *b, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)b + offset);
}

/* before: of a comparison, whose figures are subtracted; NULL: none. */
static void put_buckets(struct json *j, const struct store_bucket *b,
			const struct store_bucket *before, size_t n)
{
	static const struct {
		const char *name;
		size_t offset;
	} column[] = {
		{"max_bytes", offsetof(struct store_bucket, max_bytes)},
		{"max_count", offsetof(struct store_bucket, max_count)},
		{"last_bytes", offsetof(struct store_bucket, last_bytes)},
		{"last_count", offsetof(struct store_bucket, last_count)},
		{"allocations", offsetof(struct store_bucket, n_allocs)},
		{"releases", offsetof(struct store_bucket, n_releases)},
		{"allocated_bytes", offsetof(struct store_bucket, alloc_bytes)},
		{"released_bytes", offsetof(struct store_bucket, release_bytes)},
		{"leaked_bytes", offsetof(struct store_bucket, leaked_bytes)},
		{"leaked_count", offsetof(struct store_bucket, n_leaked)},
		{"culled", offsetof(struct store_bucket, n_culled)},
	};

	for (size_t c = 0; c < ARRAY_LEN(column); c++) {
		json_array(j, column[c].name);
		for (size_t i = 0; i < n; i++) {
			if (before)
				comparison_put_change(j, NULL,
						      field_of(&before[i], column[c].offset),
						      field_of(&b[i], column[c].offset));
			else
				json_u64(j, NULL, field_of(&b[i], column[c].offset));
		}
		json_end_array(j);
	}
}

/* What is asked for, and what was found. */
struct timeline {
	struct request *rq;
	uint64_t from_ns, to_ns;
	uint64_t n; /* buckets */
	bool may_round;
	unsigned by; /* index of V1_TIMELINE_BY */
	uint64_t n_top;
	enum group_series_kind kind;
	struct store_bucket *bucket; /* n */
	uint64_t *temporary; /* n */
	struct group_series_top top; /* unless by is 0 */
};

/* In the order of V1_TIMELINE_BY; the first one means none. */
static const enum query_group_by by_kind[] = {QUERY_BY_STACK, QUERY_BY_BLAME, QUERY_BY_PACKAGE,
					      QUERY_BY_THREAD};

static void put_name(struct timeline *t, uint64_t key)
{
	struct request *rq = t->rq;
	const char *name = v1_json_group_name(rq, by_kind[t->by], key);
	char text[40];

	if (by_kind[t->by] == QUERY_BY_THREAD && (!name || !*name)) {
		snprintf(text, sizeof(text), "thread %" PRIu64, store_tid(rq->store, key));
		name = text;
	}
	json_text(&rq->json, "name", name ? name : "[no stack]");
}

/* A series of the figure at an offset of each bucket, if there is any. */
static void put_culled(struct timeline *t, size_t offset)
{
	struct json *j = &t->rq->json;
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += field_of(&t->bucket[i], offset);
	if (sum == 0)
		return;
	json_object(j, NULL);
	json_text(j, "name", "culled");
	json_null(j, "key");
	json_null(j, "blame");
	json_array(j, "values");
	for (size_t i = 0; i < t->n; i++)
		json_u64(j, NULL, field_of(&t->bucket[i], offset));
	json_end_array(j);
	json_end_object(j);
}

static void put_series(struct timeline *t)
{
	struct json *j = &t->rq->json;

	json_array(j, "series");
	for (size_t i = 0; i < t->top.n; i++) {
		const struct group_series_group *g = &t->top.group[i];
		const struct frame *blame = by_kind[t->by] == QUERY_BY_BLAME
						    ? query_blame(t->rq->query, g->stack)
						    : NULL;

		json_object(j, NULL);
		put_name(t, g->key);
		json_u64(j, "key", g->key);
		if (blame)
			v1_json_frame_text(t->rq, "blame", blame);
		else
			json_null(j, "blame");
		v1_json_numbers(j, "values", g->value, t->n);
		json_end_object(j);
	}
	json_object(j, NULL);
	json_text(j, "name", "other");
	json_null(j, "key");
	json_null(j, "blame");
	v1_json_numbers(j, "values", t->top.other, t->n);
	json_end_object(j);
	if (t->kind == GROUP_SERIES_ALLOCATIONS)
		put_culled(t, offsetof(struct store_bucket, n_culled));
	if (t->kind == GROUP_SERIES_TEMPORARY)
		put_culled(t, offsetof(struct store_bucket, n_culled_temporary));
	json_end_array(j);
}

static void put_timeline(struct timeline *t)
{
	uint64_t width_ns = query_timeline_width(t->from_ns, t->to_ns, t->n);
	struct json *j = &t->rq->json;

	json_object(j, NULL);
	json_u64(j, "from_ns", t->from_ns);
	json_u64(j, "to_ns", t->from_ns + width_ns * t->n);
	json_u64(j, "bucket_ns", width_ns);
	put_buckets(j, t->bucket, NULL, t->n);
	v1_json_numbers(j, "temporary", t->temporary, t->n);
	if (t->by)
		put_series(t);
	json_end_object(j);
}

/* Everything: from the store's own table. t->bucket stays NULL when it has none. */
static int find_whole(struct timeline *t, struct err *err)
{
	struct buckets b;
	int r = buckets_join(t->rq->store, N_WHOLE, &b, err);

	if (r == 0 && b.n > 0) {
		t->from_ns = 0;
		t->to_ns = b.width_ns * b.n;
		t->n = b.n;
		t->bucket = b.bucket;
		b.bucket = NULL;
	}
	buckets_fini(&b);
	return r;
}

/* round=true without conditions: moves the window outwards to whole buckets of the store, whose table then has
 * all of bucket[]. Points that would lie behind the end that was asked for are left out. */
static void round_window(struct timeline *t)
{
	uint64_t asked_to_ns = t->to_ns, width_ns;

	query_timeline_round(t->rq->store, &t->from_ns, &t->to_ns, t->n);
	width_ns = query_timeline_width(t->from_ns, t->to_ns, t->n);
	t->n = (asked_to_ns - t->from_ns - 1) / width_ns + 1;
	t->to_ns = t->from_ns + width_ns * t->n;
}

static int find_buckets(struct timeline *t, struct err *err)
{
	if (t->may_round &&
	    buckets_fit(t->rq, "token|by|top|series|own_regex|from|to|buckets|round"))
		round_window(t);
	t->bucket = calloc(t->n, sizeof(*t->bucket));
	if (!t->bucket)
		return err_set_memory(err, t->n * sizeof(*t->bucket));
	return query_timeline(t->rq->query, t->from_ns, t->to_ns, t->n, t->bucket, err);
}

/* Temporary allocations over time: those that have rows, and those that were culled. */
static int count_temporary(struct query *q, const struct group_series *s,
			   const struct store_bucket *bucket, uint64_t *ret, struct err *err)
{
	int r = group_series_total(q, s, ret, err);

	for (size_t i = 0; i < s->n_buckets; i++)
		ret[i] += bucket[i].n_culled_temporary;
	return r;
}

static int find_series(struct timeline *t, struct err *err)
{
	struct group_series s = {.by = by_kind[t->by],
				 .kind = GROUP_SERIES_TEMPORARY,
				 .from_ns = t->from_ns,
				 .to_ns = t->to_ns,
				 .n_buckets = t->n};
	int r;

	t->temporary = calloc(t->n, sizeof(*t->temporary));
	if (!t->temporary)
		return err_set_memory(err, t->n * sizeof(*t->temporary));
	r = count_temporary(t->rq->query, &s, t->bucket, t->temporary, err);
	s.kind = t->kind;
	if (r == 0 && t->by)
		r = group_series_top(t->rq->query, &s, t->n_top, &t->top, err);
	return r;
}

static int read_parameters(struct timeline *t, struct err *err)
{
	/* In the order of V1_TIMELINE_SERIES. */
	static const enum group_series_kind kind[] = {GROUP_SERIES_BYTES, GROUP_SERIES_COUNT,
						      GROUP_SERIES_ALLOCATIONS,
						      GROUP_SERIES_TEMPORARY};
	struct request *rq = t->rq;
	unsigned series = 0;
	int r = request_time(rq, "from", false, 0, &t->from_ns, err);

	if (r == 0)
		r = request_time(rq, "to", true, store_facts(rq->store)->duration_ns + 1, &t->to_ns,
				 err);
	if (r == 0)
		r = request_u64(rq, "buckets", N_BUCKETS, MAX_BUCKETS, &t->n, err);
	if (r == 0)
		r = request_choice(rq, "by", V1_TIMELINE_BY, 0, &t->by, err);
	if (r == 0)
		r = request_u64(rq, "top", N_TOP, MAX_TOP, &t->n_top, err);
	if (r == 0)
		r = request_choice(rq, "series", V1_TIMELINE_SERIES, 0, &series, err);
	if (r == 0)
		r = request_flag(rq, "round", false, &t->may_round, err);
	t->kind = kind[series];
	if (t->to_ns <= t->from_ns)
		t->to_ns = t->from_ns + 1;
	if (t->n == 0)
		t->n = 1;
	return r;
}

/* ---- comparison ---- */

/* The buckets of one recording. */
struct timeline_side {
	struct store_bucket *bucket; /* n */
	uint64_t *temporary; /* n */
};

static int find_side(const struct timeline *t, struct query *q, struct timeline_side *ret,
		     struct err *err)
{
	const struct group_series s = {.by = QUERY_BY_STACK,
				       .kind = GROUP_SERIES_TEMPORARY,
				       .from_ns = t->from_ns,
				       .to_ns = t->to_ns,
				       .n_buckets = t->n};
	int r;

	ret->bucket = calloc(t->n, sizeof(*ret->bucket));
	ret->temporary = calloc(t->n, sizeof(*ret->temporary));
	if (!ret->bucket || !ret->temporary)
		return err_set_memory(err, t->n * sizeof(*ret->bucket));
	r = query_timeline(q, t->from_ns, t->to_ns, t->n, ret->bucket, err);
	return r < 0 ? r : count_temporary(q, &s, ret->bucket, ret->temporary, err);
}

static void put_side(const struct timeline *t, const char *name, const struct store *store,
		     const struct timeline_side *side)
{
	struct json *j = &t->rq->json;

	json_object(j, name);
	json_u64(j, "duration_ns", store_facts(store)->duration_ns);
	put_buckets(j, side->bucket, NULL, t->n);
	v1_json_numbers(j, "temporary", side->temporary, t->n);
	json_end_object(j);
}

static void put_comparison(const struct timeline *t,
			   const struct timeline_side side[COMPARE_N_SIDES])
{
	const struct timeline_side *before = &side[COMPARE_BEFORE], *after = &side[COMPARE_AFTER];
	uint64_t width_ns = query_timeline_width(t->from_ns, t->to_ns, t->n);
	struct json *j = &t->rq->json;

	json_object(j, NULL);
	json_u64(j, "from_ns", t->from_ns);
	json_u64(j, "to_ns", t->from_ns + width_ns * t->n);
	json_u64(j, "bucket_ns", width_ns);
	put_buckets(j, after->bucket, before->bucket, t->n);
	json_array(j, "temporary");
	for (size_t i = 0; i < t->n; i++)
		comparison_put_change(j, NULL, before->temporary[i], after->temporary[i]);
	json_end_array(j);
	put_side(t, "before", t->rq->base.context.store, before);
	put_side(t, "after", t->rq->store, after);
	json_end_object(j);
}

/* Both recordings in the same buckets, each from its own start; by default until the later end. */
static int compare_timelines(struct timeline *t, struct err *err)
{
	uint64_t base_ns = store_facts(t->rq->base.context.store)->duration_ns + 1;
	struct timeline_side side[COMPARE_N_SIDES] = {0};
	struct query *q[COMPARE_N_SIDES];
	int r = comparison_refuse(t->rq, "by", "nothing, or ask without base", err);

	if (!url_find(&t->rq->url, "to") && base_ns > t->to_ns)
		t->to_ns = base_ns;
	if (r == 0)
		r = comparison_query(t->rq, QUERY_WANT_ALL, q, err);
	for (unsigned s = 0; s < COMPARE_N_SIDES && r == 0; s++)
		r = find_side(t, q[s], &side[s], err);
	if (r == 0)
		put_comparison(t, side);
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
		free(side[s].bucket);
		free(side[s].temporary);
	}
	return r;
}

int v1_timeline(struct request *rq, struct err *err)
{
	struct timeline t = {.rq = rq};
	int r = read_parameters(&t, err);

	if (r == 0 && request_is_comparison(rq))
		return compare_timelines(&t, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0 && buckets_fit(rq, "token|by|top|series"))
		r = find_whole(&t, err);
	if (r == 0 && !t.bucket)
		r = find_buckets(&t, err);
	if (r == 0)
		r = find_series(&t, err);
	if (r == 0)
		put_timeline(&t);
	group_series_top_fini(&t.top);
	free(t.temporary);
	free(t.bucket);
	return r;
}

int v1_peak(struct request *rq, struct err *err)
{
	struct query_peak peak;
	struct json *j = &rq->json;
	int r = request_query(rq, err);

	if (r == 0)
		r = query_peak(rq->query, &peak, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_u64(j, "at_ns", peak.at_ns);
	json_u64(j, "bytes", peak.n_bytes);
	json_u64(j, "count", peak.n_alive);
	json_end_object(j);
	return 0;
}
