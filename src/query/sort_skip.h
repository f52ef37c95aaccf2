/* query/sort_skip.h - gets near a position of a sorted list without sorting the rows before it.
 *
 * A user who scrolls a table asks for rows 13 000 000 to 13 000 200 of the list by size.
 * sort_next() would need one pass over the store for each QUERY_SORT_ROWS rows before them.
 * Instead:
 *  1. A pass counts the rows by key. SORT_SKIP_COUNTERS counters divide the range of keys. The
 *     sums show which counter holds the position.
 *  2. The next pass divides the range of that counter.
 *  3. This repeats until fewer than `near` rows lie between the start of the range and the
 *     position. Rows with equal keys are divided by their numbers in the same way.
 * The number of passes depends on how many different keys there are, not on the position: rarely
 * more than four.
 *
 * Private to query/. Memory: 8 bytes per counter for each thread.
 */
#ifndef QUERY_SORT_SKIP_H
#define QUERY_SORT_SKIP_H

#include "query/sort_key.h"

#define SORT_SKIP_COUNTERS ((size_t)1 << 16)

struct sort_skip {
	struct sorted_row after; /* for sort_next(): the list continues after this key; not a row
				  * itself */
	bool has_after; /* false: from the start */
	uint64_t n_before; /* matching rows up to `after`: at most the position */
	uint64_t n_matching; /* all */
};

/* Finds where sort_next() has to start for the row at `position` (from 0). near must be above 0. A
 * position after the end means the last row. */
int sort_skip(struct query *q, const struct sort_order *order, uint64_t position, uint64_t near,
	      struct sort_skip *ret, struct err *err);

#endif
