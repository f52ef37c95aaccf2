/* report/rule_growth.c - what grows over time, and the finding about memory that grows until the
 * program ends and is freed then.
 *
 * A program that is stopped in an orderly way frees its caches: nothing leaks, and yet they grew for
 * as long as it ran. The heap is then largest near the end and grew all the time. The finding names
 * the function through which nearly all of that memory passes, or else the function that allocated
 * most of it.
 */
#include <stdlib.h>

#include "base/units.h"
#include "query/group_series.h"
#include "report/findings_i.h"
#include "store/suppressed.h"

#define GROWTH_MIN_BYTES MIB
#define GROWTH_UNTIL 0.80 /* of the run: the peak is not before */
#define GROWTH_LEAKED 0.50 /* of the peak: with more, the rules about leaks find it */
#define GROWTH_LATE 0.10 /* of what it reached: it grew by so much in the last quarter */
#define GROWTH_SHARE 0.10 /* of the peak: so much is allocated by the function */
#define GROWTH_CANDIDATES 8u

#define POINTS_EXACT 0.90 /* a point lies up to one part of the time beside the moment it is for */

/* ---- over time ---- */

static double mean_of(const uint64_t *value, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)value[i];
	return sum / (double)n;
}

bool rules_grows(const uint64_t *value, size_t n, double least)
{
	size_t quarter = n / 4, half = quarter / 2;
	const uint64_t *last = value + 3 * quarter;

	return mean_of(last, quarter) - mean_of(last - quarter, quarter) >= least &&
	       mean_of(last + quarter - half, half) - mean_of(last, half) >= least / 4;
}

bool rules_rises(const uint64_t *value, size_t n, double bytes)
{
	size_t quarter = n / 4;

	for (size_t i = 1; i < 4; i++) {
		if (mean_of(value + i * quarter, quarter) <=
		    mean_of(value + (i - 1) * quarter, quarter))
			return false;
	}
	return rules_grows(value, n, GROWTH_LATE * bytes);
}

uint64_t rules_late_growth(const uint64_t *value)
{
	uint64_t was = value[RULES_POINTS * 3 / 4 - 1], is = value[RULES_POINTS - 1];

	return is > was ? is - was : 0;
}

/* Exact where nothing that leaked took the place of something freed; the points say when something
 * did. */
uint64_t rules_late_bytes(const struct query_group *g, const uint64_t *value)
{
	uint64_t grown = value ? rules_late_growth(value) : g->leaked_late_bytes;

	return (double)grown < POINTS_EXACT * (double)g->leaked_late_bytes ? grown
									   : g->leaked_late_bytes;
}

uint64_t rules_end_ns(const struct rules *rules)
{
	return rules->span.from_ns + rules->span.span_ns + 1;
}

static struct group_series series_until(const struct rules *rules, uint64_t to_ns)
{
	return (struct group_series){
		.by = QUERY_BY_BLAME,
		.kind = GROUP_SERIES_BYTES,
		.from_ns = rules->span.from_ns,
		.to_ns = to_ns,
		.n_buckets = RULES_POINTS,
	};
}

int rules_count_groups(const struct rules *rules, const uint64_t *key, size_t n_keys,
		       uint64_t to_ns, uint64_t *ret, struct err *err)
{
	const struct group_series s = series_until(rules, to_ns);

	return group_series_of(rules->r->query, &s, key, n_keys, ret, err);
}

int rules_count_alive(const struct rules *rules, const struct filter *narrow, uint64_t to_ns,
		      uint64_t *ret, struct err *err)
{
	const struct group_series s = series_until(rules, to_ns);
	struct query *q = NULL;
	int n = query_create(&rules->r->context, narrow, &q, err);

	if (n == 0)
		n = group_series_total(q, &s, ret, err);
	query_destroy(q);
	return n;
}

/* ---- grows to the end ---- */

/* What was never freed but does not count as leaked. */
static uint64_t suppressed_bytes(const struct report *r)
{
	size_t n;
	const struct store_suppression *by = store_suppressions(r->context.store, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += by[i].leaked_bytes;
	return sum;
}

/* Could the heap have grown until the program ended and freed it? Sums tell. If more is suppressed
 * than a function of a finding needs, that function's blocks may be the suppressed ones: no finding. */
static bool may_grow(const struct rules *rules)
{
	const struct report *r = rules->r;
	double peak = (double)r->peak.n_bytes;

	return rules->has_rows && !rules->is_range && r->peak.n_bytes >= GROWTH_MIN_BYTES &&
	       (double)r->peak.at_ns >= GROWTH_UNTIL * (double)rules->span.span_ns &&
	       (double)r->groups.total.leaked_bytes < GROWTH_LEAKED * peak &&
	       (double)suppressed_bytes(r) < GROWTH_SHARE * peak;
}

static int add_growth(struct rules *rules, const struct query_group *g, const uint64_t *value,
		      struct err *err)
{
	const struct report *r = rules->r;
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], rate[RULES_RATE_BYTES];
	struct finding f;
	int n = rules_begin(rules, FINDING_GROWTH, REPORT_PEAK, g, &f, err);

	if (n == 0)
		n = finding_add_condition(&f, err, "alive_at", "%lluns",
					  (unsigned long long)r->peak.at_ns);
	if (n == 0)
		n = finding_set_title(&f, err, "%s grew to %s", rules_name(f.blame, name),
				      human_size(f.value, a));
	if (n == 0)
		n = finding_set_text(
			&f, err,
			"%s of the peak, +%s in the last quarter before it; freed only at the end",
			human_share(g->peak_bytes, r->peak.n_bytes, a),
			rules_rate(rules, rules_late_growth(value),
				   (r->peak.at_ns - rules->span.from_ns) / 4, rate));
	return rules_take(rules, &f, g->key, n);
}

bool rules_is_freed(const struct query_group *g)
{
	return (double)g->leaked_bytes < GROWTH_LEAKED * (double)g->peak_bytes;
}

/* The function that holds most of those that grow. */
static int find_function(struct rules *rules, uint64_t to_ns, struct err *err)
{
	struct rules_top top = rules_find_top(&rules->blame, REPORT_PEAK, GROWTH_CANDIDATES, 1);
	double least = GROWTH_SHARE * (double)rules->r->peak.n_bytes;
	uint64_t key[GROWTH_CANDIDATES], *value;
	bool is_found = false;
	int n;

	for (size_t i = 0; i < top.n; i++)
		key[i] = top.group[i]->key;
	value = calloc(top.n * RULES_POINTS + 1, sizeof(*value));
	if (!value)
		return err_set_memory(err, top.n * RULES_POINTS * sizeof(*value));
	n = top.n ? rules_count_groups(rules, key, top.n, to_ns, value, err) : 0;
	for (size_t i = 0; i < top.n && n == 0 && !is_found; i++) {
		const uint64_t *v = value + i * RULES_POINTS;

		is_found = (double)top.group[i]->peak_bytes >= least &&
			   rules_is_freed(top.group[i]) &&
			   rules_rises(v, RULES_POINTS, (double)top.group[i]->peak_bytes);
		if (is_found)
			n = add_growth(rules, top.group[i], v, err);
	}
	free(value);
	return n;
}

int rules_find_growth(struct rules *rules, struct err *err)
{
	uint64_t to_ns = rules->r->peak.at_ns + 1;
	uint64_t value[RULES_POINTS] = {0};
	int n;

	if (!may_grow(rules))
		return 0;
	n = rules_count_alive(rules, rules->r->filter, to_ns, value, err);
	if (n < 0 || !rules_rises(value, RULES_POINTS, (double)rules->r->peak.n_bytes))
		return n;
	n = rules_take_owner(rules, REPORT_PEAK, err);
	if (n == 0)
		n = find_function(rules, to_ns, err);
	return n < 0 ? n : 0;
}
