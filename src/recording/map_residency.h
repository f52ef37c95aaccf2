/* recording/map_residency.h - how much of each mapping was resident, from the MAPS chunks that say it.
 *
 * Readings are added in the order of time. A mapping of a later reading is the same as one of an
 * earlier reading if rights and name are equal and their addresses overlap: heaps and the kernel's
 * joined mappings grow and shrink. The peak is the most at any reading, so at least that much was
 * resident. Any bytes are safe as text.
 */
#ifndef RECORDING_MAP_RESIDENCY_H
#define RECORDING_MAP_RESIDENCY_H

#include "recording/proc_maps.h"
#include "util/err.h"

#define MAP_RESIDENCY_UNKNOWN PROC_MAP_UNKNOWN

struct map_residency_entry {
	uint64_t start, end;
	uint64_t kind; /* hash of rights and name */
	uint64_t rss_bytes;
	uint64_t peak_bytes;
};

struct map_residency { /* zeroed: nothing is known */
	struct map_residency_entry *entry; /* of the last reading; ascending, without overlaps */
	size_t n;
};

void map_residency_fini(struct map_residency *m);

/* Adds a reading. 1: added. 0: it does not say what is resident, nothing changes. ERR_MEMORY. */
int map_residency_add(struct map_residency *m, const char *text, size_t len, struct err *err);

/* What was resident of a mapping at the last reading, and at most at any; UNKNOWN: no reading has
 * the mapping. */
void map_residency_find(const struct map_residency *m, const struct proc_map *map,
			uint64_t *rss_bytes, uint64_t *peak_bytes);

#endif
