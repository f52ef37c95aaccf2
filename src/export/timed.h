/* export/timed.h - the births and releases of a query's rows, in the order of time.
 *
 * Rows come ordered by birth; their releases wait in a heap until their time has come. When more
 * than a limit wait, the later half is sorted and moved to a temporary file without a
 * name, and is merged from there. So memory is fixed, whatever the number of rows alive.
 *
 * At equal times releases come before births, but never before the row's own birth.
 */
#ifndef EXPORT_TIMED_H
#define EXPORT_TIMED_H

#include "query/query.h"

/* What the caller wants to know again when a row is released. */
struct timed_tag {
	uint64_t a;
	uint64_t b;
};

struct timed_calls {
	const struct store *store;
	const char *temp_folder;
	/* A row is born: fills *tag. Its stacks exist, also in a damaged store. A negative result ends it all and is passed on. */
	int (*born)(void *user, const struct query_row *row, struct timed_tag *tag);
	/* It is released. */
	int (*released)(void *user, uint64_t at_ns, const struct timed_tag *tag);
	void *user;
};

#define TIMED_MAX_WAITING (1u << 21) /* 48 MiB */

/* max_waiting: of releases in memory; at least 2. *n_rows (may be NULL): how many rows matched. */
int timed_each(struct query *q, size_t max_waiting, const struct timed_calls *calls,
	       uint64_t *n_rows, struct err *err);

#endif
