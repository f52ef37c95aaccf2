/* query/estimate.h - estimates: passes that read a part of the blocks of rows. Private to query/.
 *
 * A query whose context has sample_blocks reads an evenly spread part of the blocks that can hold
 * matching rows, and multiplies the sums of the rows that it read:
 *
 *	blocks of the plan      0 1 2 3 4 5 6 7 8 9      can match, by minimum and maximum: 1 2 4 5 7 8
 *	sample_blocks = 3       one of (1 2), one of (4 5), one of (7 8); figures times 2
 *
 * The blocks are chosen once, so all passes of a query read the same rows, and their figures agree
 * with each other. Equal queries choose equal blocks. If no more blocks than sample_blocks can
 * match, all of them are read and the answer is exact.
 *
 * Sums, counts and levels are multiplied. Extremes (first and last moment, smallest and largest
 * size) and medians are those of the rows that were read.
 */
#ifndef QUERY_ESTIMATE_H
#define QUERY_ESTIMATE_H

#include "query/query_i.h"

struct estimate {
	uint64_t *blocks; /* owned: set of the blocks that passes read */
	uint64_t n_matching; /* blocks that can hold matching rows */
	uint64_t n_read; /* of these; at least 1 */
	atomic_bool was_used; /* a pass has read the chosen blocks only */
	atomic_bool
		is_of_table; /* without a pass: the table of stacks gave figures that are near */
};

/* Does a pass read this block? */
static inline bool estimate_reads(const struct estimate *e, uint64_t block)
{
	return !e || set_has(e->blocks, block);
}

/* A sum over the rows that were read, for all rows. */
uint64_t estimate_scale(const struct query *q, uint64_t sum);
void estimate_scale_group(const struct query *q, struct query_group *g);
void estimate_scale_all(const struct query *q, uint64_t *sum, size_t n);

/* What all rows together have alive at most in [from_ns, end_ns), by the store's table of buckets:
 * no estimate of a level is higher. A sample of blocks is one of moments, too, so levels made of it
 * have peaks where a block was read. */
struct estimate_bound {
	uint64_t n_bytes, count;
};
struct estimate_bound estimate_bound(const struct query *q, uint64_t from_ns, uint64_t end_ns);

/* Where conditions on stacks only choose the rows, their sums are known, and only the peak is not. Says
 * whether what the stacks had at the peak of the recording will do: not if it is far below what one of
 * them had at its own. The groups, by stack, are those of the table. */
bool estimate_is_near_peak(struct query *q, const struct query_groups *g);

/* Sums by stack are at most those of the call sites; peaks together at most that of all rows. */
void estimate_bound_groups(const struct query *q, bool is_by_stack, struct query_groups *g);

#endif
