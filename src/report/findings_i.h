/* report/findings_i.h - what the files that make findings share. Private to report/. */
#ifndef REPORT_FINDINGS_I_H
#define REPORT_FINDINGS_I_H

#include "query/frame_name.h"
#include "report/findings.h"
#include "util/human.h"

/* ---- a finding ---- */

/* Texts of a finding: printf into fresh memory. -ERR_MEMORY when there is none. */
int finding_set_title(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
int finding_set_text(struct finding *f, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds a condition: name is a parameter of query/filter.def, and static. */
int finding_add_condition(struct finding *f, struct err *err, const char *name, const char *fmt,
			  ...) PRINTF_LIKE(4, 5);

/* Adds a condition with a regular expression that matches this text and no other (a text beyond
 * 4000 bytes is cut: the expression then matches all texts that begin in the same way). */
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
	bool is_killed; /* what was alive at the end is no leak: see rule_killed.c */
	struct findings *to;
	uint64_t key[FINDINGS_MAX]; /* of each finding: QUERY_BY_BLAME; 0: of no such function */
};

/* Moves a finding into the result. Frees the finding instead when there is no room, or when making it
 * failed (n is an error). Returns n. */
int rules_take(struct rules *rules, struct finding *f, uint64_t key, int n);

/* Begins a finding about one function to blame, an item of rules->blame: sets the value, its share,
 * the frame of the call site with most of the cost, and the condition that lets only this function
 * pass. */
int rules_begin(struct rules *rules, enum finding_kind kind, enum report_kind cost,
		const struct query_group *function, struct finding *ret, struct err *err);

/* The function as titles name it: its short name, or "module+0x1234". */
#define RULES_NAME_BYTES FRAME_NAME_BYTES
const char *rules_name(const struct frame *f, char buf[RULES_NAME_BYTES]);

/* A moment of the run: "04:52:17", or "1.25 s" in a run below 100 seconds. */
char *rules_moment(const struct rules *rules, uint64_t at_ns, char buf[HUMAN_BYTES]);

/* "426 MiB per hour": the rate of n_bytes in ns, per a unit of time that suits the length of the
 * report. */
#define RULES_RATE_BYTES (HUMAN_BYTES + 16)
char *rules_rate(const struct rules *rules, uint64_t n_bytes, uint64_t ns,
		 char buf[RULES_RATE_BYTES]);

/* " of the range" where the report is about a part of the recording, else "". */
const char *rules_of_range(const struct rules *rules);

/* The groups with most of a cost, greatest first. */
#define RULES_TOP_MAX 16u
struct rules_top {
	const struct query_group *group[RULES_TOP_MAX]; /* n of them, then NULL */
	size_t n;
	size_t n_all; /* groups that have some of the cost */
};

/* Finds at most max of them, max <= RULES_TOP_MAX. Groups with a key below min_key are left out. */
struct rules_top rules_find_top(const struct query_groups *groups, enum report_kind cost,
				size_t max, uint64_t min_key);

/* Is the memory of the group a likely leak (docs/REPORT.md), as far as its sums tell? */
bool rules_is_leak(const struct rules *rules, const struct query_group *g);

/* Did something end the program that it could do nothing about? */
bool rules_was_killed(const struct report *r);

/* Of a killed program: is so much of a group alive at the end that it is worth a finding? */
bool rules_is_held(const struct rules *rules, const struct query_group *g);

/* "+426 MiB per hour in the last quarter", or that there is no growth. late_bytes: grown in the last
 * quarter, of bytes. */
char *rules_held_growth(const struct rules *rules, uint64_t bytes, uint64_t late_bytes,
			char buf[RULES_RATE_BYTES + 32]);

/* Of a killed program: puts the findings about what was held at the end first, the greatest first. */
void rules_rank_by_bytes(struct rules *rules);

/* Memory over time, in RULES_POINTS equal parts: a multiple of eight. */
#define RULES_POINTS 48u

/* Does memory still grow at the end? What is alive in the last quarter must be, in the mean, at
 * least `least` bytes more than in the quarter before, and in its second half a fourth of that more
 * than in its first. A cache that is full does not pass, also if it was filled in the third
 * quarter: what it holds is new, but it holds no more than before. value: n points, n >= 8. */
bool rules_grows(const uint64_t *value, size_t n, double least);

/* Does memory rise all the time, and by a tenth of `bytes` in the last quarter? */
bool rules_rises(const uint64_t *value, size_t n, double bytes);

/* Of a leak: does what is alive still grow? value: RULES_POINTS points. */
bool rules_leak_grows(const struct query_group *g, const uint64_t *value);

/* Is most of what a group had at the peak freed? Else the rules about leaks find it. */
bool rules_is_freed(const struct query_group *g);

/* By how much it grew in the last quarter. value: RULES_POINTS points. */
uint64_t rules_late_growth(const uint64_t *value);

/* The growth of a leak in the last quarter. value: RULES_POINTS points; NULL: not known. */
uint64_t rules_late_bytes(const struct query_group *g, const uint64_t *value);

/* The end of the time that the report is about, for the functions below. */
uint64_t rules_end_ns(const struct rules *rules);

/* Bytes alive over time of functions to blame, until to_ns. ret: RULES_POINTS points of each. */
int rules_count_groups(const struct rules *rules, const uint64_t *key, size_t n_keys,
		       uint64_t to_ns, uint64_t *ret, struct err *err);

/* Bytes alive over time of what a narrower filter lets pass, until to_ns. ret: RULES_POINTS
 * points. */
int rules_count_alive(const struct rules *rules, const struct filter *narrow, uint64_t to_ns,
		      uint64_t *ret, struct err *err);

/* Looks for the function of own code through which nearly all of a cost passes: REPORT_LEAKED or
 * REPORT_PEAK. 1: found, and its finding was added; 0: there is none. rule_owner.c */
int rules_take_owner(struct rules *rules, enum report_kind cost, struct err *err);

/* Each adds the findings of one kind, the greatest first. 0, or the error of a query. */
int rules_find_held(struct rules *rules, struct err *err); /* rule_killed.c */
int rules_find_leaks(struct rules *rules, struct err *err); /* rule_function.c */
int rules_find_peaks(struct rules *rules, struct err *err);
int rules_find_churn(struct rules *rules, struct err *err);
int rules_find_owner(struct rules *rules, struct err *err); /* rule_owner.c */
int rules_find_growth(struct rules *rules, struct err *err); /* rule_growth.c */
int rules_find_unrecorded(struct rules *rules, struct err *err); /* rule_process.c */
int rules_find_outside(struct rules *rules, struct err *err); /* nothing if the former does */
int rules_find_copying(struct rules *rules, struct err *err);

/* Adds the remarks on costs that have no finding. remarks.c */
int remarks_add(struct rules *rules, struct err *err);

#endif
