/* query/regions.h - the ranges of addresses that blocks took.
 *
 * Threads pass over the rows once and keep the union of all ranges: sorted, without overlaps. A block
 * that lies in a range that is known already, as most do, costs a search. Bounded memory: of more
 * than REGIONS_MAX ranges the lowest ones are kept, and a further pass finds the others.
 */
#ifndef QUERY_REGIONS_H
#define QUERY_REGIONS_H

#include "query/query.h"

#define REGIONS_MAX ((size_t)1 << 20)

/* Calls fn for the address ranges that matching rows took at any time, ascending, until fn returns
 * false. Ranges that are at most gap_bytes apart become one. Can be cancelled, as all calls of
 * query.h. */
int regions_each(struct query *q, uint64_t gap_bytes,
		 bool (*fn)(void *user, uint64_t start, uint64_t end), void *user, struct err *err);

/* The same with at most max ranges in memory, for tests. */
int regions_each_of(struct query *q, uint64_t gap_bytes, size_t max,
		    bool (*fn)(void *user, uint64_t start, uint64_t end), void *user,
		    struct err *err);

#endif
