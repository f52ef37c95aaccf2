/* query/fragmentation.h - how the heap lies in memory: pages that few bytes keep, and who keeps them.
 *
 * A block takes its usable bytes (at least one). A page is held when a block has a byte in it; it
 * is sparse when less than FRAGMENTATION_SPARSE_PERCENT of it is used. The bytes of a sparse page
 * that are not used are held for nothing; they are shared equally among the blocks in the page,
 * and so among the stacks that allocated these. The allocator's own headers count as not used.
 *
 * Blocks are walked in the order of their addresses: one pass over the store for every
 * QUERY_SORT_ROWS blocks; memory does not grow beyond that but for one item per stack.
 */
#ifndef QUERY_FRAGMENTATION_H
#define QUERY_FRAGMENTATION_H

#include "query/query.h"

#define FRAGMENTATION_SPARSE_PERCENT 25u
#define FRAGMENTATION_CLASSES 10u

/* A stack whose blocks are alive at the moment. */
struct fragmentation_site {
	uint32_t stack;
	uint64_t n_blocks;
	uint64_t requested_bytes;
	uint64_t usable_bytes; /* the difference is wasted by rounding up */
	uint64_t n_sparse_pages; /* that hold a block of it */
	uint64_t held_bytes; /* its share of what sparse pages hold for nothing */
	uint64_t oldest_birth_ns; /* of its blocks in sparse pages; UINT64_MAX: none there */
};

struct fragmentation {
	uint64_t at_ns;
	uint64_t page_bytes;
	uint64_t n_blocks; /* alive */
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t lowest_addr; /* of all blocks; 0 when there is none */
	uint64_t end_addr;
	uint64_t heap_lowest_addr; /* of those in the main arena; 0 when there is none */
	uint64_t heap_end_addr;
	uint64_t heap_usable_bytes;
	uint64_t n_pages; /* held */
	uint64_t n_sparse_pages;
	uint64_t sparse_used_bytes; /* in sparse pages */
	uint64_t sparse_held_bytes; /* not used there: the sum of all sites' held_bytes */
	uint64_t n_pages_by_use[FRAGMENTATION_CLASSES]; /* up to 10 % used, up to 20 % ... */
	struct fragmentation_site *site; /* owned; most held_bytes first */
	size_t n_sites;
};

/* Of the rows of q, those that are alive at at_ns. */
int fragmentation_at(struct query *q, uint64_t at_ns, struct fragmentation *ret, struct err *err);
void fragmentation_fini(struct fragmentation *f);

/* Lowest and highest address in use at n moments, from_ns + i * step_ns, and what is alive then.
 * One pass. The "fragmentation" of the 2021 API, with arena=main, is end - lowest - requested. */
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

/* Calls fn for the address ranges that matching rows took at any time, ascending, until it returns
 * false. Ranges that are at most gap_bytes apart become one (glibc puts 8 bytes of its own between
 * blocks). */
int fragmentation_regions(struct query *q, uint64_t gap_bytes,
			  bool (*fn)(void *user, uint64_t start, uint64_t end), void *user,
			  struct err *err);

#endif
