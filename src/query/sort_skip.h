/* query/sort_skip.h - getting near a position of a sorted list without sorting what comes before.
 *
 * Somebody who scrolls a table asks for rows 13 000 000 to 13 000 200 of the list by size. sort_next()
 * would need a pass over the store for each QUERY_SORT_ROWS rows before them. Here a pass counts rows
 * by their keys: SORT_SKIP_COUNTERS counters cut the range of keys in which the position lies, the
 * next pass cuts the range of one counter, until fewer than `near` rows lie between the start of the
 * range and the position. Rows with equal keys are counted by their numbers in the same way. So the number of
 * passes depends on how many different keys there are, not on the position: rarely more than four.
 *
 * Private to query/. Memory: 8 bytes for each counter, for each thread.
 */
#ifndef QUERY_SORT_SKIP_H
#define QUERY_SORT_SKIP_H

#include "query/sort_key.h"

#define SORT_SKIP_COUNTERS ((size_t)1 << 16)

struct sort_skip {
	struct sorted_row after; /* for sort_next(): the list goes on behind it; no row itself */
	bool has_after; /* false: from the start */
	uint64_t n_before; /* matching rows that `after` leaves behind: at most the position */
	uint64_t n_matching; /* all */
};

/* Where to begin for the row at `position`, from 0; near > 0. A position behind the end stands for the
 * last row. */
int sort_skip(struct query *q, const struct sort_order *order, uint64_t position, uint64_t near,
	      struct sort_skip *ret, struct err *err);

#endif
