/* report/rule_function.c - findings about one function to blame: leaks, peaks, churn. */
#include <stdlib.h>

#include "base/units.h"
#include "query/group_series.h"
#include "query/lifetimes.h"
#include "report/findings_i.h"

/* Likely leak */
#define LEAK_MIN_BYTES MIB
#define LEAK_OF_PEAK 0.01
#define LEAK_MIN_BLOCKS 2u /* one block does not grow */
#define LEAK_EARLY 0.5 /* of it: at most so much allocated in the first twentieth of the run ... */
#define LEAK_LATE 0.05 /* ... and at least so much in the last quarter, by which it grew */
#define LEAKS_MAX 3u

/* Makes the peak */
#define PEAK_SHARE 0.10 /* of the peak: so much more than the function has at the median */
#define PEAK_CANDIDATES 8u
#define PEAK_POINTS 480u /* moments of the run that give the median */
#define PEAKS_MAX 2u

/* Churn */
#define CHURN_SHARE 0.10 /* of all temporary allocations */
#define CHURN_PER_S 100.0
#define CHURN_MIN 1000u
#define CHURNS_MAX 2u

/* The functions with most of a cost. Key 0 stands for stacks without a frame to blame. */
static struct rules_top find_functions(const struct rules *rules, enum report_kind cost, size_t max)
{
	return rules_find_top(&rules->blame, cost, max, 1);
}

/* ---- likely leak ---- */

bool rules_is_leak(const struct rules *rules, const struct query_group *g)
{
	double leaked = (double)g->leaked_bytes;

	return g->leaked_bytes >= LEAK_MIN_BYTES && g->n_leaked >= LEAK_MIN_BLOCKS &&
	       leaked >= LEAK_OF_PEAK * (double)rules->r->peak.n_bytes &&
	       (double)g->leaked_early_bytes < LEAK_EARLY * leaked &&
	       (double)g->leaked_late_bytes >= LEAK_LATE * leaked;
}

bool rules_leak_grows(const struct query_group *g, const uint64_t *value)
{
	return rules_grows(value, RULES_POINTS, LEAK_LATE * (double)g->leaked_bytes);
}

/* value: of g over time; NULL: not known. */
static int add_leak(struct rules *rules, const struct query_group *g, const uint64_t *value,
		    struct err *err)
{
	const struct report *r = rules->r;
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], rate[RULES_RATE_BYTES];
	struct finding f;
	int n = rules_begin(rules, FINDING_LEAK, REPORT_LEAKED, g, &f, err);

	if (n == 0)
		n = finding_set_title(&f, err, "%s keeps %s", rules_name(f.blame, name),
				      human_size(f.value, a));
	if (n == 0)
		n = finding_set_text(&f, err, "%s of all leaked, +%s in the last quarter%s",
				     human_share(g->leaked_bytes, r->groups.total.leaked_bytes, a),
				     rules_rate(rules, rules_late_bytes(g, value),
						rules->span.span_ns / 4, rate),
				     rules_of_range(rules));
	return rules_take(rules, &f, g->key, n);
}

int rules_find_leaks(struct rules *rules, struct err *err)
{
	struct rules_top top = find_functions(rules, REPORT_LEAKED, RULES_TOP_MAX);
	uint64_t key[RULES_TOP_MAX], *value = NULL;
	size_t n_keys = 0, n_found = 0;
	int n = 0;

	for (size_t i = 0; i < top.n; i++) {
		if (rules_is_leak(rules, top.group[i])) {
			top.group[n_keys] = top.group[i];
			key[n_keys++] = top.group[i]->key;
		}
	}
	if (n_keys > 0 && rules->has_rows) {
		value = calloc(n_keys * RULES_POINTS, sizeof(*value));
		n = value ? rules_count_groups(rules, key, n_keys, rules_end_ns(rules), value, err)
			  : err_set_memory(err, n_keys * RULES_POINTS * sizeof(*value));
	}
	for (size_t i = 0; i < n_keys && n_found < LEAKS_MAX && n == 0; i++) {
		const uint64_t *v = value ? value + i * RULES_POINTS : NULL;

		if (!v || rules_leak_grows(top.group[i], v)) {
			n = add_leak(rules, top.group[i], v, err);
			n_found++;
		}
	}
	free(value);
	return n;
}

/* ---- makes the peak ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_of(const uint64_t *value, uint64_t sorted[PEAK_POINTS])
{
	for (size_t i = 0; i < PEAK_POINTS; i++)
		sorted[i] = value[i];
	qsort(sorted, PEAK_POINTS, sizeof(*sorted), compare_u64);
	return sorted[PEAK_POINTS / 2];
}

/* How long, around the peak, the function had at least `level` bytes: "for about 21 m", "up to the
 * end", "up to the end of the range", "for less than 2 ms". */
static char *rise_text(const struct rules *rules, const uint64_t *value, uint64_t level,
		       char buf[2 * HUMAN_BYTES])
{
	const struct query_span *span = &rules->span;
	uint64_t width_ns =
		query_timeline_width(span->from_ns, span->from_ns + span->span_ns + 1, PEAK_POINTS);
	uint64_t at_ns = rules->r->peak.at_ns;
	size_t peak = at_ns > span->from_ns ? (size_t)((at_ns - span->from_ns) / width_ns) : 0;
	size_t first, end;
	char a[HUMAN_BYTES];

	if (peak >= PEAK_POINTS)
		peak = PEAK_POINTS - 1;
	for (first = peak; first > 0 && value[first - 1] >= level;)
		first--;
	for (end = peak; end < PEAK_POINTS && value[end] >= level;)
		end++;
	if (end == PEAK_POINTS)
		snprintf(buf, 2 * HUMAN_BYTES, "up to the end%s", rules_of_range(rules));
	else if (end - first < 2)
		snprintf(buf, 2 * HUMAN_BYTES, "for less than %s", human_duration(2 * width_ns, a));
	else
		snprintf(buf, 2 * HUMAN_BYTES, "for about %s",
			 human_duration((end - first) * width_ns, a));
	return buf;
}

static int add_peak(struct rules *rules, const struct query_group *g, const uint64_t *value,
		    uint64_t median, struct err *err)
{
	const struct report *r = rules->r;
	uint64_t more = g->peak_bytes - median;
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	char rise[2 * HUMAN_BYTES];
	struct finding f;
	int n = rules_begin(rules, FINDING_PEAK, REPORT_PEAK, g, &f, err);

	/* all blocks that match this condition are alive at that moment: it is their peak, too */
	if (n == 0)
		n = finding_add_condition(&f, err, "alive_at", "%lluns",
					  (unsigned long long)r->peak.at_ns);
	if (n == 0)
		n = finding_set_title(&f, err, "%s holds %s at the peak", rules_name(f.blame, name),
				      human_size(f.value, a));
	if (n == 0)
		n = finding_set_text(
			&f, err, "%s of the peak, %s more than its median, %s; peak %s%s",
			human_share(g->peak_bytes, r->peak.n_bytes, a), human_size(more, b),
			rise_text(rules, value, median + more / 2, rise),
			r->facts->duration_ns >= 100 * NS_PER_S ? "at " : "after ",
			rules_moment(rules, r->peak.at_ns, c));
	return rules_take(rules, &f, g->key, n);
}

/* Is the function a leak, or does it grow up to the end? Both are greatest at the end: a finding
 * about the peak says nothing new. */
static bool is_known_already(const struct rules *rules, const struct query_group *g)
{
	for (size_t i = 0; i < rules->to->n; i++) {
		enum finding_kind kind = rules->to->finding[i].kind;

		if (rules->key[i] == g->key &&
		    (kind == FINDING_LEAK || kind == FINDING_HELD || kind == FINDING_GROWTH))
			return true;
		if (kind == FINDING_OWNER && rules_is_leak(rules, g))
			return true;
	}
	return false;
}

/* Where the heap grows up to the end: is the function a part of the growth? */
static bool is_part_of_growth(const struct rules *rules, const struct query_group *g,
			      const uint64_t *value)
{
	uint64_t until_ns = rules->r->peak.at_ns - rules->span.from_ns;
	uint64_t width_ns = query_timeline_width(
		rules->span.from_ns, rules->span.from_ns + rules->span.span_ns + 1, PEAK_POINTS);
	size_t n = (size_t)(until_ns / width_ns) & ~(size_t)3;

	for (size_t i = 0; i < rules->to->n; i++) {
		if (rules->to->finding[i].kind == FINDING_GROWTH)
			return n >= 4 && rules_rises(value, n, (double)g->peak_bytes);
	}
	return false;
}

int rules_find_peaks(struct rules *rules, struct err *err)
{
	const struct report *r = rules->r;
	const struct group_series s = {
		.by = QUERY_BY_BLAME,
		.kind = GROUP_SERIES_BYTES,
		.from_ns = rules->span.from_ns,
		.to_ns = rules->span.from_ns + rules->span.span_ns + 1,
		.n_buckets = PEAK_POINTS,
	};
	struct rules_top top = find_functions(rules, REPORT_PEAK, PEAK_CANDIDATES);
	double least = PEAK_SHARE * (double)r->peak.n_bytes;
	uint64_t key[PEAK_CANDIDATES], *value, sorted[PEAK_POINTS];
	size_t n_keys = 0, n_found = 0;
	int n;

	for (size_t i = 0; i < top.n && rules->has_rows; i++) {
		if ((double)top.group[i]->peak_bytes >= least &&
		    !is_known_already(rules, top.group[i])) {
			top.group[n_keys] = top.group[i];
			key[n_keys++] = top.group[i]->key;
		}
	}
	if (n_keys == 0)
		return 0;
	value = calloc(n_keys * PEAK_POINTS, sizeof(*value));
	if (!value)
		return err_set_memory(err, n_keys * PEAK_POINTS * sizeof(*value));
	n = group_series_of(r->query, &s, key, n_keys, value, err);
	for (size_t i = 0; i < n_keys && n == 0 && n_found < PEAKS_MAX; i++) {
		uint64_t median = median_of(value + i * PEAK_POINTS, sorted);

		if (top.group[i]->peak_bytes > median &&
		    (double)(top.group[i]->peak_bytes - median) >= least &&
		    !is_part_of_growth(rules, top.group[i], value + i * PEAK_POINTS)) {
			n = add_peak(rules, top.group[i], value + i * PEAK_POINTS, median, err);
			n_found++;
		}
	}
	free(value);
	return n;
}

/* ---- churn ---- */

/* The median lifetime of the temporary allocations of a finding. */
static int median_lifetime(const struct rules *rules, const struct finding *f, uint64_t *ret,
			   struct err *err)
{
	const struct report *r = rules->r;
	struct filter narrow = *r->filter; /* borrows what r->filter owns */
	struct lifetimes lifetimes;
	struct query *q = NULL;
	int n;

	narrow.blame_regex = f->condition[0].value;
	narrow.temporary = FILTER_YES;
	n = query_create(&r->context, &narrow, &q, err);
	if (n == 0)
		n = lifetimes_count(q, &lifetimes, err);
	if (n == 0)
		*ret = lifetimes.median_ns;
	query_destroy(q);
	return n;
}

static int add_churn(struct rules *rules, const struct query_group *g, struct err *err)
{
	const struct report *r = rules->r;
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	double per_s = (double)g->n_temporary * (double)NS_PER_S / (double)rules->span.span_ns;
	bool has_lifetimes = rules->has_rows && g->n_culled == 0;
	uint64_t median_ns = 0;
	struct finding f;
	int n = rules_begin(rules, FINDING_CHURN, REPORT_TEMPORARY, g, &f, err);

	f.page = "bottomup";
	if (n == 0 && has_lifetimes)
		n = median_lifetime(rules, &f, &median_ns, err);
	if (n == 0)
		n = finding_set_title(&f, err, "%s: %s temporary allocations",
				      rules_name(f.blame, name), human_rough(f.value, a));
	human_share(g->n_temporary, r->groups.total.n_temporary, a);
	human_rough((uint64_t)per_s, b);
	if (n == 0 && has_lifetimes)
		n = finding_set_text(&f, err,
				     "%s of all temporary, %s per second, each lives %s (median)",
				     a, b, human_duration(median_ns, c));
	else if (n == 0)
		n = finding_set_text(&f, err, "%s of all temporary, %s per second", a, b);
	return rules_take(rules, &f, g->key, n);
}

int rules_find_churn(struct rules *rules, struct err *err)
{
	const struct report *r = rules->r;
	const struct rules_top top = find_functions(rules, REPORT_TEMPORARY, CHURNS_MAX);
	double seconds = (double)rules->span.span_ns / (double)NS_PER_S;
	int n = 0;

	for (size_t i = 0; i < top.n && n == 0 && seconds > 0; i++) {
		double n_temporary = (double)top.group[i]->n_temporary;

		if (top.group[i]->n_temporary >= CHURN_MIN &&
		    n_temporary >= CHURN_SHARE * (double)r->groups.total.n_temporary &&
		    n_temporary >= CHURN_PER_S * seconds)
			n = add_churn(rules, top.group[i], err);
	}
	return n;
}
