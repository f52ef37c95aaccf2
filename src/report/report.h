/* report/report.h - where the memory of a recording went: lists of call sites, as data.
 *
 * Five lists of call sites (stacks that allocated), each in the order of one figure. All figures
 * are exact and come from query/query.h. findings.h has sentences on what stands out, health.h says
 * how far the recording can be trusted. `memory-profiler-cli report` and the server's /api/v1 use
 * all three and turn them into text and JSON.
 *
 * Threads: one at a time per struct report; any number of reports may share a store and its frames.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "query/frame_class.h"
#include "query/query.h"

enum report_kind {
	REPORT_PEAK, /* bytes alive at the peak */
	REPORT_LEAKED, /* bytes never freed */
	REPORT_ALLOCATIONS, /* number of allocations */
	REPORT_TEMPORARY, /* number of temporary allocations */
	REPORT_BYTES, /* bytes allocated in all */
	REPORT_N_KINDS,
};

struct report_list {
	const struct query_group **site; /* sites with bytes or blocks, greatest first; owned */
	size_t n_sites;
	size_t n_shown; /* n_sites, or the limit if that is less */
};

struct report {
	/* Set by the caller, and borrowed for the life of the report. */
	struct query_context context;
	const struct filter *filter;
	struct query *query; /* of context and filter; NULL: report_make() makes one and owns it */
	bool is_wanted[REPORT_N_KINDS]; /* lists to make */
	uint64_t limit[REPORT_N_KINDS]; /* sites per list; UINT64_MAX: all */

	/* Made by report_make(). */
	const struct store_facts *facts;
	bool owns_query;
	struct query_groups groups; /* by stack, of what the filter lets pass */
	struct query_peak peak; /* of what the filter lets pass */
	struct report_list list[REPORT_N_KINDS];
};

/* Asks all queries and makes the lists. Looks up the names of all code at once, so that binaries
 * are read in parallel. 0 or the error of a query; free with report_fini() in both cases. */
int report_make(struct report *r, struct err *err);
void report_fini(struct report *r); /* a zeroed struct is empty */

/* The figure that orders a list (a count for REPORT_ALLOCATIONS and REPORT_TEMPORARY, else bytes);
 * the bytes and the count of a list. */
uint64_t report_weight(enum report_kind kind, const struct query_group *g);
uint64_t report_bytes(enum report_kind kind, const struct query_group *g);
uint64_t report_count(enum report_kind kind, const struct query_group *g);

/* The order of a list, as for qsort(): greatest first; sites with equal figures by number of
 * stack. */
int report_compare(enum report_kind kind, const struct query_group *a, const struct query_group *b);

/* "peak", "leaked" ... as --sort takes them. */
const char *report_kind_name(enum report_kind kind);
bool report_kind_parse(const char *text, enum report_kind *ret);

/* The frame that names a call site: the frame to blame (frame_class_blame()). NULL: no frame. */
const struct frame *report_site_frame(struct report *r, uint32_t stack);

#endif
