/* report/health_i.h - what the files that make lines and facts share. Private to report/. */
#ifndef REPORT_HEALTH_I_H
#define REPORT_HEALTH_I_H

#include "report/health.h"

/* Begins the next line. When there is no room, the last line is replaced. */
struct health_line *health_add(struct health *h, enum health_about about, enum health_state state,
			       const char *title, ...) PRINTF_LIKE(4, 5);

/* Adds a part to the detail of a line, with "; " between parts. */
void health_detail(struct health_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Lines about stacks that were cut and about names of code. health_code.c */
int health_add_stacks(struct health *h, const struct store *store, struct err *err);
int health_add_names(struct health *h, const struct store *store, struct frames *frames,
		     struct err *err);

/* Facts about the process. health_facts.c */
int health_add_facts(struct health *h, const struct store *store, struct err *err);

#endif
