/* report/findings_i.h - between the files that make findings. */
#ifndef REPORT_FINDINGS_I_H
#define REPORT_FINDINGS_I_H

#include "report/findings.h"
#include "util/human.h"

/* ---- a finding ---- */

/* Texts of a finding: printf into fresh memory. -ERR_MEMORY when there is none. */
int finding_set_title(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
int finding_set_text(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds a condition: name is a parameter of query/filter.def, and static. */
int finding_add_condition(struct finding *f, struct err *err, const char *name, const char *fmt,
			  ...) PRINTF_LIKE(4, 5);

/* The same with an expression that matches this text and no other. */
int finding_add_exactly(struct finding *f, struct err *err, const char *name, const char *text);

void finding_fini(struct finding *f);

/* ---- rules ---- */

/* What the rules look at. */
struct rules {
	struct report *r;
	struct query_groups blame; /* by function to blame */
	bool has_rows; /* memory over time can be looked at */
	struct query_span span; /* the time that the report is about */
	bool is_range; /* ... which is not the whole recording */
	struct findings *to;
	uint64_t key[FINDINGS_MAX]; /* of each finding: QUERY_BY_BLAME; 0: of no such function */
};

/* Moves a finding in; it is freed when there is no room. */
void rules_take(struct rules *rules, struct finding *f, uint64_t key);

/* A finding about one function to blame: the frame with most of the cost among its call sites, the
 * value, its share, and the condition that keeps this function alone. */
int rules_begin(struct rules *rules, enum finding_kind kind, enum report_kind cost,
		const struct query_group *function, struct finding *ret, struct err *err);

/* The function as titles name it: short, or "module+0x1234". */
#define RULES_NAME_BYTES 544
const char *rules_name(const struct frame *f, char buf[RULES_NAME_BYTES]);

/* "04:52:17", or "1.25 s after the start" in a short run. */
char *rules_moment(const struct rules *rules, uint64_t at_ns, char buf[HUMAN_BYTES]);

/* "426 MiB per hour": so many bytes in so much time, in a unit that suits the span. */
#define RULES_RATE_BYTES (HUMAN_BYTES + 16)
char *rules_rate(const struct rules *rules, uint64_t n_bytes, uint64_t ns,
		 char buf[RULES_RATE_BYTES]);

/* " of the range" where the report is about a part of the recording, else "". */
const char *rules_of_range(const struct rules *rules);

/* Is this much, kept like this, a leak? */
bool rules_is_leak(const struct rules *rules, const struct query_group *g);

/* Each adds the findings of its kind, the greatest first. */
int rules_find_leaks(struct rules *rules, struct err *err); /* rule_function.c */
int rules_find_peaks(struct rules *rules, struct err *err);
int rules_find_churn(struct rules *rules, struct err *err);
int rules_find_owner(struct rules *rules, struct err *err); /* rule_owner.c */
int rules_find_outside(struct rules *rules, struct err *err); /* rule_process.c */
int rules_find_copying(struct rules *rules, struct err *err);

/* remarks.c: what can be said of any program. Costs that have a finding are left out. */
int remarks_add(struct rules *rules, struct err *err);

#endif
