/* recording/map_residency.c - see map_residency.h. */
#include "recording/map_residency.h"

#include <stdlib.h>

#include "base/hash.h"
#include "util/vec.h"

#define MAX_MAPPINGS 1000000u /* the kernel's own limit is 65530 unless somebody raised it */

static uint64_t kind_of(const struct proc_map *m)
{
	unsigned rights = (m->is_readable ? 1u : 0) | (m->is_writable ? 2u : 0) |
			  (m->is_executable ? 4u : 0) | (m->is_shared ? 8u : 0);

	return hash_pair64(rights, hash_bytes(m->name, m->name_len));
}

/* The first entry that ends behind addr. */
static size_t first_behind(const struct map_residency *m, uint64_t addr)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->entry[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void map_residency_find(const struct map_residency *m, const struct proc_map *map,
			uint64_t *rss_bytes, uint64_t *peak_bytes)
{
	uint64_t kind = kind_of(map), rss = 0, peak = 0, size = map->end - map->start;
	bool is_known = false;

	for (size_t i = first_behind(m, map->start); i < m->n && m->entry[i].start < map->end;
	     i++) {
		if (m->entry[i].kind != kind)
			continue;
		is_known = true;
		rss = smaller(size, rss + m->entry[i].rss_bytes);
		peak = m->entry[i].peak_bytes > peak ? m->entry[i].peak_bytes : peak;
	}
	peak = smaller(size, peak > rss ? peak : rss);
	*rss_bytes = is_known ? rss : MAP_RESIDENCY_UNKNOWN;
	*peak_bytes = is_known ? peak : MAP_RESIDENCY_UNKNOWN;
}

int map_residency_add(struct map_residency *m, const char *text, size_t len, struct err *err)
{
	const char *at = text, *end = text + len;
	struct map_residency now = {0};
	size_t cap = 0;
	uint64_t rss, peak;
	struct proc_map map;
	int r = 0;

	while (r == 0 && now.n < MAX_MAPPINGS && proc_maps_next(&at, end, &map)) {
		if (map.rss_bytes == PROC_MAP_UNKNOWN ||
		    (now.n && map.start < now.entry[now.n - 1].end))
			continue;
		r = vec_reserve(&now.entry, &cap, now.n + 1, sizeof(*now.entry), err);
		if (r < 0)
			break;
		map_residency_find(m, &map, &rss, &peak);
		if (peak == MAP_RESIDENCY_UNKNOWN || peak < map.rss_bytes)
			peak = map.rss_bytes;
		now.entry[now.n++] = (struct map_residency_entry){
			.start = map.start,
			.end = map.end,
			.kind = kind_of(&map),
			.rss_bytes = map.rss_bytes,
			.peak_bytes = peak,
		};
	}
	if (r < 0 || now.n == 0) {
		free(now.entry);
		return r;
	}
	free(m->entry);
	*m = now;
	return 1;
}

void map_residency_fini(struct map_residency *m)
{
	free(m->entry);
	*m = (struct map_residency){0};
}
