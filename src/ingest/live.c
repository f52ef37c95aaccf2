/* ingest/live.c - see live.h. */
#include "ingest/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"

#define FIRST_SLOTS 4096
#define HUGE_PAGE_BYTES (2 * MIB)

void live_fini(struct live *l)
{
	free(l->key);
	free(l->block);
	*l = (struct live){0};
}

/* Where addr is, or the empty slot where it belongs. */
static inline size_t find_slot(const struct live *l, uint64_t addr)
{
	size_t i = live_slot(l, addr);

	while (l->key[i] != addr && l->key[i] != 0)
		i = (i + 1) & (l->n_slots - 1);
	return i;
}

/* Zeroed memory, in huge pages where that is possible: it is accessed at random. */
static void *make_array(size_t n_bytes)
{
	size_t align = n_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : sizeof(struct live_block);
	void *memory = aligned_alloc(align, n_bytes);

	if (!memory)
		return NULL;
	if (n_bytes >= HUGE_PAGE_BYTES)
		madvise(memory, n_bytes, MADV_HUGEPAGE);
	return memset(memory, 0, n_bytes);
}

static int grow(struct live *l, struct err *err)
{
	struct live bigger = {.n_slots = l->n_slots ? l->n_slots * 2 : FIRST_SLOTS, .n = l->n};

	bigger.key = make_array(bigger.n_slots * sizeof(*bigger.key));
	bigger.block = make_array(bigger.n_slots * sizeof(*bigger.block));
	if (!bigger.key || !bigger.block) {
		free(bigger.key);
		free(bigger.block);
		return err_set_memory(err, bigger.n_slots * sizeof(*bigger.block));
	}
	bigger.shift = 64 - (unsigned)__builtin_ctzll(bigger.n_slots);
	for (size_t i = 0; i < l->n_slots; i++) {
		size_t to;

		if (!l->key[i])
			continue;
		to = find_slot(&bigger, l->key[i]);
		bigger.key[to] = l->key[i];
		bigger.block[to] = l->block[i];
	}
	free(l->key);
	free(l->block);
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
	return l->key[i] ? &l->block[i] : NULL;
}

struct live_block *live_add(struct live *l, const struct live_block *block)
{
	size_t i = find_slot(l, block->addr);

	ASSERT(block->addr && l->n < l->n_slots);
	if (unlikely(l->key[i] != 0))
		return NULL;
	l->key[i] = block->addr;
	l->block[i] = *block;
	l->n++;
	return &l->block[i];
}

bool live_take(struct live *l, uint64_t addr, struct live_block *ret)
{
	size_t mask = l->n_slots - 1;
	size_t hole, i;

	if (l->n == 0)
		return false;
	hole = find_slot(l, addr);
	if (l->key[hole] == 0)
		return false;
	*ret = l->block[hole];
	for (i = (hole + 1) & mask; l->key[i]; i = (i + 1) & mask) {
		size_t home = live_slot(l, l->key[i]);

		/* may move back if its home is not between the hole and itself */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			l->key[hole] = l->key[i];
			l->block[hole] = l->block[i];
			hole = i;
		}
	}
	l->key[hole] = 0;
	l->n--;
	return true;
}
