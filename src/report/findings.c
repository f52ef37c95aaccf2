/* report/findings.c - see findings.h. */
#include "report/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/frame_name.h"
#include "query/group_series.h"
#include "report/findings_i.h"

#define MAX_REGEX_TEXT 4000 /* an expression has at most 4096 bytes: see query/filter.h */

const char *finding_kind_name(enum finding_kind k)
{
	static const char *const name[FINDING_N_KINDS] = {"unrecorded", "held",  "leak",  "owner",
							  "growth",     "peak",  "churn", "outside",
							  "copying",    "remark"};

	return name[k];
}

const char *finding_kind_title(enum finding_kind k)
{
	static const char *const title[FINDING_N_KINDS] = {"Not recorded",
							   "Held at the end",
							   "Likely leak",
							   "Kept by",
							   "Grows to the end",
							   "Makes the peak",
							   "Churn",
							   "Outside the heap",
							   "Copying",
							   ""};

	return title[k];
}

const char *finding_cost_name(enum report_kind cost)
{
	static const char *const name[REPORT_N_KINDS] = {"peak", "leaked", "allocs", "temp",
							 "bytes"};

	return name[cost];
}

/* ---- a finding ---- */

static int set_text(char **text, struct err *err, const char *fmt, va_list ap)
{
	free(*text);
	if (vasprintf(text, fmt, ap) < 0) {
		*text = NULL;
		return err_set_memory(err, 1);
	}
	return 0;
}

int finding_set_title(struct finding *f, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_text(&f->title, err, fmt, ap);
	va_end(ap);
	return r;
}

int finding_set_text(struct finding *f, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_text(&f->text, err, fmt, ap);
	va_end(ap);
	return r;
}

int finding_add_condition(struct finding *f, struct err *err, const char *name, const char *fmt,
			  ...)
{
	char **value = &f->condition[f->n_conditions].value;
	va_list ap;
	int r;

	ASSERT(f->n_conditions < FINDING_MAX_CONDITIONS);
	va_start(ap, fmt);
	r = set_text(value, err, fmt, ap);
	va_end(ap);
	if (r == 0)
		f->condition[f->n_conditions++].name = name;
	return r;
}

/* Quotes the text if one of its characters has a meaning in expressions. */
int finding_add_exactly(struct finding *f, struct err *err, const char *name, const char *text)
{
	bool is_plain = !strpbrk(text, "\\^$.[]|()?*+{}");
	bool is_cut = strlen(text) > MAX_REGEX_TEXT;

	return finding_add_condition(f, err, name, "^%s%.*s%s%s", is_plain ? "" : "\\Q",
				     MAX_REGEX_TEXT, text, is_plain ? "" : "\\E",
				     is_cut ? "" : "$");
}

void finding_fini(struct finding *f)
{
	free(f->title);
	free(f->text);
	for (size_t i = 0; i < f->n_conditions; i++)
		free(f->condition[i].value);
	free(f->timeline);
	free(f->leaked_timeline);
	*f = (struct finding){0};
}

/* ---- what the rules share ---- */

int rules_take(struct rules *rules, struct finding *f, uint64_t key, int n)
{
	if (n < 0 || rules->to->n == FINDINGS_MAX) {
		finding_fini(f);
		return n;
	}
	rules->key[rules->to->n] = key;
	rules->to->finding[rules->to->n++] = *f;
	return n;
}

const char *rules_name(const struct frame *f, char buf[RULES_NAME_BYTES])
{
	if (f->function && *f->function)
		return frame_name_short(f->function, buf);
	return frame_label(f, buf);
}

char *rules_moment(const struct rules *rules, uint64_t at_ns, char buf[HUMAN_BYTES])
{
	uint64_t s = at_ns / NS_PER_S;

	if (rules->r->facts->duration_ns >= 100 * NS_PER_S)
		snprintf(buf, HUMAN_BYTES, "%02" PRIu64 ":%02u:%02u", s / 3600,
			 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		human_duration(at_ns, buf);
	return buf;
}

char *rules_rate(const struct rules *rules, uint64_t n_bytes, uint64_t ns,
		 char buf[RULES_RATE_BYTES])
{
	static const struct {
		uint64_t ns;
		const char *name;
	} unit[] = {{3600 * NS_PER_S, "hour"}, {60 * NS_PER_S, "minute"}, {NS_PER_S, "second"}};
	size_t i = 0;
	char a[HUMAN_BYTES];

	while (i + 1 < ARRAY_LEN(unit) && rules->span.span_ns < unit[i].ns)
		i++;
	human_size((uint64_t)((double)n_bytes * (double)unit[i].ns / (double)(ns ? ns : 1)), a);
	snprintf(buf, RULES_RATE_BYTES, "%s per %s", a, unit[i].name);
	return buf;
}

const char *finding_name(const struct finding *f, char buf[FRAME_NAME_BYTES])
{
	return f->blame ? rules_name(f->blame, buf) : NULL;
}

struct rules_top rules_find_top(const struct query_groups *groups, enum report_kind cost,
				size_t max, uint64_t min_key)
{
	struct rules_top top = {0};

	for (size_t i = 0; i < groups->n; i++) {
		const struct query_group *g = &groups->group[i];

		if (g->key < min_key || report_weight(cost, g) == 0)
			continue;
		top.n_all++;
		for (size_t k = 0; k < max && g; k++) {
			const struct query_group *moved = top.group[k];

			if (!moved || report_compare(cost, g, moved) < 0) {
				top.group[k] = g;
				g = moved;
			}
		}
	}
	top.n = top.n_all < max ? top.n_all : max;
	return top;
}

const char *rules_of_range(const struct rules *rules)
{
	return rules->is_range ? " of the range" : "";
}

static bool is_same_function(const struct frame *a, const struct frame *b)
{
	if (a->function && b->function)
		return a->function == b->function || strcmp(a->function, b->function) == 0;
	return !a->function && !b->function && a->code == b->code;
}

/* The frame to blame in the function's call site with most of the cost. */
static const struct frame *heaviest_frame(struct rules *rules, enum report_kind cost,
					  const struct frame *of)
{
	struct report *r = rules->r;
	const struct frame *best = of;
	uint64_t most = 0;

	for (size_t i = 0; i < r->groups.n; i++) {
		const struct query_group *g = &r->groups.group[i];
		const struct frame *f;

		if (report_weight(cost, g) <= most)
			continue;
		f = query_blame(r->query, (uint32_t)g->key);
		if (f && is_same_function(f, of)) {
			best = f;
			most = report_weight(cost, g);
		}
	}
	return best;
}

int rules_begin(struct rules *rules, enum finding_kind kind, enum report_kind cost,
		const struct query_group *function, struct finding *ret, struct err *err)
{
	size_t index = (size_t)(function - rules->blame.group);
	uint64_t total = report_weight(cost, &rules->r->groups.total);
	const struct frame *any = query_blame(rules->r->query, rules->blame.stack[index]);
	const char *name = query_group_name(rules->r->query, QUERY_BY_BLAME, function->key);

	*ret = (struct finding){
		.kind = kind,
		.cost = cost,
		.value = report_weight(cost, function),
		.page = "flame",
	};
	if (!any || !name)
		return err_set_memory(err,
				      1); /* no memory: rules leave out groups without a frame */
	ret->share = total ? (double)ret->value / (double)total : 0.0;
	ret->blame = heaviest_frame(rules, cost, any);
	return finding_add_exactly(ret, err, "blame_regex", name);
}

/* ---- over time ---- */

static uint64_t *copy_points(const uint64_t *value, size_t n, struct err *err)
{
	uint64_t *copy = malloc(n * sizeof(*copy));

	if (copy)
		memcpy(copy, value, n * sizeof(*copy));
	else
		err_set_memory(err, n * sizeof(*copy));
	return copy;
}

/* The functions of all findings, each once: two findings may be about one function. Returns their
 * number; of[i] is the place of the key of finding i. */
static size_t distinct_keys(const struct rules *rules, uint64_t key[FINDINGS_MAX],
			    size_t of[FINDINGS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < rules->to->n; i++) {
		of[i] = 0;
		while (of[i] < n && key[of[i]] != rules->key[i])
			of[i]++;
		if (rules->key[i] && of[i] == n)
			key[n++] = rules->key[i];
	}
	return n;
}

static int add_functions_timelines(struct rules *rules, size_t n_points, struct err *err)
{
	struct group_series s = {
		.by = QUERY_BY_BLAME,
		.kind = GROUP_SERIES_BYTES,
		.from_ns = rules->span.from_ns,
		.to_ns = rules_end_ns(rules),
		.n_buckets = n_points,
	};
	uint64_t key[FINDINGS_MAX], *value;
	size_t of[FINDINGS_MAX], n = distinct_keys(rules, key, of);
	int r;

	if (n == 0)
		return 0;
	value = calloc(2 * n * n_points, sizeof(*value));
	if (!value)
		return err_set_memory(err, 2 * n * n_points * sizeof(*value));
	r = group_series_with_leaked(rules->r->query, &s, key, n, value, err);
	for (size_t i = 0; i < rules->to->n && r == 0; i++) {
		struct finding *f = &rules->to->finding[i];

		if (!rules->key[i])
			continue;
		f->n_points = n_points;
		f->timeline = copy_points(value + of[i] * n_points, n_points, err);
		f->leaked_timeline = copy_points(value + (n + of[i]) * n_points, n_points, err);
		if (!f->timeline || !f->leaked_timeline)
			r = -ERR_MEMORY;
	}
	free(value);
	return r;
}

/* The timelines of a finding whose first condition is function_regex, not a function to blame. */
static int add_timeline(struct rules *rules, struct finding *f, size_t n_points, struct err *err)
{
	struct report *r = rules->r;
	struct group_series s = {.kind = GROUP_SERIES_BYTES,
				 .from_ns = rules->span.from_ns,
				 .to_ns = rules->span.from_ns + rules->span.span_ns + 1,
				 .n_buckets = n_points};
	struct filter narrow = *r->filter; /* borrows what r->filter owns */
	struct query *q = NULL;
	int n;

	ASSERT(strcmp(f->condition[0].name, "function_regex") == 0);
	narrow.function_regex = f->condition[0].value;
	f->timeline = calloc(n_points, sizeof(*f->timeline));
	f->leaked_timeline = calloc(n_points, sizeof(*f->leaked_timeline));
	f->n_points = n_points;
	if (!f->timeline || !f->leaked_timeline)
		return err_set_memory(err, 2 * n_points * sizeof(uint64_t));
	n = query_create(&r->context, &narrow, &q, err);
	if (n == 0)
		n = group_series_total(q, &s, f->timeline, err);
	s.kind = GROUP_SERIES_LEAKED_BYTES;
	if (n == 0)
		n = group_series_total(q, &s, f->leaked_timeline, err);
	query_destroy(q);
	return n;
}

/* A peak may be shorter than a part of the timeline: the part shows it all the same. */
static void show_peak(const struct rules *rules, struct finding *f)
{
	const struct query_span *span = &rules->span;
	uint64_t width_ns, at_ns = rules->r->peak.at_ns;
	size_t i;

	if (f->cost != REPORT_PEAK || !f->timeline || at_ns < span->from_ns)
		return;
	width_ns =
		query_timeline_width(span->from_ns, span->from_ns + span->span_ns + 1, f->n_points);
	i = (size_t)((at_ns - span->from_ns) / width_ns);
	if (i < f->n_points && f->timeline[i] < f->value)
		f->timeline[i] = f->value;
}

static int add_timelines(struct rules *rules, size_t n_points, struct err *err)
{
	int n = add_functions_timelines(rules, n_points, err);

	for (size_t i = 0; i < rules->to->n && n == 0; i++) {
		struct finding *f = &rules->to->finding[i];

		if (f->n_conditions && strcmp(f->condition[0].name, "function_regex") == 0)
			n = add_timeline(rules, f, n_points, err);
		show_peak(rules, f);
	}
	return n;
}

/* ---- all of them ---- */

/* The first finding of each kind comes before the second finding of any kind. */
static void put_in_order(struct rules *rules)
{
	struct findings *f = rules->to;
	struct finding sorted[FINDINGS_MAX];
	uint64_t key[FINDINGS_MAX];
	size_t n = 0;

	for (unsigned rank = 0; n < f->n; rank++) {
		unsigned n_seen[FINDING_N_KINDS] = {0};

		for (size_t i = 0; i < f->n; i++) {
			if (n_seen[f->finding[i].kind]++ == rank) {
				key[n] = rules->key[i];
				sorted[n++] = f->finding[i];
			}
		}
	}
	memcpy(f->finding, sorted, n * sizeof(*sorted));
	memcpy(rules->key, key, n * sizeof(*key));
}

static int apply_rules(struct rules *rules, struct err *err)
{
	int (*rule[])(struct rules * rules, struct err * err) = {
		rules_find_unrecorded, rules_find_leaks, rules_find_owner,   rules_find_growth,
		rules_find_peaks,      rules_find_churn, rules_find_outside, rules_find_copying,
	};
	int n;

	if (rules->is_killed)
		rule[1] = rules_find_held; /* not: leaks */
	if (rules->span.span_ns == 0)
		return 0; /* without a duration there is no early, late or often */
	n = query_groups(rules->r->query, QUERY_BY_BLAME, &rules->blame, err);
	for (size_t i = 0; i < ARRAY_LEN(rule) && n == 0; i++) {
		if (rules->r->context.cancel && atomic_load(rules->r->context.cancel))
			n = err_set(err, ERR_CANCELLED, "stopped");
		else
			n = rule[i](rules, err);
	}
	return n;
}

int findings_make(struct report *r, size_t n_points, struct findings *ret, struct err *err)
{
	struct findings f = {.is_without_rows = !store_has_rows(r->context.store)};
	struct rules rules = {
		.r = r,
		.to = &f,
		.has_rows = !f.is_without_rows,
		.span = query_span(r->query),
	};
	int n;

	rules.is_range = rules.span.span_ns < r->facts->duration_ns;
	rules.is_killed = !rules.is_range && rules_was_killed(r);
	n = apply_rules(&rules, err);

	if (n == 0)
		put_in_order(&rules);
	if (n == 0 && rules.is_killed)
		rules_rank_by_bytes(&rules);
	if (n == 0 && n_points > 0 && rules.has_rows)
		n = add_timelines(&rules, n_points, err);
	if (n == 0)
		n = remarks_add(&rules, err);
	query_groups_fini(&rules.blame);
	if (n < 0) {
		findings_fini(&f);
		return n;
	}
	*ret = f;
	return 0;
}

void findings_fini(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		finding_fini(&f->finding[i]);
	*f = (struct findings){0};
}
