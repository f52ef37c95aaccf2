/* query/calls.h - recorded calls about the address space and the allocator: mmap, munmap, mremap, brk,
 * mallopt, malloc_trim.
 *
 * mallopt and malloc_trim are always recorded, the others only with MEMORY_PROFILER_GATHER_MMAP_CALLS=1, and only
 * calls of the program: what libc calls inside itself is not seen. Failed calls are not recorded, but for munmap
 * and mallopt.
 *
 * Of a query these conditions count: from, to, thread, size, address, and all on stacks. A call that has
 * no size or no address does not fulfil a condition on it.
 */
#ifndef QUERY_CALLS_H
#define QUERY_CALLS_H

#include "query/query.h"

#define CALLS_UNKNOWN UINT64_MAX

/* Kinds of calls, as a set. */
#define CALLS_KIND(kind) (1u << (kind)) /* enum store_call_kind */
#define CALLS_MAPPING                                                                              \
	(CALLS_KIND(STORE_CALL_MMAP) | CALLS_KIND(STORE_CALL_MUNMAP) |                             \
	 CALLS_KIND(STORE_CALL_MREMAP) | CALLS_KIND(STORE_CALL_BRK))
#define CALLS_ALL                                                                                  \
	(CALLS_MAPPING | CALLS_KIND(STORE_CALL_MALLOPT) | CALLS_KIND(STORE_CALL_MALLOC_TRIM))

/* The address and the length that a call is about: what mmap and mremap gave, what munmap took away, the new end of
 * the heap and the distance to the old one for brk. CALLS_UNKNOWN: it has none. */
uint64_t calls_address(const struct store_call *c);
uint64_t calls_bytes(const struct store_call *c);

/* Calls fn for the calls of a page, in the order of time or size, until it returns false. Calls of
 * equal size come in the order of time; descending is exactly the reverse. *n_matching: all that match.
 * Memory: 16 bytes for each of the first skip + count calls by size; by time none. */
struct calls_page {
	unsigned kinds;
	bool is_by_size; /* a call without a size comes before all others */
	bool is_descending;
	uint64_t skip, count;
};
int calls_list(struct query *q, const struct calls_page *page,
	       bool (*fn)(void *user, const struct store_call *c), void *user, uint64_t *n_matching,
	       struct err *err);

/* Was the recorder asked to record mmap and the like? The recorded environment tells; without one,
 * recorded calls do. CALLS_NOT_KNOWN: neither is there. */
enum calls_gathered {
	CALLS_NOT_GATHERED,
	CALLS_GATHERED,
	CALLS_NOT_KNOWN
};
enum calls_gathered calls_gathered(const struct store *s);

#endif
