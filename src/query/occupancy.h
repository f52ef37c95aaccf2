/* query/occupancy.h - which parts of the heap's address ranges are in use at a moment.
 *
 * A block takes its usable bytes, at least one. The blocks that are alive lie in ranges: stretches of
 * addresses with large gaps between them, such as the main heap, the heaps of other arenas and
 * blocks with a mapping of their own. Ranges begin and end at page boundaries; they are cut into cells
 * of one size, the smallest power of two (and at least a page) with which there are not more cells than
 * asked for. A cell tells how many of its bytes blocks take. The allocator's own headers count as not
 * used.
 *
 * Which gaps separate ranges: those of OCCUPANCY_UNIT_BYTES or more, but only the largest ones when
 * there are more ranges than OCCUPANCY_MAX_RANGES, or than a quarter of the cells. Where blocks lie in more
 * than OCCUPANCY_MAX_UNITS units, the unit is doubled until they do not.
 *
 * Two passes over the rows; memory is bounded by the units and the cells, whatever the number of blocks.
 */
#ifndef QUERY_OCCUPANCY_H
#define QUERY_OCCUPANCY_H

#include "query/query.h"

#define OCCUPANCY_UNIT_BYTES ((uint64_t)1 << 20)
#define OCCUPANCY_MAX_UNITS 65536u
#define OCCUPANCY_MAX_RANGES 64u
#define OCCUPANCY_MAX_CELLS 65536u

struct occupancy_range {
	uint64_t start, end; /* multiples of the page's size; end: behind the last byte */
	uint64_t n_blocks; /* that begin in it */
	uint64_t used_bytes;
	size_t first_cell, n_cells; /* the last cell may be shorter than the others */
};

struct occupancy {
	uint64_t at_ns;
	uint64_t cell_bytes;
	struct occupancy_range *range; /* owned; ascending */
	size_t n_ranges;
	uint64_t *cell; /* owned; bytes in use, never more than the cell has */
	size_t n_cells;
};

/* Of the rows of q, those that are alive at at_ns. max_cells: 1 to OCCUPANCY_MAX_CELLS, else
 * ERR_USAGE. Blocks that overlap (a recording with gaps can have such) fill a cell at most. */
int occupancy_at(struct query *q, uint64_t at_ns, size_t max_cells, struct occupancy *ret,
		 struct err *err);
void occupancy_fini(struct occupancy *o);

/* Bytes of a cell of a range: cell_bytes, but for the last one. */
uint64_t occupancy_cell_bytes(const struct occupancy *o, const struct occupancy_range *r,
			      size_t cell_in_range);

#endif
