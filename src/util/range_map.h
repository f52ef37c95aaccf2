/* util/range_map.h - ranges of numbers that do not overlap, each with a value; such as mappings of memory.
 *
 * Ranges are [start, end) and kept in order. Finding a position costs two binary searches; putting in and taking
 * out moves at most a few hundred ranges, however many there are. One thread at a time.
 */
#ifndef UTIL_RANGE_MAP_H
#define UTIL_RANGE_MAP_H

#include "util/err.h"

struct range {
	uint64_t start, end; /* start < end */
	uint64_t value;
};

struct range_chunk; /* opaque: defined in range_map.c */

/* A zeroed one is empty. Always: no chunk is empty, and all ranges ascend. */
struct range_map {
	struct range_chunk **chunk;
	size_t n_chunks, cap_chunks;
	size_t n; /* ranges */
};

void range_map_fini(struct range_map *m);

/* The first range that ends behind a number: the one that holds the number, or the next one. NULL: none. Its
 * value may be changed. Good until the map changes. */
struct range *range_map_next(const struct range_map *m, uint64_t at);

/* Puts a range in. The caller has made sure that nothing is there (range_map_cut()); asserted. */
int range_map_put(struct range_map *m, const struct range *r, struct err *err);

/* A range that begins before the number and ends behind it becomes two with the same value. */
int range_map_split(struct range_map *m, uint64_t at, struct err *err);

/* Takes all that lies in [start, end) out and calls fn for each piece, ascending. A range that lies there in
 * part keeps the rest of itself. fn must not change the map; it may be NULL. */
int range_map_cut(struct range_map *m, uint64_t start, uint64_t end,
		  void (*fn)(void *user, const struct range *piece), void *user, struct err *err);

/* Calls fn for all ranges, ascending, until it returns false. */
void range_map_each(const struct range_map *m, bool (*fn)(void *user, const struct range *r),
		    void *user);

#endif
