/* ingest/live.h - the blocks of the recorded program that are allocated now, by address.
 *
 * A hash table of addresses (open addressing, linear probing, four slots to a cache line) and a
 * dense array of blocks:
 *
 *   slot[]    | addr, index | empty | addr, index | ...
 *                    |                    |
 *   block[]   [ 0 ][ 1 ][ 2 ][ 3 ] ...  index of a block; it does not change while the block lives
 *
 * Removal moves later slots back, so there are no tombstones. The index of a block that is gone is
 * used again first: its memory is still in the cache. A table that is too large for its budget lies
 * in a temporary file (util/spill.h). Limits: 2^32 - 1 blocks (ERR_LIMIT). Threads: one at a time.
 */
#ifndef INGEST_LIVE_H
#define INGEST_LIVE_H

#include "ingest/checkpoint_io.h"
#include "util/spill.h"

/* The memory that slots and blocks may take. What is larger lies in a temporary file, whose pages
 * are dropped from memory whenever the process has more than LIVE_RESIDENT_BYTES there. */
#define LIVE_BUDGET_BYTES (160u << 20)
#define LIVE_RESIDENT_BYTES (320u << 20)

/* An allocation: its event, and where it stands in the order of its thread. */
struct live_block {
	uint64_t addr; /* never 0 */
	uint64_t size_bytes; /* requested */
	uint64_t at_ns; /* of the call, since the start */
	uint64_t ordinal; /* of this thread's allocations and reallocations, from 0 */
	uint64_t tag; /* the user's: see replay_callbacks.on_arrival */
	uint64_t chain; /* the user's: see replay_callbacks.on_alloc; 0 at first */
	uint32_t thread; /* number in the recording */
	uint32_t stack; /* number in struct stacks */
	uint32_t extra_bytes; /* usable beyond size_bytes; UINT32_MAX: so many or more */
	uint8_t kind; /* enum event_kind */
	uint8_t allocator; /* its number: format/event.h */
};

_Static_assert(sizeof(struct live_block) == 64, "one cache line");

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
	size_t n; /* blocks: at most live_limit() */
	struct live_block *block; /* by index */
	uint32_t n_used; /* indexes that were ever used ... */
	uint32_t cap_blocks; /* ... of so many */
	uint32_t *free_index; /* indexes to use again, the last one first */
	uint32_t n_free;
	const char *folder; /* for the temporary file, borrowed; NULL: temp_file_folder() */
	size_t budget_bytes; /* 0: LIVE_BUDGET_BYTES */
	struct spill *slot_memory;
	struct spill *block_memory;
	struct spill *free_memory;
	uint32_t n_since_look; /* additions since the size of the process was looked at */
	bool is_file;
};

void live_fini(struct live *l);

/* Makes room so that the next live_add() cannot fail. ERR_MEMORY, ERR_IO or ERR_LIMIT. */
int live_reserve(struct live *l, struct err *err);

/* The block at addr, or NULL. Valid until the block is taken out or room is made. */
struct live_block *live_find(const struct live *l, uint64_t addr);

/* Adds a copy of a block; live_reserve() came before. Returns the block in the table, valid as that
 * of live_find(); NULL when its address is live already. */
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
#define LIVE_ADDS_PER_LOOK 8192 /* each may bring in two pages: 64 MiB at most */

/* The number of slots that may be used. A table that is not large is kept rather empty, so that
 * searches end sooner: a report of python3 became a sixth faster than with 5/8 for all sizes. */
static inline size_t live_limit(const struct live *l)
{
	return l->n_slots <= LIVE_ROOMY_SLOTS ? l->n_slots / 8 * 3 : l->n_slots / 8 * 5;
}

/* The number of blocks that can be added without live_reserve(). The caller adds what it added to
 * n_since_look. */
static inline size_t live_room(const struct live *l)
{
	size_t n_slots = live_limit(l) - l->n;
	size_t n_used = l->n_free + (size_t)(l->cap_blocks - l->n_used);
	size_t n = n_slots < n_used ? n_slots : n_used;

	if (!l->is_file)
		return n;
	if (l->n_since_look >= LIVE_ADDS_PER_LOOK)
		return 0;
	return n < LIVE_ADDS_PER_LOOK - l->n_since_look ? n : LIVE_ADDS_PER_LOOK - l->n_since_look;
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

/* Gives an empty slot to addr, and returns its block, to be filled in. There is room. */
static inline struct live_block *live_put(struct live *l, size_t slot, uint64_t addr)
{
	uint32_t index = live_new_index(l);

	l->slot[slot] = (struct live_slot){.addr = addr, .index = index};
	l->n++;
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
	l->n--;
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
