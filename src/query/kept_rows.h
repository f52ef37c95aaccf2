/* query/kept_rows.h - the few rows of a pass, kept so that the next pass need not unpack them again.
 * Private to query/.
 *
 * A query for few stacks spends its time on finding its rows: all blocks are unpacked for one row in fifty.
 * Where a question needs two passes, the first one keeps the rows if they are few among those that are
 * looked at, and fit into KEPT_ROWS_SIXTEENTHS of the memory budget.
 */
#ifndef QUERY_KEPT_ROWS_H
#define QUERY_KEPT_ROWS_H

#include "query/query_i.h"
#include "util/memory_budget.h"

#define KEPT_ROWS_SIXTEENTHS 1u

struct kept_row {
	uint64_t alloc_ns;
	uint64_t free_ns; /* UINT64_MAX: never */
	uint64_t size_bytes;
};

/* The rows of one thread. */
struct kept_rows {
	struct kept_row *row; /* owned */
	size_t n, cap;
};

#define KEPT_ROWS_FEW 4u /* a fourth of all, or less */

static inline uint64_t kept_rows_max(void)
{
	return memory_budget_share(KEPT_ROWS_SIXTEENTHS) / sizeof(struct kept_row);
}

/* Is it worthwhile to keep n_rows, found among n_all? */
static inline bool kept_rows_fit(uint64_t n_rows, uint64_t n_all)
{
	return n_rows <= n_all / KEPT_ROWS_FEW && n_rows <= kept_rows_max();
}

/* Adds the selected rows of the scanner's block. ERR_MEMORY. ERR_FORMAT: more rows than the caller can
 * have foreseen, because the table of stacks is wrong (a damaged store). */
int kept_rows_add(struct kept_rows *k, struct scanner *s, struct err *err);
void kept_rows_fini(struct kept_rows *k);

#endif
