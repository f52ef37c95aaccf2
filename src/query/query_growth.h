/* query/query_growth.h - what grew: the groups that are alive at two moments.
 *
 * One pass over the matching rows. query.h defines "alive at". Memory: 40 bytes per stack (or per
 * thread, by THREAD) for each thread of the query, and as much per group.
 */
#ifndef QUERY_QUERY_GROWTH_H
#define QUERY_QUERY_GROWTH_H

#include "query/query.h"

struct query_growth {
	uint64_t key; /* as in query_groups() */
	uint64_t from_bytes, from_count; /* alive at the first moment */
	uint64_t to_bytes, to_count; /* alive at the second */
	uint32_t stack; /* the stack that changed most, in bytes; 0 by THREAD */
};

struct query_growths {
	struct query_growth *group; /* owned; ascending by key; each is alive at one moment at
				     * least */
	size_t n;
	struct query_growth total; /* key and stack: not used */
};

/* by: anything but SIZE_CLASS. ERR_USAGE: to_ns lies before from_ns. */
int query_growth(struct query *q, enum query_group_by by, uint64_t from_ns, uint64_t to_ns,
		 struct query_growths *ret, struct err *err);
void query_growths_fini(struct query_growths *g); /* a zeroed struct is empty */

/* to_bytes - from_bytes. The result fits: the sizes of blocks in memory do not come near 2^63. */
static inline int64_t query_growth_bytes(const struct query_growth *g)
{
	return (int64_t)(g->to_bytes - g->from_bytes);
}

#endif
