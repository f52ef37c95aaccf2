/* export/time_order.h - the allocations and frees of a query's rows, in the order of time.
 *
 * Rows come in the order of their allocation. The free of a row waits in a heap until all earlier
 * events are reported. When more frees wait than a limit, the later half is sorted and moved to a
 * temporary file without a name; frees in the file are merged with those in the heap. So memory
 * stays fixed, however many rows are alive.
 *
 * At equal times frees come before allocations, but never before the allocation of their own row.
 * A free here is the event that ends a row: a free(), or the realloc() that replaced the block.
 */
#ifndef EXPORT_TIME_ORDER_H
#define EXPORT_TIME_ORDER_H

#include "query/query.h"

/* What the caller wants to know about a row when the row is freed. Two values that the module
 * stores and compares (so that equal input gives equal output) but does not interpret. */
struct time_order_tag {
	uint64_t a;
	uint64_t b;
};

/* Both functions return 0, or a negative error code that ends the walk and becomes its result. */
struct time_order_calls {
	const char *temp_folder;
	/* Reports the allocation of a row; fills *tag. */
	int (*allocated)(void *user, const struct query_row *row, struct time_order_tag *tag);
	/* Reports the free of the row that got this tag. */
	int (*freed)(void *user, uint64_t at_ns, const struct time_order_tag *tag);
	void *user;
};

#define TIME_ORDER_MAX_WAITING (1u << 21) /* 48 MiB */

/* Walks over all rows that match. max_waiting: the most frees that wait in memory, at least 2.
 * *n_rows, unless NULL, becomes the number of rows that matched. Returns 0, the result of a
 * function that failed, or the error of the query or of the temporary file. */
int time_order_each(struct query *q, size_t max_waiting, const struct time_order_calls *calls,
		    uint64_t *n_rows, struct err *err);

#endif
