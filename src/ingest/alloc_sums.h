/* ingest/alloc_sums.h - what each stack allocated: the sums for which no release must be known.
 *
 * By the number of the stack (stacks.h). The thread that reads a recording keeps them (stream.h), and
 * the one that pairs keeps the rest (site_stats.h): it has more to do, and less memory to touch so.
 */
#ifndef INGEST_ALLOC_SUMS_H
#define INGEST_ALLOC_SUMS_H

#include "base/compiler.h"
#include "util/err.h"

struct alloc_sum {
	uint64_t n_allocs; /* 0: the others tell nothing */
	uint64_t n_bytes;
	uint64_t extra_bytes;
	uint64_t first_ns, last_ns;
	uint64_t min_size_bytes, max_size_bytes;
	uint64_t unused;
};

_Static_assert(sizeof(struct alloc_sum) == 64, "a cache line");

struct alloc_sums { /* zeroed: none yet */
	struct alloc_sum *of; /* by number of the stack */
	size_t cap; /* those that are not used yet are zero */
};

/* Makes sure that numbers below n have a place. */
int alloc_sums_reserve(struct alloc_sums *b, size_t n, struct err *err);
void alloc_sums_fini(struct alloc_sums *b);

/* The stack has a place. */
static inline void alloc_sums_add(struct alloc_sums *b, uint32_t stack, uint64_t at_ns,
				  uint64_t size_bytes, uint64_t extra_bytes)
{
	struct alloc_sum *of = &b->of[stack];

	if (unlikely(of->n_allocs++ == 0)) {
		of->first_ns = of->last_ns = at_ns;
		of->min_size_bytes = size_bytes;
	}
	of->n_bytes += size_bytes;
	of->extra_bytes += extra_bytes;
	if (unlikely(at_ns < of->first_ns)) /* of another lane, that is read later */
		of->first_ns = at_ns;
	if (at_ns > of->last_ns)
		of->last_ns = at_ns;
	if (unlikely(size_bytes < of->min_size_bytes))
		of->min_size_bytes = size_bytes;
	if (unlikely(size_bytes > of->max_size_bytes))
		of->max_size_bytes = size_bytes;
}

#endif
