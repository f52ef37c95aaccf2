/* cli/report_text.h - a report as text, coloured on a terminal. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include "cli/report_view.h"

/* Prints to stdout. Returns 0 or -ERR_x; what was printed until then stays. */
int report_text_print(struct report_view *v, struct err *err);

#endif
