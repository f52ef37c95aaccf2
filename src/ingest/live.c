/* ingest/live.c - see live.h. */
#include "ingest/live.h"

#include <stdlib.h>
#include <string.h>

#include "util/big_vec.h"
#include "util/huge_pages.h"
#include "util/memory_budget.h"
#include "util/radix_sort.h"
#include "util/temp_file.h"

#define FIRST_SLOTS 4096
#define BUDGET_SIXTEENTHS 5u /* of the program's */
#define HOT_BLOCK_BYTES 96u /* block, index, and its part of the slots */
#define MIN_HOT ((size_t)1024)
#define N_SAMPLES 1024u /* of ages, to find the oldest blocks */
#define PREFETCH_DISTANCE 8u

void live_fini(struct live *l)
{
	big_vec_free(l->slot, l->n_slots, sizeof(*l->slot));
	big_vec_free(l->block, l->cap_blocks, sizeof(*l->block));
	big_vec_free(l->free_index, l->cap_free, sizeof(*l->free_index));
	live_cold_destroy(l->cold);
	*l = (struct live){0};
}

static size_t budget(const struct live *l)
{
	return l->budget_bytes ? l->budget_bytes : memory_budget_share(BUDGET_SIXTEENTHS);
}

static void set_max_hot(struct live *l)
{
	l->max_hot = budget(l) / 4 * 3 / HOT_BLOCK_BYTES;
	if (l->max_hot < MIN_HOT)
		l->max_hot = MIN_HOT;
	if (l->max_hot > UINT32_MAX / 2)
		l->max_hot = UINT32_MAX / 2;
}

/* Makes room for one more block. Indexes stay what they are. */
static int grow_blocks(struct live *l, struct err *err)
{
	int r = big_vec_reserve(&l->block, &l->cap_blocks, (size_t)l->n_used + 1, sizeof(*l->block),
				err);

	if (r == 0)
		r = big_vec_reserve(&l->free_index, &l->cap_free, l->cap_blocks,
				    sizeof(*l->free_index), err);
	return r;
}

static int grow_slots(struct live *l, struct err *err)
{
	struct live bigger = *l;
	size_t n_slots = l->n_slots ? l->n_slots * 2 : FIRST_SLOTS;
	int r;

	bigger.slot = NULL;
	bigger.n_slots = 0;
	r = big_vec_reserve(&bigger.slot, &bigger.n_slots, n_slots, sizeof(*l->slot), err);
	if (r < 0)
		return r;
	bigger.shift = 64 - (unsigned)__builtin_ctzll(bigger.n_slots);
	for (size_t i = 0; i < l->n_slots; i++) {
		if (l->slot[i].addr)
			bigger.slot[live_find_slot(&bigger, l->slot[i].addr)] = l->slot[i];
	}
	big_vec_free(l->slot, l->n_slots, sizeof(*l->slot));
	*l = bigger;
	return 0;
}

/* ---- moving old blocks out ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A time that about three quarters of the blocks are not after. */
static uint64_t find_old_ns(const struct live *l)
{
	uint64_t at_ns[N_SAMPLES];
	size_t n = 0, step = l->n_slots / N_SAMPLES ? l->n_slots / N_SAMPLES : 1;

	for (size_t i = 0; i < l->n_slots && n < N_SAMPLES; i++) {
		if (l->slot[i].addr) {
			at_ns[n++] = live_at(l, i)->at_ns;
			i += step - 1;
		}
	}
	qsort(at_ns, n, sizeof(*at_ns), compare_u64);
	return n ? at_ns[n / 4 * 3] : 0;
}

struct old_blocks {
	const struct live *l;
	const struct radix_item *item; /* address and index, by address */
	size_t n;
};

static const struct live_block *old_block_at(void *user, size_t i)
{
	const struct old_blocks *o = user;

	if (i + PREFETCH_DISTANCE < o->n)
		__builtin_prefetch(&o->l->block[o->item[i + PREFETCH_DISTANCE].value]);
	return &o->l->block[o->item[i].value];
}

/* Takes the old blocks out of the table; returns how many. item has room for all blocks: gets address
 * and index of the old ones. */
static size_t take_old(struct live *l, struct radix_item *item)
{
	uint64_t old_ns = find_old_ns(l);
	size_t n = 0, n_kept = l->n_hot;

	for (size_t i = 0; i < l->n_slots; i++) {
		size_t ahead = (i + PREFETCH_DISTANCE) & (l->n_slots - 1);

		__builtin_prefetch(live_at(l, ahead)); /* of an empty slot: some block */
		if (!l->slot[i].addr)
			continue;
		item[live_at(l, i)->at_ns <= old_ns ? n++ : --n_kept] =
			(struct radix_item){l->slot[i].addr, l->slot[i].index};
	}
	memset(l->slot, 0, l->n_slots * sizeof(*l->slot));
	for (size_t i = n; i < l->n_hot; i++)
		l->slot[live_find_slot(l, item[i].key)] =
			(struct live_slot){.addr = item[i].key, .index = (uint32_t)item[i].value};
	l->n_hot -= n;
	return n;
}

/* Moves the oldest three quarters of the blocks to l->cold. */
static int move_out(struct live *l, struct err *err)
{
	size_t n_all = l->n_hot;
	struct radix_item *item = malloc(2 * n_all * sizeof(*item));
	struct old_blocks old = {.l = l};
	int r = item ? 0 : err_set_memory(err, 2 * n_all * sizeof(*item));

	if (r == 0 && !l->cold)
		r = live_cold_create(l->folder, budget(l) / 4, &l->cold, err);
	if (r == 0) {
		old.n = take_old(l, item);
		old.item = radix_sort(item, item + n_all, old.n);
		r = live_cold_add(l->cold, old.n, old_block_at, &old, err);
	}
	for (size_t i = 0; i < old.n; i++)
		l->free_index[l->n_free++] = (uint32_t)old.item[i].value;
	free(item);
	return r;
}

int live_reserve(struct live *l, struct err *err)
{
	int r = 0;

	if (unlikely(!l->max_hot))
		set_max_hot(l);
	if (unlikely(l->n_hot >= l->max_hot))
		r = move_out(l, err);
	if (r == 0 && !l->n_free && l->n_used == l->cap_blocks)
		r = grow_blocks(l, err);
	if (r == 0 && l->n_hot >= live_limit(l))
		r = grow_slots(l, err);
	return r;
}

/* ---- blocks ---- */

uint64_t live_count(const struct live *l)
{
	return l->n_hot + (l->cold ? live_cold_count(l->cold) : 0);
}

const struct live_block *live_find(const struct live *l, uint64_t addr)
{
	const struct live_block *block = live_find_hot(l, addr);

	if (!block && live_is_maybe_cold(l, addr))
		block = live_cold_find(l->cold, addr);
	return block;
}

struct live_block *live_add(struct live *l, const struct live_block *block)
{
	size_t i = live_find_slot(l, block->addr);
	struct live_block *added;

	ASSERT(block->addr && l->n_hot < l->n_slots);
	if (unlikely(l->slot[i].addr != 0))
		return NULL;
	if (live_is_maybe_cold(l, block->addr) && live_cold_find(l->cold, block->addr))
		return NULL;
	added = live_put(l, i, block->addr);
	*added = *block;
	return added;
}

bool live_take(struct live *l, uint64_t addr, struct live_block *ret)
{
	size_t i = l->n_hot ? live_find_slot(l, addr) : 0;

	if (l->n_hot == 0 || l->slot[i].addr == 0)
		return live_is_maybe_cold(l, addr) && live_cold_take(l->cold, addr, ret);
	*ret = *live_at(l, i);
	live_remove_slot(l, i);
	return true;
}

void live_each(const struct live *l, bool (*visit)(void *user, const struct live_block *block),
	       void *user)
{
	for (size_t i = 0; i < l->n_slots; i++) {
		if (l->slot[i].addr && !visit(user, live_at(l, i)))
			return;
	}
	if (l->cold)
		live_cold_each(l->cold, visit, user);
}

/* ---- checkpoints ---- */

static bool save_block(void *user, const struct live_block *block)
{
	checkpoint_io_put(user, block, sizeof(*block));
	return true;
}

void live_save(struct live *l, struct checkpoint_io_out *out)
{
	checkpoint_io_put_u64(out, live_count(l));
	live_each(l, save_block, out);
}

int live_load(struct live *l, struct checkpoint_io_in *in)
{
	size_t n = checkpoint_io_get_count(in, sizeof(struct live_block)), n_hot;

	set_max_hot(l);
	/* Blocks come in the order of their slots: in a smaller table they would make one long
	 * row. */
	n_hot = n < l->max_hot ? n : l->max_hot;
	while (in->result == 0 && live_limit(l) <= n_hot)
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
