/* query/query_sort.h - matching rows in another order than time, in bounded memory.
 *
 * sort_next() makes one pass and gives the next `max` rows behind a given one. It is private to
 * query/: rows, regions and fragmentation walk over all rows with it, piece by piece.
 */
#ifndef QUERY_QUERY_SORT_H
#define QUERY_QUERY_SORT_H

#include "query/sort_key.h"

struct sorted_rows {
	struct sorted_row *item; /* owned: free() */
	size_t n;
	uint64_t n_matching; /* behind `after` */
};

/* after: the last one of the piece before; NULL: from the start. */
int sort_next(struct query *q, const struct sort_order *order, const struct sorted_row *after,
	      size_t max, struct sorted_rows *ret, struct err *err);

/* query_rows() for such an order. */
int query_rows_sorted(struct query *q, const struct query_page *page,
		      bool (*fn)(void *user, const struct query_row *row), void *user,
		      uint64_t *n_matching, struct err *err);

#endif
