/* report/findings.h - what to look at first in a recording.
 *
 * A finding names a function, a figure, and the filter that gives the same figure on every page and
 * with every command. docs/REPORT.md has the rules; rule_*.c have their limits. Figures are exact.
 *
 * Most findings are about a function to blame: for each call site, the innermost function of the
 * program's own code (frame_class.h). All call sites of one function are added up.
 *
 * A report with a time range (conditions from, to) is about the range: allocations made in the
 * range, rates per second of the range, its last quarter.
 *
 * A sound program has no finding. Remarks say where most of its memory goes, in one sentence each.
 * They follow the findings, and only costs without a finding get a remark.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "query/frame_name.h"
#include "report/report.h"

/* In the order in which they are shown. */
enum finding_kind {
	FINDING_UNRECORDED, /* much memory, and a note says what the recorder could not record */
	FINDING_HELD, /* a function had much when the program was killed */
	FINDING_LEAK, /* a function keeps more and more */
	FINDING_OWNER, /* many functions allocated what leaked; nearly all pass through this one */
	FINDING_GROWTH, /* memory grew until the program ended, and was freed then */
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
	const char *page; /* of the GUI that shows more: "flame", "bottomup", "map", "chains" */
	/* Bytes of the function that are alive at the end of each of n_points equal parts of the
	 * report's time (query_span()), and how many of them were never freed. Where the cost is
	 * the peak, the part with the peak has the value. NULL: the finding has no timeline. */
	uint64_t *timeline;
	uint64_t *leaked_timeline;
	size_t n_points;
};

struct findings {
	struct finding finding[FINDINGS_MAX];
	size_t n;
	bool is_without_rows; /* the rules that look at memory over time could not be applied */
};

/* Finds what stands out; call it after report_make(). n_points: length of the timelines; 0: none. A
 * store without rows gives no timelines, and only the findings that need no rows. Returns 0 or the
 * error of a query; free with findings_fini(). */
int findings_make(struct report *r, size_t n_points, struct findings *ret, struct err *err);
void findings_fini(struct findings *f); /* a zeroed struct is empty */

/* The function as the title names it, in buf or borrowed. NULL: the finding is about none. */
const char *finding_name(const struct finding *f, char buf[FRAME_NAME_BYTES]);

const char *finding_kind_name(enum finding_kind k); /* "leak", "owner" ... as the API has it */
const char *finding_kind_title(enum finding_kind k); /* "Likely leak" ...; "" for a remark */
const char *
finding_cost_name(enum report_kind cost); /* "peak", "leaked", "allocs", "temp", "bytes" */

#endif
