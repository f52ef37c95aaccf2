/* cli/report_view.c - see report_view.h. */
#include "cli/report_view.h"

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
		r->is_wanted[k] = !v->options->has_sort || v->options->sort == k;
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
