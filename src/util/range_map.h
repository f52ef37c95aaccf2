/* util/range_map.h - ranges of numbers that do not overlap, each with a value; such as mappings of
 * memory.
 *
 * Ranges are [start, end), in ascending order, in chunks of up to 256:
 *
 *	chunk[0] -> range range range | chunk[1] -> range range | ...
 *
 * A search costs two binary searches. Adding or removing a range moves at most 256 ranges within a
 * chunk and the array of chunks. Threads: one at a time.
 */
#ifndef UTIL_RANGE_MAP_H
#define UTIL_RANGE_MAP_H

#include "util/err.h"

struct range {
	uint64_t start, end; /* start < end */
	uint64_t value;
};

struct range_chunk; /* opaque: defined in range_map.c */

/* A zeroed map is empty. Always: no chunk is empty, and all ranges ascend. */
struct range_map {
	struct range_chunk **chunk;
	size_t n_chunks, cap_chunks;
	size_t n; /* ranges */
};

void range_map_fini(struct range_map *m);

/* The range that holds a number, or else the next range above the number. NULL: there is none. The
 * caller may change the value of the range. Valid until the map changes. */
struct range *range_map_next(const struct range_map *m, uint64_t at);

/* Adds a range. No range of the map overlaps it: call range_map_cut() before (asserted).
 * -ERR_MEMORY. */
int range_map_put(struct range_map *m, const struct range *r, struct err *err);

/* Splits the range that begins before a number and ends after it, if there is one, into two ranges
 * with the same value. */
int range_map_split(struct range_map *m, uint64_t at, struct err *err);

/* Removes [start, end) from the map and calls fn, unless NULL, for each removed piece, ascending. A
 * range that lies there in part keeps its other parts. fn must not change the map. */
int range_map_cut(struct range_map *m, uint64_t start, uint64_t end,
		  void (*fn)(void *user, const struct range *piece), void *user, struct err *err);

/* Calls fn for all ranges, ascending, until it returns false. */
void range_map_each(const struct range_map *m, bool (*fn)(void *user, const struct range *r),
		    void *user);

#endif
