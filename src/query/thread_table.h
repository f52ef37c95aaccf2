/* query/thread_table.h - "who frees whose" as a table that a person can look at.
 *
 * Made from the pairs of thread_pairs.h. The threads that take part in most have a line and a column of
 * their own, all others share the last one:
 *
 *	                 freed by   t1   t2   others
 *	allocated by t1              5    3        0
 *	             t2              0    8        0
 *	             others          1    0        4
 */
#ifndef QUERY_THREAD_TABLE_H
#define QUERY_THREAD_TABLE_H

#include "query/thread_pairs.h"

#define THREAD_TABLE_OTHERS UINT32_MAX

enum thread_measure {
	THREAD_COUNT, /* freed allocations */
	THREAD_BYTES
};

struct thread_table {
	uint32_t *thread; /* owned; ascending, THREAD_TABLE_OTHERS last if not all threads fit */
	size_t n;
	uint64_t *cell; /* owned; the pair (a, f) is cell a * n + f */
	uint64_t max_own; /* the greatest of what threads freed of their own blocks */
	uint64_t max_others; /* of all other cells */
};

/* pair: n_threads * n_threads cells. A thread takes part in what it allocated and in what it freed, of
 * equal ones the smaller index comes first. Threads that take part in nothing have no line. ERR_MEMORY. */
int thread_table_make(const struct thread_pair *pair, size_t n_threads, enum thread_measure m,
		      size_t top, struct thread_table *ret, struct err *err);
void thread_table_fini(struct thread_table *t);

/* What was freed of a thread's blocks, by whomever, and by other threads. */
struct thread_freed {
	struct thread_pair all, by_others;
};
struct thread_freed thread_freed_of(const struct thread_pair *pair, size_t n_threads,
				    size_t thread);

/* Did the thread allocate or free any of the pairs' blocks? */
bool thread_takes_part(const struct thread_pair *pair, size_t n_threads, size_t thread);

#endif
