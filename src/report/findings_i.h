/* report/findings_i.h - between the files that make findings. */
#ifndef REPORT_FINDINGS_I_H
#define REPORT_FINDINGS_I_H

#include "report/findings.h"

/* Texts of a finding: printf into fresh memory. -ERR_MEMORY when there is none. */
int finding_set_title(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
int finding_set_text(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
void finding_fini(struct finding *f);

/* Moves a finding in; it is freed when there is no room. */
void findings_take(struct findings *to, struct finding *f);

/* remarks.c: what can be said of any program. Costs that have a finding are left out. */
int remarks_add(struct report *r, struct findings *to, struct err *err);

#endif
