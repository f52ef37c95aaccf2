/* ingest/live.c - see live.h. */
#include "ingest/live.h"

#include <string.h>

#include "util/huge_pages.h"
#include "util/rss.h"
#include "util/temp_file.h"

#define FIRST_SLOTS 4096
#define FIRST_BLOCKS 4096u

void live_fini(struct live *l)
{
	spill_destroy(l->slot_memory);
	spill_destroy(l->block_memory);
	spill_destroy(l->free_memory);
	*l = (struct live){0};
}

/* Drops the pages of a table in a file from memory if the process has much there. */
static void trim(struct live *l)
{
	l->n_since_look = 0;
	if (rss_bytes() < LIVE_RESIDENT_BYTES)
		return;
	spill_trim(l->slot_memory);
	spill_trim(l->block_memory);
}

/* Resizes an array, making it at first. New memory is zeroed, and in huge pages where possible:
 * access is random. */
static int make_array(const struct live *l, struct spill **array, size_t n_bytes, struct err *err)
{
	size_t budget = l->budget_bytes ? l->budget_bytes : LIVE_BUDGET_BYTES;
	int r = 0;

	if (!*array)
		r = spill_create(l->folder ? l->folder : temp_file_folder(), budget / 2, array,
				 err);
	if (r == 0)
		r = spill_resize(*array, n_bytes, err);
	if (r < 0)
		return r;
	if (!spill_is_file(*array))
		huge_pages_advise(spill_data(*array), n_bytes);
	return 0;
}

/* Makes room for more blocks. Their indexes stay what they are. */
static int grow_blocks(struct live *l, struct err *err)
{
	uint32_t cap = l->cap_blocks ? l->cap_blocks + l->cap_blocks / 2 : FIRST_BLOCKS;
	int r;

	if (cap < l->cap_blocks)
		return err_set(err, ERR_LIMIT, "more than %u live blocks", l->cap_blocks);
	r = make_array(l, &l->block_memory, (size_t)cap * sizeof(*l->block), err);
	if (r == 0)
		r = make_array(l, &l->free_memory, (size_t)cap * sizeof(*l->free_index), err);
	if (r < 0)
		return r;
	l->block = spill_data(l->block_memory);
	l->free_index = spill_data(l->free_memory);
	l->cap_blocks = cap;
	l->is_file |= spill_is_file(l->block_memory);
	return 0;
}

static int grow_slots(struct live *l, struct err *err)
{
	struct live bigger = *l;
	int r;

	bigger.n_slots = l->n_slots ? l->n_slots * 2 : FIRST_SLOTS;
	bigger.shift = 64 - (unsigned)__builtin_ctzll(bigger.n_slots);
	bigger.slot_memory = NULL;
	r = make_array(l, &bigger.slot_memory, bigger.n_slots * sizeof(*l->slot), err);
	if (r < 0) {
		spill_destroy(bigger.slot_memory);
		return r;
	}
	bigger.slot = spill_data(bigger.slot_memory);
	bigger.is_file |= spill_is_file(bigger.slot_memory);
	for (size_t i = 0; i < l->n_slots; i++) {
		if (l->slot[i].addr)
			bigger.slot[live_find_slot(&bigger, l->slot[i].addr)] = l->slot[i];
		if (bigger.is_file && i % LIVE_ADDS_PER_LOOK == 0)
			trim(&bigger);
	}
	spill_destroy(l->slot_memory);
	*l = bigger;
	return 0;
}

int live_reserve(struct live *l, struct err *err)
{
	if (unlikely(l->is_file) && ++l->n_since_look >= LIVE_ADDS_PER_LOOK)
		trim(l);
	if (!l->n_free && l->n_used == l->cap_blocks) {
		int r = grow_blocks(l, err);

		if (r < 0)
			return r;
	}
	return l->n < live_limit(l) ? 0 : grow_slots(l, err);
}

struct live_block *live_find(const struct live *l, uint64_t addr)
{
	size_t i;

	if (l->n == 0)
		return NULL;
	i = live_find_slot(l, addr);
	return l->slot[i].addr ? live_at(l, i) : NULL;
}

struct live_block *live_add(struct live *l, const struct live_block *block)
{
	size_t i = live_find_slot(l, block->addr);
	struct live_block *added;

	ASSERT(block->addr && l->n < l->n_slots);
	if (unlikely(l->slot[i].addr != 0))
		return NULL;
	added = live_put(l, i, block->addr);
	*added = *block;
	return added;
}

bool live_take(struct live *l, uint64_t addr, struct live_block *ret)
{
	size_t i;

	if (l->n == 0)
		return false;
	i = live_find_slot(l, addr);
	if (l->slot[i].addr == 0)
		return false;
	*ret = *live_at(l, i);
	live_remove_slot(l, i);
	return true;
}

void live_save(struct live *l, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, l->n);
	for (size_t i = 0; i < l->n_slots; i++) {
		if (l->is_file && i % LIVE_ADDS_PER_LOOK == 0)
			trim(l);
		if (l->slot[i].addr)
			checkpoint_io_put(out, live_at(l, i), sizeof(struct live_block));
	}
}

int live_load(struct live *l, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(struct live_block));

	/* Blocks come in the order of their slots: in a smaller table they would make one long
	 * row. */
	while (in->result == 0 && live_limit(l) <= n)
		in->result = grow_slots(l, in->err);
	for (size_t i = 0; i < n && in->result == 0; i++) {
		struct live_block block;

		checkpoint_io_get(in, &block, sizeof(block));
		in->result = live_reserve(l, in->err);
		if (in->result == 0 && (!block.addr || !live_add(l, &block)))
			checkpoint_io_fail(in, "a block that is live twice");
	}
	return in->result;
}
