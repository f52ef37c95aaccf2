/* query/alive_by_stack.h - what each stack has alive at one moment. Private to query/.
 *
 * The table of stacks has all sums of a query that has conditions on stacks only, but not what was alive at
 * the peak of the matching rows. That moment leaves few rows of most blocks: two columns tell which.
 */
#ifndef QUERY_ALIVE_BY_STACK_H
#define QUERY_ALIVE_BY_STACK_H

#include "query/query_i.h"

struct alive_of_stack {
	uint64_t n_bytes, count;
};

/* Of the matching rows, by number of the stack: *ret has n_stacks items. Owned: scratch_give(). Of an estimate:
 * what the rows have that are read. */
int alive_by_stack(struct query *q, uint64_t at_ns, struct alive_of_stack **ret, struct err *err);

#endif
