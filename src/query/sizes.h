/* query/sizes.h - matching allocations by their requested size, in powers of two.
 *
 * The buckets are 0, 1, 2, 3 to 4, 5 to 8, 9 to 16 ... bytes. Besides its figures a bucket shows
 * how much of one chosen cost comes from each of a few functions: the functions to blame
 * (QUERY_BY_BLAME) with most of that cost over all sizes.
 */
#ifndef QUERY_SIZES_H
#define QUERY_SIZES_H

#include "query/query.h"

#define SIZES_MAX_BUCKETS 66u
#define SIZES_MAX_PARTS 32u

struct sizes_bucket {
	uint64_t min_bytes, max_bytes; /* both inclusive */
	struct query_group cost; /* key: unused */
	uint64_t part[SIZES_MAX_PARTS]; /* each part's share of the chosen cost */
};

/* A function to blame. */
struct sizes_part {
	uint64_t key; /* as QUERY_BY_BLAME */
	uint32_t stack; /* its stack with most of the cost: query_blame() */
	uint64_t value; /* the cost over all sizes; not 0 */
};

struct sizes {
	/* From the first bucket that is not empty to the last one, without gaps. */
	struct sizes_bucket bucket[SIZES_MAX_BUCKETS];
	size_t n_buckets;
	struct sizes_part part[SIZES_MAX_PARTS]; /* most first */
	size_t n_parts;
};

/* max_parts: at most SIZES_MAX_PARTS. Groups by BLAME first, then makes one pass over the rows; later
 * calls with the same conditions, whatever their cost, share both (shared_results.h).
 * query_want() can leave out the peak figures. */
int sizes_count(struct query *q, enum query_cost cost, unsigned max_parts, struct sizes *ret,
		struct err *err);

#endif
