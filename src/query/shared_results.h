/* query/shared_results.h - results of passes over the rows, shared by the queries of a store.
 *
 * A page of the GUI asks several questions with the same filter at once, and most of them need the
 * same pass over the rows. The first query that needs a result computes the result; the others
 * wait for it. Results are kept for later queries until memory is needed for newer ones.
 *
 * Key: the kind of the result, the compiled plan of the query with its sets, and query_span(). A
 * result must depend on nothing else. Keys are compared byte by byte.
 *
 * Bounds: at most SHARED_RESULTS_MAX_ENTRIES results of together max_bytes are kept; the least
 * recently used one is dropped first. A larger result is shared with those who wait for it, and then dropped. A query with
 * a key of more than SHARED_RESULTS_MAX_KEY bytes (a million stacks) shares nothing.
 *
 * Cancelling: a computation runs in the thread of the query that began it. If that query is
 * cancelled while others wait for the result, the computation goes on for them: see
 * query_check_cancel(). A cancelled query that waits stops waiting at once.
 *
 * Threads: any number at once. The results belong to one store and must not outlive the store.
 */
#ifndef QUERY_SHARED_RESULTS_H
#define QUERY_SHARED_RESULTS_H

#include "query/query.h"

#define SHARED_RESULTS_MAX_KEY ((size_t)256 << 10)
#define SHARED_RESULTS_MAX_ENTRIES 64u

struct shared_results; /* opaque: defined in shared_results.c */

/* One result. Never changed once it is computed. */
struct shared_result {
	void *data;
	size_t n_bytes; /* memory that data takes */
	void (*destroy)(void *data);
	double read_share; /* set by shared_results_get(): query_read_share() of who made it ... */
	uint64_t cpu_ns; /* ... and the processor time of its thread */
	_Atomic unsigned n_refs;
};

/* Computes a result: fills in data, n_bytes and destroy. */
typedef int (*shared_results_make)(struct query *q, unsigned kind, struct shared_result *ret,
				   struct err *err);

/* NULL: no memory. A query of another store does not use the results. */
struct shared_results *shared_results_create(const struct store *store, size_t max_bytes);
void shared_results_destroy(struct shared_results *c); /* NULL does nothing; no other thread may
						        * use c */

/* A kept result, or what make() computes. The caller gives the reference back with
 * shared_result_release(). c may be NULL: make() is called, and nothing is shared. An error of
 * make() is returned and not kept; a waiting query then calls its own make(). */
int shared_results_get(struct shared_results *c, struct query *q, unsigned kind,
		       shared_results_make make, struct shared_result **ret, struct err *err);

/* The names of the store, with classes by the store's own rules; made once, and kept as long as c. Every
 * frame of the query must be known. *ret stays NULL for a query of another store. */
struct query_names;
int shared_results_names(struct shared_results *c, const struct query *q, struct query_names **ret,
			 struct err *err);

/* The owners for these names: the same. The caller has the names. */
struct owners;
int shared_results_owners(struct shared_results *c, const struct query *q, struct owners **ret,
			  struct err *err);

/* The result, if it is kept, or once another query has computed it. *ret NULL: there is none. */
int shared_results_find(struct shared_results *c, struct query *q, unsigned kind,
			struct shared_result **ret, struct err *err);

void shared_result_release(struct shared_result *r); /* NULL does nothing */

#endif
