/* query/query_sort.h - matching rows in another order than time, in bounded memory.
 *
 * sort_next() makes one pass and returns the next `max` rows after a given row. Private to query/:
 * rows, regions and fragmentation use sort_next() to walk over all rows, piece by piece.
 */
#ifndef QUERY_QUERY_SORT_H
#define QUERY_QUERY_SORT_H

#include "query/sort_key.h"

struct sorted_rows {
	struct sorted_row *item; /* owned: free() */
	size_t n;
	uint64_t n_matching; /* all matching rows after `after`, not only those in item */
};

/* after: the last row of the piece before. NULL: from the start. */
int sort_next(struct query *q, const struct sort_order *order, const struct sorted_row *after,
	      size_t max, struct sorted_rows *ret, struct err *err);

/* query_rows() for orders other than time. */
int query_rows_sorted(struct query *q, const struct query_page *page,
		      bool (*fn)(void *user, const struct query_row *row), void *user,
		      uint64_t *n_matching, struct err *err);

#endif
