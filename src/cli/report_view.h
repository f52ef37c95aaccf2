/* cli/report_view.h - a report and how it is to be shown: what report_text.c, report_json.c and
 * report_stack.c print.
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
	bool has_sort;
	enum report_kind sort; /* has_sort: only this list */
	bool has_limit;
	uint64_t limit; /* sites per list; 0: all */
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

/* Makes report, health and findings. The first four fields are set by the caller and borrowed. */
int report_view_make(struct report_view *v, struct err *err);
void report_view_fini(struct report_view *v); /* a zeroed struct is empty */

#endif
