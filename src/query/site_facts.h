/* query/site_facts.h - what a table of call sites shows besides costs: threads, lifetimes,
 * markers.
 *
 * Looks at the matching rows of some stacks. One pass over the rows; more passes if the counters
 * of all stacks together would need more than SITE_FACTS_CELLS cells. Calls can be cancelled, as
 * all calls of query.h.
 */
#ifndef QUERY_SITE_FACTS_H
#define QUERY_SITE_FACTS_H

#include "query/query.h"

#define SITE_FACTS_CELLS ((size_t)1 << 21) /* 8 bytes each, for each thread of the pass */

struct site_facts {
	uint64_t n_threads; /* different threads that allocated; 0: no row matches */
	uint32_t busiest; /* thread with most allocations; among equals the smaller index */
	uint64_t min_marker, max_marker;
	uint64_t n_freed;
	/* Bounds of the median lifetime of the freed allocations, both included. The median lies
	 * in a class of values that is at most 3.2 % wide. Of two in the middle: the shorter one.
	 * Meaningless if n_freed is 0. lifetimes.h has the exact figure. */
	uint64_t median_min_ns, median_max_ns;
};

/* ret[i] is about stack[i]. The numbers must be valid and different (asserted). */
int site_facts_of(struct query *q, const uint32_t *stack, size_t n, struct site_facts *ret,
		  struct err *err);

#endif
