/* recording/module_map.c - see module_map.h.
 *
 * Entries are sorted by start, and each holds the greatest end of all entries up to it. A search
 * begins at the last entry that does not start after the address, goes left, and stops where no
 * entry can reach the address. Images overlap only where one replaced another, so a search looks at
 * few entries.
 */
#include "recording/module_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct module_entry {
	uint64_t start;
	uint64_t end;
	uint64_t max_end; /* over this entry and all before it */
	uint64_t generation;
	uint32_t module; /* index in metadata.module */
	uint32_t same; /* index of the first module equal to it */
};

#define CACHE_SLOTS 1024 /* a power of two */

struct module_cache {
	uint64_t addr; /* 0: unused */
	uint32_t generation;
	uint32_t module;
};

struct module_map {
	struct module_entry *entry;
	size_t n;
	size_t n_different;
	struct module_cache cache[CACHE_SLOTS];
};

static int compare_text(const struct metadata_text *a, const struct metadata_text *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->len ? memcmp(a->bytes, b->bytes, a->len) : 0;
}

static int compare_images(const struct metadata_module *a, const struct metadata_module *b)
{
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	if (a->base != b->base)
		return a->base < b->base ? -1 : 1;
	return compare_text(&a->path, &b->path) ?: compare_text(&a->build_id, &b->build_id);
}

static int compare_entries(const void *x, const void *y, void *metadata)
{
	const struct module_entry *a = x, *b = y;
	const struct metadata_module *module = ((const struct metadata *)metadata)->module;
	int order = compare_images(&module[a->module], &module[b->module]);

	if (order)
		return order;
	return a->module < b->module ? -1 : 1;
}

int module_map_create(const struct metadata *metadata, struct module_map **ret, struct err *err)
{
	struct module_map *m = calloc(1, sizeof(*m));
	uint64_t max_end = 0;

	if (!m)
		return err_set_memory(err, sizeof(*m));
	m->n = metadata->n_modules;
	m->entry = calloc(m->n + 1, sizeof(*m->entry));
	if (!m->entry) {
		free(m);
		return err_set_memory(err, (metadata->n_modules + 1) * sizeof(*m->entry));
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct metadata_module *f = &metadata->module[i];

		m->entry[i] = (struct module_entry){
			.start = f->start,
			.end = f->end,
			.generation = f->generation,
			.module = (uint32_t)i,
			.same = (uint32_t)i,
		};
	}
	qsort_r(m->entry, m->n, sizeof(*m->entry), compare_entries, (void *)metadata);
	for (size_t i = 0; i < m->n; i++) {
		struct module_entry *e = &m->entry[i];

		if (e->end > max_end)
			max_end = e->end;
		e->max_end = max_end;
		if (i > 0 && compare_images(&metadata->module[e->module],
					    &metadata->module[e[-1].module]) == 0)
			e->same = e[-1].same;
		else
			m->n_different++;
	}
	*ret = m;
	return 0;
}

void module_map_destroy(struct module_map *m)
{
	if (!m)
		return;
	free(m->entry);
	free(m);
}

static uint32_t search(const struct module_map *m, uint64_t pc, uint32_t generation)
{
	const struct module_entry *best = NULL;
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->entry[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	while (low-- > 0 && m->entry[low].max_end > pc) {
		const struct module_entry *e = &m->entry[low];

		if (e->end <= pc || e->generation > generation)
			continue;
		if (!best || e->generation > best->generation ||
		    (e->generation == best->generation && e->module > best->module))
			best = e;
	}
	return best ? best->same : MODULE_MAP_NONE;
}

uint32_t module_map_find(struct module_map *m, uint64_t addr, uint32_t generation)
{
	struct module_cache *c = &m->cache[hash_pair64(addr, generation) & (CACHE_SLOTS - 1)];

	if (addr == 0)
		return MODULE_MAP_NONE;
	if (c->addr != addr || c->generation != generation)
		*c = (struct module_cache){
			.addr = addr,
			.generation = generation,
			.module = search(m, addr - 1, generation),
		};
	return c->module;
}

bool module_map_is_same(const struct metadata_module *a, const struct metadata_module *b)
{
	return compare_images(a, b) == 0;
}

size_t module_map_count(const struct module_map *m)
{
	return m->n_different;
}
