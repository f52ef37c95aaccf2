/* query/lifetimes.h - how long allocations lived: a histogram and the exact median.
 *
 * A lifetime is the time from an allocation to its release: its free, or the realloc that replaced
 * the block. An allocation that was never released has no lifetime and is counted beside the
 * buckets.
 *
 * The bounds of the buckets are 1, 2 and 5 times powers of ten: 0 to 1 ns, to 2 ns, to 5 ns, to 10
 * ns ...
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
	/* From the first bucket that is not empty to the last one, without gaps. */
	struct lifetimes_bucket bucket[LIFETIMES_MAX_BUCKETS];
	size_t n_buckets;
	uint64_t freed_count, freed_bytes;
	uint64_t never_count, never_bytes; /* never freed */
	/* The median lifetime of the freed allocations: as many have at most this lifetime as have
	 * at least this lifetime. Of two in the middle: the shorter one. Meaningless if
	 * freed_count is 0. */
	uint64_t median_ns;
};

/* One pass for the histogram. Up to four passes over the column of lifetimes for the median: each
 * narrows the range of the median to a thousandth or less. */
int lifetimes_count(struct query *q, struct lifetimes *ret, struct err *err);

#endif
