/* cli/report_view.c - see report_view.h. */
#include "cli/report_view.h"

#include "cli/paint.h"
#include "util/human.h"

/* Default numbers of call sites in a list. */
#define LIMIT_SORTED 20 /* --sort: one list only */
#define LIMIT_FIRST 10 /* the first of all lists */
#define LIMIT_OTHERS 5
#define LIMIT_JSON 20

static uint64_t limit_of(const struct report_options *o, enum report_kind kind)
{
	if (o->has_limit)
		return o->limit ? o->limit : UINT64_MAX;
	if (o->is_json)
		return LIMIT_JSON;
	if (o->has_sort)
		return LIMIT_SORTED;
	return kind == REPORT_PEAK ? LIMIT_FIRST : LIMIT_OTHERS;
}

int report_view_make(struct report_view *v, struct err *err)
{
	struct report *r = &v->report;
	int n;

	r->context = (struct query_context){
		.store = v->store,
		.frames = v->frames,
		.progress_label = "looking at allocations",
	};
	r->filter = &v->options->filter->filter;
	for (unsigned k = 0; k < REPORT_N_KINDS; k++) {
		r->is_wanted[k] =
			!v->options->is_brief && (!v->options->has_sort || v->options->sort == k);
		r->limit[k] = limit_of(v->options, k);
	}
	n = report_make(r, err);
	if (n == 0)
		n = health_make(v->store, v->frames, NULL, &v->health, err);
	if (n == 0)
		n = findings_make(r, 0, &v->findings, err);
	return n;
}

void report_view_fini(struct report_view *v)
{
	findings_fini(&v->findings);
	health_fini(&v->health);
	report_fini(&v->report);
}

void report_view_print_heading(const struct report_view *v, enum report_kind kind,
			       const struct paint *paint)
{
	static const char *const title[REPORT_N_KINDS] = {
		"Most at the peak", "Most leaked", "Most allocations", "Most temporary allocations",
		"Most bytes allocated"};
	const struct query_group *t = &v->report.groups.total;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	putchar('\n');
	paint_text(paint, PAINT_HEADING, "%s", title[kind]);
	if (kind == REPORT_PEAK) {
		printf(": %s in %s block%s, ", human_size(v->report.peak.n_bytes, a),
		       human_count(v->report.peak.n_alive, b),
		       v->report.peak.n_alive == 1 ? "" : "s");
		printf("%s after the start\n", human_duration(v->report.peak.at_ns, a));
	} else if (kind == REPORT_LEAKED) {
		printf(": %s in %s block%s\n", human_size(t->leaked_bytes, a),
		       human_count(t->n_leaked, b), t->n_leaked == 1 ? "" : "s");
	} else {
		printf(": %s, %s in all\n", human_count(report_count(kind, t), b),
		       human_size(report_bytes(kind, t), a));
	}
}
