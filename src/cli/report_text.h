/* cli/report_text.h - a report for people: on a terminal, or plain in a pipe. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include "cli/report.h"

/* Prints to stdout. */
int report_text_print(struct report *r, struct err *err);

#endif
