/* report/health_i.h - between the files that make the lines and facts of health.h. */
#ifndef REPORT_HEALTH_I_H
#define REPORT_HEALTH_I_H

#include "report/health.h"

/* The next line; the last one again when there is no room. */
struct health_line *health_add(struct health *h, enum health_about about, enum health_state state,
			       const char *title, ...) PRINTF_LIKE(4, 5);

/* Adds to the detail of a line, with "; " before it unless it is the first part. */
void health_detail(struct health_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* health_code.c: what is known of the code in stacks that allocate. */
int health_add_stacks(struct health *h, const struct store *store, struct err *err);
int health_add_names(struct health *h, const struct store *store, struct frames *frames,
		     struct err *err);

/* health_facts.c */
int health_add_facts(struct health *h, const struct store *store, struct err *err);

#endif
