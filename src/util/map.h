/* util/map.h - hash map from u64 to u64.
 *
 * Open addressing, linear probing, grows by doubling, no removal. Any key and any value is allowed.
 * Threads: one at a time.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include "util/err.h"

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_slot *slot; /* NULL while empty */
	size_t n_slots; /* 0 or a power of two */
	size_t n; /* keys; at most 3/4 of n_slots */
};

/* A zeroed struct map is an empty map. */
void map_fini(struct map *m);

/* The value of a key, or NULL. Valid until the next map_add(). */
uint64_t *map_find(const struct map *m, uint64_t key);

/* Sets *ret to the value of key. A key that is not in the map is added with value 0. *is_new,
 * unless NULL, says whether the key was added. *ret is valid until the next map_add().
 * -ERR_MEMORY. */
int map_add(struct map *m, uint64_t key, uint64_t **ret, bool *is_new, struct err *err);

#endif
