/* ingest/live.c - see live.h. */
#include "ingest/live.h"

#include <string.h>
#include <sys/mman.h>

#include "base/units.h"
#include "util/rss.h"
#include "util/temp_file.h"

#define FIRST_SLOTS 4096
#define HUGE_PAGE_BYTES (2 * MIB)

void live_fini(struct live *l)
{
	spill_destroy(l->key_memory);
	spill_destroy(l->block_memory);
	*l = (struct live){0};
}

/* Zeroed memory, in huge pages where that is possible: it is accessed at random. */
static int make_array(const struct live *l, size_t item_bytes, size_t n_slots, struct spill **ret,
		      struct err *err)
{
	size_t budget = l->budget_bytes ? l->budget_bytes : LIVE_BUDGET_BYTES;
	size_t share = budget / (sizeof(uint64_t) + sizeof(struct live_block)) * item_bytes;
	int r = spill_create(l->folder ? l->folder : temp_file_folder(), share, ret, err);

	if (r == 0)
		r = spill_resize(*ret, n_slots * item_bytes, err);
	if (r < 0)
		return r;
	if (!spill_is_file(*ret) && n_slots * item_bytes >= HUGE_PAGE_BYTES)
		madvise(spill_data(*ret), n_slots * item_bytes, MADV_HUGEPAGE);
	return 0;
}

static int grow(struct live *l, struct err *err)
{
	struct live bigger = {
		.n_slots = l->n_slots ? l->n_slots * 2 : FIRST_SLOTS,
		.n = l->n,
		.folder = l->folder,
		.budget_bytes = l->budget_bytes,
	};
	int r = make_array(l, sizeof(*l->key), bigger.n_slots, &bigger.key_memory, err);

	if (r == 0)
		r = make_array(l, sizeof(*l->block), bigger.n_slots, &bigger.block_memory, err);
	if (r < 0) {
		live_fini(&bigger);
		return r;
	}
	bigger.key = spill_data(bigger.key_memory);
	bigger.block = spill_data(bigger.block_memory);
	bigger.is_file = spill_is_file(bigger.block_memory);
	bigger.shift = 64 - (unsigned)__builtin_ctzll(bigger.n_slots);
	for (size_t i = 0; i < l->n_slots; i++) {
		size_t to;

		if (!l->key[i])
			continue;
		to = live_find_slot(&bigger, l->key[i]);
		bigger.key[to] = l->key[i];
		bigger.block[to] = l->block[i];
		if (bigger.is_file && i % LIVE_ADDS_PER_LOOK == 0)
			live_trim(&bigger);
	}
	live_fini(l);
	*l = bigger;
	return 0;
}

void live_trim(struct live *l)
{
	l->n_since_look = 0;
	if (rss_bytes() < LIVE_RESIDENT_BYTES)
		return;
	spill_trim(l->key_memory);
	spill_trim(l->block_memory);
}

int live_reserve(struct live *l, struct err *err)
{
	if (unlikely(l->is_file) && ++l->n_since_look >= LIVE_ADDS_PER_LOOK)
		live_trim(l);
	if (likely(l->n < l->n_slots / 8 * 5))
		return 0;
	return grow(l, err);
}

struct live_block *live_find(const struct live *l, uint64_t addr)
{
	size_t i;

	if (l->n == 0)
		return NULL;
	i = live_find_slot(l, addr);
	return l->key[i] ? &l->block[i] : NULL;
}

struct live_block *live_add(struct live *l, const struct live_block *block)
{
	size_t i = live_find_slot(l, block->addr);

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
	size_t i;

	if (l->n == 0)
		return false;
	i = live_find_slot(l, addr);
	if (l->key[i] == 0)
		return false;
	*ret = l->block[i];
	live_remove_slot(l, i);
	return true;
}
