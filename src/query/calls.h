/* query/calls.h - recorded calls about the address space and the allocator: mmap, munmap, mremap,
 * brk, mallopt, malloc_trim.
 *
 * What is recorded: mallopt and malloc_trim always; the others only with
 * MEMORY_PROFILER_GATHER_MMAP_CALLS=1. Only calls of the program are recorded; calls that libc
 * makes inside itself are not. A failed call is recorded only for munmap and mallopt.
 *
 * These conditions of a query count: from, to, thread, size, address, and all conditions on
 * stacks. A call without a size or an address does not match a condition on size or address.
 */
#ifndef QUERY_CALLS_H
#define QUERY_CALLS_H

#include "query/query.h"

#define CALLS_UNKNOWN UINT64_MAX

/* A set of kinds of calls. */
#define CALLS_KIND(kind) (1u << (kind)) /* enum store_call_kind */
#define CALLS_MAPPING                                                                              \
	(CALLS_KIND(STORE_CALL_MMAP) | CALLS_KIND(STORE_CALL_MUNMAP) |                             \
	 CALLS_KIND(STORE_CALL_MREMAP) | CALLS_KIND(STORE_CALL_BRK))
#define CALLS_ALL                                                                                  \
	(CALLS_MAPPING | CALLS_KIND(STORE_CALL_MALLOPT) | CALLS_KIND(STORE_CALL_MALLOC_TRIM))

/* The address and the length of a call: what mmap and mremap returned, what munmap removed; for
 * brk the new end of the heap and its distance to the old end. CALLS_UNKNOWN: the call has
 * none. */
uint64_t calls_address(const struct store_call *c);
uint64_t calls_bytes(const struct store_call *c);

/* Calls fn for the calls of a page, by time or by size, until fn returns false. Calls of equal
 * size come in the order of time. Descending is exactly the reverse of ascending. *n_matching
 * becomes the number of all matching calls.
 *
 * Memory: by size 16 bytes for each of the first skip + count calls; by time none. */
struct calls_page {
	unsigned kinds;
	bool is_by_size; /* a call without a size comes before all others */
	bool is_descending;
	uint64_t skip, count;
};
int calls_list(struct query *q, const struct calls_page *page,
	       bool (*fn)(void *user, const struct store_call *c), void *user, uint64_t *n_matching,
	       struct err *err);

/* Was the recorder asked to record mmap and the other mapping calls? The recorded environment
 * answers. Without an environment, recorded calls do. CALLS_NOT_KNOWN: the recording has
 * neither. */
enum calls_gathered {
	CALLS_NOT_GATHERED,
	CALLS_GATHERED,
	CALLS_NOT_KNOWN
};
enum calls_gathered calls_gathered(const struct store *s);

#endif
