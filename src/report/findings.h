/* report/findings.h - what in a recording deserves to be looked at first.
 *
 * A finding names a function, a figure, and the filter that reproduces the figure on every page and
 * with every command. docs/REPORT.md has the rules; the limits are in findings.c. Figures are exact.
 *
 * A function here is the one to blame for a call site: the innermost of the program's own code
 * (frame_class.h). All call sites of one function are added up.
 *
 * Of a report with a time range (conditions from, to) everything is about the range: what was allocated
 * in it, rates per second of it, its last quarter.
 *
 * A sound program has no finding. For it there are remarks: where most of its memory goes, in one
 * sentence each. They come behind the findings, and only where no finding says more about the same cost.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "report/report.h"

/* In the order in which they are shown. */
enum finding_kind {
	FINDING_LEAK, /* a function keeps more and more */
	FINDING_OWNER, /* what leaked was allocated in many functions, but passes through this one */
	FINDING_PEAK, /* a function has much more at the peak than most of the time */
	FINDING_CHURN, /* a function allocates for a moment, very often */
	FINDING_OUTSIDE, /* much of the process's memory is not in the heap */
	FINDING_COPYING, /* realloc copies much */
	FINDING_REMARK,
	FINDING_N_KINDS,
};

#define FINDINGS_MAX 16u
#define FINDING_MAX_CONDITIONS 2u

struct finding {
	enum finding_kind kind;
	enum report_kind cost; /* what value is, as a list of report.h counts it */
	uint64_t value;
	double share; /* of the total of that cost, 0 to 1 */
	const struct frame *blame; /* borrowed from the report's frames; NULL: none */
	char *title; /* "Cache::get keeps 2.58 GiB"; owned, as all below */
	char *text; /* part of a sentence that goes on; may be "" */
	/* Conditions, besides those of the report's own filter, under which `cost` is `value`. */
	struct {
		const char *name;
		char *value;
	} condition[FINDING_MAX_CONDITIONS];
	size_t n_conditions;
	const char *page; /* of the GUI, where to look next: "flame", "bottomup", "map", "chains" */
	/* Bytes of the function that are alive at the end of each of n_points equal parts of the
	 * report's time (query_span()), and those of them that were never freed; NULL when they were
	 * not asked for. */
	uint64_t *timeline;
	uint64_t *leaked_timeline;
	size_t n_points;
};

struct findings {
	struct finding finding[FINDINGS_MAX];
	size_t n;
	bool is_without_rows; /* the rules that look at memory over time could not be applied */
};

/* After report_make(). n_points: how long the timelines are; 0: none. A store without rows gives no
 * timelines, and the findings that need none. */
int findings_make(struct report *r, size_t n_points, struct findings *ret, struct err *err);
void findings_fini(struct findings *f); /* a zeroed struct is empty */

const char *finding_kind_name(enum finding_kind k); /* "leak", "owner" ... as the API has it */
const char *finding_kind_title(enum finding_kind k); /* "Likely leak" ...; "" for a remark */
const char *
finding_cost_name(enum report_kind cost); /* "peak", "leaked", "allocs", "temp", "bytes" */

#endif
