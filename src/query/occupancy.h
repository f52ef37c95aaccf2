/* query/occupancy.h - which parts of the heap's address ranges are in use at a moment.
 *
 * A block takes its usable bytes, at least one. The allocator's own headers count as unused. The
 * live blocks lie in ranges: stretches of addresses with large gaps between them, such as the main
 * heap, the heaps of other arenas, and blocks with a mapping of their own. Ranges begin and end at
 * page boundaries. All ranges are cut into cells of one size. The size is the smallest power of
 * two, at least a page, that needs no more cells than asked for. A cell holds the number of its
 * bytes that blocks take.
 *
 *	range 0 (main heap)                  gap >= unit    range 1
 *	[cell 0][cell 1][cell 2][cell 3]   ..............   [cell 4][cell 5]
 *
 * Which gaps separate ranges: gaps of OCCUPANCY_UNIT_BYTES or more. Only the largest gaps count if
 * there would be more than OCCUPANCY_MAX_RANGES ranges, or more ranges than a quarter of the
 * cells. If the blocks lie in more than OCCUPANCY_MAX_UNITS units, the unit is doubled until they
 * do not.
 *
 * Work: two passes over the rows. Memory: bounded by the units and the cells, not by the blocks.
 */
#ifndef QUERY_OCCUPANCY_H
#define QUERY_OCCUPANCY_H

#include "query/query.h"

#define OCCUPANCY_UNIT_BYTES ((uint64_t)1 << 20)
#define OCCUPANCY_MAX_UNITS 65536u
#define OCCUPANCY_MAX_RANGES 64u
#define OCCUPANCY_MAX_CELLS 65536u

struct occupancy_range {
	uint64_t start, end; /* multiples of the page size; end: after the last byte */
	uint64_t n_blocks; /* blocks that begin in the range */
	uint64_t used_bytes;
	size_t first_cell, n_cells; /* the last cell may be shorter than the others */
};

struct occupancy {
	uint64_t at_ns;
	uint64_t cell_bytes;
	struct occupancy_range *range; /* owned; ascending */
	size_t n_ranges;
	uint64_t *cell; /* owned; bytes in use, at most the size of the cell */
	size_t n_cells;
};

/* Looks at the matching rows that are alive at at_ns. max_cells: 1 to OCCUPANCY_MAX_CELLS, else
 * ERR_USAGE. Blocks that overlap (a recording with gaps can have some) never fill a cell by more
 * than its size. */
int occupancy_at(struct query *q, uint64_t at_ns, size_t max_cells, struct occupancy *ret,
		 struct err *err);
void occupancy_fini(struct occupancy *o);

/* The size of a cell: cell_bytes, or less for the last cell of a range. */
uint64_t occupancy_cell_bytes(const struct occupancy *o, const struct occupancy_range *r,
			      size_t cell_in_range);

#endif
