/* query/site_facts.h - what a table of call sites says beside costs: threads, lifetimes, markers.
 *
 * Of matching rows, for some stacks at a time: one pass over the rows, more when the counters of all
 * stacks together would take more than SITE_FACTS_CELLS. Can be cancelled as others of query.h.
 */
#ifndef QUERY_SITE_FACTS_H
#define QUERY_SITE_FACTS_H

#include "query/query.h"

#define SITE_FACTS_CELLS ((size_t)1 << 21) /* 8 bytes each, for each thread of the pass */

struct site_facts {
	uint64_t n_threads; /* different ones that allocated; 0: nothing matches */
	uint32_t busiest; /* index of the thread with most allocations; of equals the smaller one */
	uint64_t min_marker, max_marker;
	uint64_t n_freed;
	/* Bounds of the median lifetime of those that were freed, both included: it lies in a class
	 * of values that is at most 3.2 % wide. Of two in the middle the shorter one. The exact
	 * figure: lifetimes.h. Mean nothing when n_freed is 0. */
	uint64_t median_min_ns, median_max_ns;
};

/* ret[i] is about stack[i]. The numbers must be those of stacks and must differ (asserted). */
int site_facts_of(struct query *q, const uint32_t *stack, size_t n, struct site_facts *ret,
		  struct err *err);

#endif
