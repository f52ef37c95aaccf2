/* query/fragmentation.h - how the heap lies in memory: pages that few bytes keep, and the stacks
 * that keep them.
 *
 * A block takes its usable bytes, at least one. A page is held when a block has a byte in it. A
 * page is sparse when less than FRAGMENTATION_SPARSE_PERCENT of it is used. The unused bytes of a
 * sparse page are held for nothing. They are divided equally among the blocks in the page, and so
 * among the stacks that allocated these blocks. The allocator's own headers count as unused.
 *
 * Work: the blocks are walked in the order of their addresses, with one pass over the store for
 * every QUERY_SORT_ROWS blocks. Memory: QUERY_SORT_ROWS rows and one item per stack.
 */
#ifndef QUERY_FRAGMENTATION_H
#define QUERY_FRAGMENTATION_H

#include "query/query.h"

#define FRAGMENTATION_SPARSE_PERCENT 25u
#define FRAGMENTATION_CLASSES 10u

/* A stack with blocks alive at the moment. */
struct fragmentation_site {
	uint32_t stack;
	uint64_t n_blocks;
	uint64_t requested_bytes;
	uint64_t usable_bytes; /* the allocator's rounding wastes usable - requested */
	uint64_t n_sparse_pages; /* sparse pages with a block of this stack */
	uint64_t held_bytes; /* this stack's share of sparse_held_bytes */
	uint64_t oldest_alloc_ns; /* first allocation of its blocks in sparse pages; UINT64_MAX: no
				   * such block */
};

struct fragmentation {
	uint64_t at_ns;
	uint64_t page_bytes;
	uint64_t n_blocks; /* alive */
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t lowest_addr; /* of all blocks; 0: no block */
	uint64_t end_addr;
	uint64_t heap_lowest_addr; /* of the blocks in the main arena; 0: none */
	uint64_t heap_end_addr;
	uint64_t heap_usable_bytes;
	uint64_t n_pages; /* held */
	uint64_t n_sparse_pages;
	uint64_t sparse_used_bytes; /* in sparse pages */
	uint64_t sparse_held_bytes; /* unused there: the sum of held_bytes of all sites */
	uint64_t n_pages_by_use[FRAGMENTATION_CLASSES]; /* up to 10 % used, up to 20 % ... */
	struct fragmentation_site *site; /* owned; most held_bytes first */
	size_t n_sites;
};

/* Looks at the matching rows that are alive at at_ns. */
int fragmentation_at(struct query *q, uint64_t at_ns, struct fragmentation *ret, struct err *err);
void fragmentation_fini(struct fragmentation *f);

/* What is alive at n_points moments, from_ns + i * step_ns, with the lowest and the highest
 * address in use. One pass. The "fragmentation" of the 2021 API, with arena=main, is end_addr -
 * lowest_addr - requested_bytes. */
struct fragmentation_point {
	uint64_t at_ns;
	uint64_t n_blocks;
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t lowest_addr; /* UINT64_MAX: nothing alive */
	uint64_t end_addr; /* 0: nothing alive */
};
#define FRAGMENTATION_MAX_POINTS 16384u
int fragmentation_timeline(struct query *q, uint64_t from_ns, uint64_t step_ns, size_t n_points,
			   struct fragmentation_point *ret, struct err *err);

#endif
