/* util/map.c - see map.h. */
#include "util/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "util/huge_pages.h"

#define MAP_FIRST_SLOTS 64

static struct map_slot *find_slot(struct map_slot *slot, size_t n_slots, uint64_t key)
{
	size_t i = hash_mix64(key) & (n_slots - 1);

	while (slot[i].used && slot[i].key != key)
		i = (i + 1) & (n_slots - 1);
	return &slot[i];
}

void map_fini(struct map *m)
{
	free(m->slot);
	*m = (struct map){0};
}

uint64_t *map_find(const struct map *m, uint64_t key)
{
	struct map_slot *s;

	if (m->n == 0)
		return NULL;
	s = find_slot(m->slot, m->n_slots, key);
	return s->used ? &s->value : NULL;
}

static int grow(struct map *m, struct err *err)
{
	size_t n_slots = m->n_slots ? m->n_slots * 2 : MAP_FIRST_SLOTS;
	struct map_slot *slot = calloc(n_slots, sizeof(*slot));

	if (!slot)
		return err_set_memory(err, n_slots * sizeof(*slot));
	pages_touch(slot, n_slots * sizeof(*slot));
	for (size_t i = 0; i < m->n_slots; i++) {
		if (m->slot[i].used)
			*find_slot(slot, n_slots, m->slot[i].key) = m->slot[i];
	}
	free(m->slot);
	m->slot = slot;
	m->n_slots = n_slots;
	return 0;
}

int map_add(struct map *m, uint64_t key, uint64_t **ret, bool *is_new, struct err *err)
{
	struct map_slot *s;
	int r;

	if (m->n + 1 > m->n_slots / 4 * 3) {
		r = grow(m, err);
		if (r < 0)
			return r;
	}
	s = find_slot(m->slot, m->n_slots, key);
	if (is_new)
		*is_new = !s->used;
	if (!s->used) {
		*s = (struct map_slot){.key = key, .used = true};
		m->n++;
	}
	*ret = &s->value;
	return 0;
}
