/* query/lifetimes.h - how long allocations lived: a histogram and the exact median.
 *
 * A lifetime is the time from an allocation to its free, or to the realloc that ended it. An
 * allocation that was never freed has none and is counted beside the buckets.
 *
 * Bounds of buckets are 1, 2 and 5 times powers of ten: 0 to 1 ns, to 2 ns, to 5 ns, to 10 ns ...
 */
#ifndef QUERY_LIFETIMES_H
#define QUERY_LIFETIMES_H

#include "query/query.h"

#define LIFETIMES_MAX_BUCKETS 60u

struct lifetimes_bucket {
	uint64_t min_ns, max_ns; /* both inclusive */
	uint64_t count;
	uint64_t n_bytes; /* requested */
};

struct lifetimes {
	/* From the first bucket that holds something to the last one, without gaps. */
	struct lifetimes_bucket bucket[LIFETIMES_MAX_BUCKETS];
	size_t n_buckets;
	uint64_t freed_count, freed_bytes;
	uint64_t never_count, never_bytes; /* never freed */
	/* Of those that were freed; means nothing when freed_count is 0. As many live at most so long
	 * as live at least so long; of two in the middle the shorter one. */
	uint64_t median_ns;
};

/* One pass for the histogram, and up to four over the column of lifetimes alone for the median: each
 * narrows the range in which the median lies to a thousandth or less. */
int lifetimes_count(struct query *q, struct lifetimes *ret, struct err *err);

#endif
