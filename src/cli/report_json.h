/* cli/report_json.h - a report as JSON. docs/REPORT.md has the schema. */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include "cli/report_view.h"

#define REPORT_JSON_SCHEMA 1 /* grows when a field changes its meaning or is removed */

/* Prints one object to stdout. Returns 0 or -ERR_x; what was printed until then stays. */
int report_json_print(struct report_view *v, struct err *err);

#endif
