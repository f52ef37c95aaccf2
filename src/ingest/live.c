/* ingest/live.c - see live.h. */
#include "ingest/live.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096

void live_fini(struct live *l)
{
	free(l->slot);
	*l = (struct live){0};
}

/* Where addr is, or the empty slot where it belongs. */
static size_t find_slot(const struct live *l, uint64_t addr)
{
	size_t i = live_slot(l, addr);

	while (l->slot[i].addr != addr && l->slot[i].addr != 0)
		i = (i + 1) & (l->n_slots - 1);
	return i;
}

static int grow(struct live *l, struct err *err)
{
	struct live bigger = {.n_slots = l->n_slots ? l->n_slots * 2 : FIRST_SLOTS, .n = l->n};
	size_t n_bytes = bigger.n_slots * sizeof(*bigger.slot);

	bigger.slot = aligned_alloc(sizeof(*bigger.slot), n_bytes);
	if (!bigger.slot)
		return err_set_memory(err, n_bytes);
	memset(bigger.slot, 0, n_bytes);
	bigger.shift = 64 - (unsigned)__builtin_ctzll(bigger.n_slots);
	for (size_t i = 0; i < l->n_slots; i++) {
		if (l->slot[i].addr)
			bigger.slot[find_slot(&bigger, l->slot[i].addr)] = l->slot[i];
	}
	free(l->slot);
	*l = bigger;
	return 0;
}

int live_reserve(struct live *l, struct err *err)
{
	if (likely(l->n < l->n_slots / 8 * 5))
		return 0;
	return grow(l, err);
}

struct live_block *live_find(const struct live *l, uint64_t addr)
{
	size_t i;

	if (l->n == 0)
		return NULL;
	i = find_slot(l, addr);
	return l->slot[i].addr ? &l->slot[i] : NULL;
}

bool live_add(struct live *l, const struct live_block *block)
{
	size_t i = find_slot(l, block->addr);

	ASSERT(block->addr && l->n < l->n_slots);
	if (unlikely(l->slot[i].addr != 0))
		return false;
	l->slot[i] = *block;
	l->n++;
	return true;
}

bool live_take(struct live *l, uint64_t addr, struct live_block *ret)
{
	size_t mask = l->n_slots - 1;
	size_t hole, i;

	if (l->n == 0)
		return false;
	hole = find_slot(l, addr);
	if (l->slot[hole].addr == 0)
		return false;
	*ret = l->slot[hole];
	for (i = (hole + 1) & mask; l->slot[i].addr; i = (i + 1) & mask) {
		size_t home = live_slot(l, l->slot[i].addr);

		/* may move back if its home is not between the hole and itself */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			l->slot[hole] = l->slot[i];
			hole = i;
		}
	}
	l->slot[hole].addr = 0;
	l->n--;
	return true;
}
