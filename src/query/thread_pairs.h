/* query/thread_pairs.h - which thread freed whose blocks. */
#ifndef QUERY_THREAD_PAIRS_H
#define QUERY_THREAD_PAIRS_H

#include "query/query.h"

struct thread_pair {
	uint64_t count;
	uint64_t n_bytes; /* requested */
};

/* Adds up the freed matching allocations by the thread that allocated and the thread that freed.
 * ret has n * n cells and is overwritten; the pair (a, f) is cell a * n + f. Pairs with a thread
 * index of n or more are left out. One pass over the columns of threads, lifetimes and sizes. */
int thread_pairs_count(struct query *q, size_t n, struct thread_pair *ret, struct err *err);

#endif
