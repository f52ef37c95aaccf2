/* cli/report_findings.h - what in a report deserves to be read first, as sentences. */
#ifndef CLI_REPORT_FINDINGS_H
#define CLI_REPORT_FINDINGS_H

#include "cli/report.h"

#define REPORT_MAX_FINDINGS 8

struct report_findings {
	char *text[REPORT_MAX_FINDINGS]; /* owned */
	size_t n;
};

/* Says what stands out by size; nothing when nothing does. Memory that is out means fewer. */
void report_findings_make(struct report *r, struct report_findings *ret);
void report_findings_fini(struct report_findings *f);

#endif
