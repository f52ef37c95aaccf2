/* cli/report_text.h - a report for people: on a terminal, or plain in a pipe. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include "cli/report_view.h"

/* Prints to stdout. */
int report_text_print(struct report_view *v, struct err *err);

#endif
