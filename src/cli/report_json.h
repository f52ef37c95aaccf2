/* cli/report_json.h - a report for programs. docs/REPORT.md has the schema. */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include "cli/report_view.h"

#define REPORT_JSON_SCHEMA 1 /* grows when something changes its meaning or goes away */

/* Prints one object to stdout. */
int report_json_print(struct report_view *v, struct err *err);

#endif
