/* query/query_sort.h - matching rows in another order than time, in bounded memory.
 *
 * sort_next() makes one pass and gives the next `max` rows behind a given one. It is private to
 * query/: rows, regions and fragmentation walk over all rows with it, piece by piece.
 */
#ifndef QUERY_QUERY_SORT_H
#define QUERY_QUERY_SORT_H

#include "query/query_i.h"

struct sorted_row {
	uint64_t key; /* what enum query_sort says; all bits turned when descending */
	uint64_t row; /* likewise */
	uint64_t usable_bytes; /* these only when has_payload was asked for */
	uint64_t requested_bytes;
	uint32_t stack;
	uint32_t flags; /* columns.h */
};

struct sorted_rows {
	struct sorted_row *item; /* owned: free() */
	size_t n;
	uint64_t n_matching; /* behind `after` */
};

struct sort_order {
	const struct plan *plan;
	enum query_sort sort;
	bool is_descending;
	bool has_payload;
};

/* after: the last one of the piece before; NULL: from the start. */
int sort_next(struct query *q, const struct sort_order *order, const struct sorted_row *after,
	      size_t max, struct sorted_rows *ret, struct err *err);

/* query_rows() for such an order. */
int query_rows_sorted(struct query *q, const struct query_page *page,
		      bool (*fn)(void *user, const struct query_row *row), void *user,
		      uint64_t *n_matching, struct err *err);

#endif
