/* cli/report_brief.h - the lists of a report on one screen: a line per function, no stacks. */
#ifndef CLI_REPORT_BRIEF_H
#define CLI_REPORT_BRIEF_H

#include "cli/paint.h"
#include "cli/report_view.h"

/* Prints the functions with most leaked bytes and most bytes at the peak, one line for each other
 * list, and how to see more. Returns 0 or -ERR_x. */
int report_brief_print(struct report_view *v, const struct paint *paint, struct err *err);

#endif
