/* ingest/live.h - the blocks of the recorded program that are allocated now, by address.
 *
 * A hash table of addresses (open addressing, linear probing, four slots to a cache line) and a
 * dense array of blocks:
 *
 *   slot[]    | addr, index | empty | addr, index | ...
 *                    |                    |
 *   block[]   [ 0 ][ 1 ][ 2 ][ 3 ] ...  index of a block; it does not change while the block is here
 *
 * Removal moves later slots back, so there are no tombstones. The index that was freed last is used
 * again first: its block is still in the CPU's caches.
 *
 * The table holds a bounded number of blocks. When it is full, live_reserve() moves the oldest three
 * quarters out: live_cold.h packs them, and writes what is beyond the budget to temporary files. A
 * block is in the table or moved out, never both. All functions look at both, except where the name
 * says "hot". Limits: 2^32 - 1 blocks in the table (ERR_LIMIT).
 * Threads: one at a time.
 */
#ifndef INGEST_LIVE_H
#define INGEST_LIVE_H

#include "ingest/checkpoint_io.h"
#include "ingest/live_block.h"
#include "ingest/live_cold.h"

struct live_slot {
	uint64_t addr; /* 0: empty */
	uint32_t index; /* in live.block */
	uint32_t unused;
};

/* A zeroed struct is empty; folder and budget_bytes may be set. */
struct live {
	struct live_slot *slot;
	size_t n_slots; /* 0 or a power of two */
	unsigned shift; /* 64 - log2(n_slots) */
	size_t n_hot; /* blocks in the table: at most live_limit() */
	struct live_block *block; /* by index */
	size_t cap_blocks;
	uint32_t n_used; /* indexes that were ever used */
	uint32_t *free_index; /* indexes to use again, the last one first */
	size_t cap_free;
	uint32_t n_free;
	struct live_cold *cold; /* blocks that were moved out; NULL: none */
	const char *folder; /* for temporary files, borrowed; NULL: temp_file_folder() */
	size_t budget_bytes; /* of all this; 0: a share of the process's: memory_budget.h */
	size_t max_hot; /* blocks in the table: from the budget; 0: not computed yet */
};

void live_fini(struct live *l);

/* Makes room so that the next live_add() cannot fail. ERR_MEMORY, ERR_IO or ERR_LIMIT. */
int live_reserve(struct live *l, struct err *err);

/* The number of blocks. */
uint64_t live_count(const struct live *l);

/* The block at addr, or NULL. Valid until the next function of l that may change something. */
const struct live_block *live_find(const struct live *l, uint64_t addr);

/* Visits all blocks. visit() returns false to stop. */
void live_each(const struct live *l, bool (*visit)(void *user, const struct live_block *block),
	       void *user);

/* Adds a copy of a block; live_reserve() came before. Returns the copy in the table, valid as that of
 * live_find(). NULL, and nothing is added: there is a block at this address. */
struct live_block *live_add(struct live *l, const struct live_block *block);

/* Moves the block at addr out to *ret. False when there is none. */
bool live_take(struct live *l, uint64_t addr, struct live_block *ret);

/* For checkpoints (incremental.h). live_load() reads into an empty table; it does not check what
 * blocks name. */
void live_save(struct live *l, struct checkpoint_io_out *out);
int live_load(struct live *l, struct checkpoint_io_in *in);

/* ---- the parts that every event needs, inline for pairing_fast.h ---- */

#define LIVE_PREFETCH_DISTANCE 16u
#define LIVE_ROOMY_SLOTS (1u << 20) /* 16 MiB */

/* The number of slots that may be used. A table that is not large is kept rather empty, so that
 * searches end sooner: a report of python3 became a sixth faster than with 5/8 for all sizes. */
static inline size_t live_limit(const struct live *l)
{
	return l->n_slots <= LIVE_ROOMY_SLOTS ? l->n_slots / 8 * 3 : l->n_slots / 8 * 5;
}

/* The number of blocks that can be added without live_reserve(). */
static inline size_t live_room(const struct live *l)
{
	size_t limit = live_limit(l), n_indexes = l->n_free + (l->cap_blocks - l->n_used), n_slots;

	if (limit > l->max_hot)
		limit = l->max_hot;
	n_slots = limit > l->n_hot ? limit - l->n_hot : 0;
	return n_slots < n_indexes ? n_slots : n_indexes;
}

/* The slot where the search for addr begins. */
static inline size_t live_slot(const struct live *l, uint64_t addr)
{
	return (size_t)((addr >> 4) * 0x9e3779b97f4a7c15ull >> (l->shift & 63));
}

/* The slot of addr, or the empty slot where it belongs. The table has slots. */
static inline size_t live_find_slot(const struct live *l, uint64_t addr)
{
	size_t i = live_slot(l, addr);

	while (l->slot[i].addr != addr && l->slot[i].addr != 0)
		i = (i + 1) & (l->n_slots - 1);
	return i;
}

static inline struct live_block *live_at(const struct live *l, size_t slot)
{
	return &l->block[l->slot[slot].index];
}

/* An index for a new block. There is room. */
static inline uint32_t live_new_index(struct live *l)
{
	if (unlikely(!l->n_free))
		return l->n_used++;
	l->n_free--;
	if (l->n_free >= LIVE_PREFETCH_DISTANCE) /* it may be long since it was used */
		__builtin_prefetch(&l->block[l->free_index[l->n_free - LIVE_PREFETCH_DISTANCE]], 1);
	return l->free_index[l->n_free];
}

/* May a block at addr have been moved out? False is certain. */
static inline bool live_is_maybe_cold(const struct live *l, uint64_t addr)
{
	return unlikely(l->cold != NULL) && live_cold_may_hold(l->cold, addr);
}

/* The block at addr if it is in the table, or NULL. */
static inline struct live_block *live_find_hot(const struct live *l, uint64_t addr)
{
	size_t i;

	if (l->n_hot == 0)
		return NULL;
	i = live_find_slot(l, addr);
	return l->slot[i].addr ? live_at(l, i) : NULL;
}

/* Gives an empty slot to addr, and returns its block, to be filled in. There is room. */
static inline struct live_block *live_put(struct live *l, size_t slot, uint64_t addr)
{
	uint32_t index = live_new_index(l);

	l->slot[slot] = (struct live_slot){.addr = addr, .index = index};
	l->n_hot++;
	return &l->block[index];
}

/* Empties a slot and moves later ones back, so that each can still be found from its home. A slot
 * may move into the hole if its home is not between the hole and the slot itself. */
static inline void live_close_hole(struct live *l, size_t hole)
{
	size_t mask = l->n_slots - 1;

	for (size_t i = (hole + 1) & mask; l->slot[i].addr; i = (i + 1) & mask) {
		if (((i - live_slot(l, l->slot[i].addr)) & mask) >= ((i - hole) & mask)) {
			l->slot[hole] = l->slot[i];
			hole = i;
		}
	}
	l->slot[hole].addr = 0;
}

/* Takes the block out of its slot. */
static inline void live_remove_slot(struct live *l, size_t slot)
{
	l->free_index[l->n_free++] = l->slot[slot].index;
	live_close_hole(l, slot);
	l->n_hot--;
}

/* Prefetch what a call will need, some calls before it: first the slot, then the block. Not `static
 * inline`: gcc takes such a function for one without effect and drops the call. */
static ALWAYS_INLINE void live_prefetch_slot(const struct live *l, uint64_t addr)
{
	size_t i = live_slot(l, addr);

	__builtin_prefetch(&l->slot[i], 1);
	__builtin_prefetch(&l->slot[(i + 1) & (l->n_slots - 1)], 1); /* removal looks there too */
}

static ALWAYS_INLINE void live_prefetch_block(const struct live *l, uint64_t addr)
{
	size_t i = live_find_slot(l, addr);

	if (l->slot[i].addr)
		__builtin_prefetch(live_at(l, i), 1);
}

#endif
