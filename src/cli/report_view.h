/* cli/report_view.h - a report, and the options for showing it.
 *
 * `report` makes a view; report_text.c, report_json.c and report_stack.c print it.
 */
#ifndef CLI_REPORT_VIEW_H
#define CLI_REPORT_VIEW_H

#include "cli/filter_args.h"
#include "report/findings.h"
#include "report/health.h"
#include "report/report.h"

struct report_options {
	bool is_json;
	bool is_full; /* every frame, names in full */
	bool is_brief; /* one screen: functions without stacks */
	bool has_sort;
	enum report_kind sort; /* the only list to show, if has_sort */
	bool has_limit;
	uint64_t limit; /* call sites per list, if has_limit; 0: all */
	const struct filter_args *filter;
	bool has_color;
	unsigned width; /* columns of the terminal; 0: no limit */
};

struct report_view {
	const char *path; /* of the recording */
	const struct report_options *options;
	const struct store *store;
	struct frames *frames;
	struct report report;
	struct health health;
	struct findings findings;
};

struct paint;

/* Prints the heading of a list: "Most leaked: 1.2 MiB in 3 blocks". */
void report_view_print_heading(const struct report_view *v, enum report_kind kind,
			       const struct paint *paint);

/* Makes report, health and findings. The caller sets the four fields before them, which are
 * borrowed. Returns 0 or -ERR_x; call report_view_fini() in both cases. */
int report_view_make(struct report_view *v, struct err *err);
void report_view_fini(struct report_view *v); /* a zeroed struct is empty */

#endif
