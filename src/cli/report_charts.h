/* cli/report_charts.h - views of a recording for the terminal: memory over time, sizes, callers.
 *
 * Each view answers for the allocations that the filter lets pass. All return 0 or -ERR_x; what was
 * printed until then stays.
 */
#ifndef CLI_REPORT_CHARTS_H
#define CLI_REPORT_CHARTS_H

#include "cli/report_view.h"

enum report_chart {
	REPORT_CHART_NONE,
	REPORT_CHART_TIMELINE,
	REPORT_CHART_SIZES,
	REPORT_CHART_CALLERS, /* functions that allocate, and who calls them */
	REPORT_CHART_CALLEES, /* from main() inwards */
};

/* False: there is no such view. */
bool report_chart_parse(const char *text, enum report_chart *ret);

/* Prints a view of v, whose path, options, store and frames are set. The cost that bars and shares
 * show is options->sort, or what suits the view. */
int report_chart_print(enum report_chart chart, struct report_view *v, struct err *err);

/* The two trees (report_tree.c); v->report has a query. */
int report_tree_print(struct report_view *v, bool is_callers, struct err *err);

#endif
