/* ingest/live.h - the blocks of the recorded program that are allocated, by address.
 *
 * A table of addresses with open addressing and linear probing, four to a cache line; removal moves
 * later entries back so that there are no tombstones. The blocks themselves lie apart, dense, and
 * the place of a block that is gone is used again first: it is still in the cache. One thread at a
 * time.
 */
#ifndef INGEST_LIVE_H
#define INGEST_LIVE_H

#include "ingest/checkpoint_io.h"
#include "util/spill.h"

/* What the table may take of memory. Beyond it lies in a temporary file, and is taken out of
 * memory whenever the process has more than LIVE_RESIDENT_BYTES there. */
#define LIVE_BUDGET_BYTES (160u << 20)
#define LIVE_RESIDENT_BYTES (320u << 20)

/* An allocation: what its event told, and where it stands in the order of its thread. */
struct live_block {
	uint64_t addr; /* never 0 */
	uint64_t size_bytes; /* requested */
	uint64_t at_ns; /* of the call, since the start */
	uint64_t ordinal; /* of this thread's allocations and reallocations, from 0 */
	uint64_t tag; /* the user's, see replay.h */
	uint64_t chain; /* likewise; 0 at first */
	uint32_t thread; /* number in the recording */
	uint32_t stack; /* number of struct stacks */
	uint32_t extra_bytes; /* usable beyond size_bytes; UINT32_MAX: so much or more */
	uint8_t kind; /* enum event_kind */
};

_Static_assert(sizeof(struct live_block) == 64, "one cache line");

struct live_slot {
	uint64_t addr; /* 0: empty */
	uint32_t index; /* in live.block */
	uint32_t unused;
};

struct live {
	struct live_slot *slot;
	size_t n_slots; /* 0 or a power of two */
	unsigned shift; /* 64 - log2(n_slots) */
	size_t n; /* at most live_limit() */
	struct live_block *block; /* by place */
	uint32_t n_used; /* that were ever used ... */
	uint32_t cap_blocks; /* ... of so many */
	uint32_t *free_index; /* those that are not used any more, the last one first */
	uint32_t n_free;
	const char *folder; /* for the temporary file, borrowed; NULL: temp_file_folder() */
	size_t budget_bytes; /* 0: LIVE_BUDGET_BYTES */
	struct spill *slot_memory;
	struct spill *block_memory;
	struct spill *free_memory;
	uint32_t n_since_look; /* additions since the size of the process was looked at */
	bool is_file;
};

/* A zeroed struct live is empty; folder and budget_bytes may be set. */
void live_fini(struct live *l);

/* Takes a table that lies in a file out of memory if the process has much there. */
void live_trim(struct live *l);

/* Makes room so that the next live_add() cannot fail. */
int live_reserve(struct live *l, struct err *err);

/* The block at addr, or NULL. Good until it is taken out or room is made. */
struct live_block *live_find(const struct live *l, uint64_t addr);

/* Adds a block; live_reserve() came before. Gives its place, good as above; NULL when its address is
 * there already. */
struct live_block *live_add(struct live *l, const struct live_block *block);

/* Moves the block at addr out. False when there is none. */
bool live_take(struct live *l, uint64_t addr, struct live_block *ret);

/* For incremental.h: loaded into an empty one. What blocks name is not checked here. */
void live_save(struct live *l, struct checkpoint_io_out *out);
int live_load(struct live *l, struct checkpoint_io_in *in);

/* ---- the parts that every event needs ---- */

#define LIVE_PREFETCH_DISTANCE 16u
#define LIVE_ROOMY_SLOTS (1u << 20) /* 16 MiB */
#define LIVE_ADDS_PER_LOOK 8192 /* each may bring in two pages: 64 MiB at most */

/* So many of the slots are used at most. A table that is not large is kept rather empty: searches end
 * sooner, which made a report of python3 a sixth faster than 5/8 everywhere did. */
static inline size_t live_limit(const struct live *l)
{
	return l->n_slots <= LIVE_ROOMY_SLOTS ? l->n_slots / 8 * 3 : l->n_slots / 8 * 5;
}

/* For how many blocks more is there room, without a call of live_reserve()? Who adds them counts them in
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

/* Where the search for addr begins. */
static inline size_t live_slot(const struct live *l, uint64_t addr)
{
	return (size_t)((addr >> 4) * 0x9e3779b97f4a7c15ull >> (l->shift & 63));
}

/* Where addr is, or the empty slot where it belongs; the table is not without slots. */
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

/* Makes an empty slot that of addr, and gives the place of its block, to be filled in. There is
 * room. */
static inline struct live_block *live_put(struct live *l, size_t slot, uint64_t addr)
{
	uint32_t index;

	if (likely(l->n_free)) {
		index = l->free_index[--l->n_free];
		if (l->n_free >= LIVE_PREFETCH_DISTANCE) /* it may be long since it was used */
			__builtin_prefetch(
				&l->block[l->free_index[l->n_free - LIVE_PREFETCH_DISTANCE]], 1);
	} else {
		index = l->n_used++;
	}
	l->slot[slot] = (struct live_slot){.addr = addr, .index = index};
	l->n++;
	return &l->block[index];
}

/* Takes the block out of its slot. */
static inline void live_remove_slot(struct live *l, size_t hole)
{
	size_t mask = l->n_slots - 1;

	l->free_index[l->n_free++] = l->slot[hole].index;
	for (size_t i = (hole + 1) & mask; l->slot[i].addr; i = (i + 1) & mask) {
		size_t home = live_slot(l, l->slot[i].addr);

		/* may move back if its home is not between the hole and itself */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			l->slot[hole] = l->slot[i];
			hole = i;
		}
	}
	l->slot[hole].addr = 0;
	l->n--;
}

/* Memory is slow: what a call will need is asked for some calls before, first the slot, then the
 * block. Not plain inline functions: gcc takes those for ones without effect and drops the call. */
static ALWAYS_INLINE void live_prefetch_slot(const struct live *l, uint64_t addr)
{
	size_t i = live_slot(l, addr);

	__builtin_prefetch(&l->slot[i], 1);
	__builtin_prefetch(&l->slot[(i + 1) & (l->n_slots - 1)], 1); /* removal looks there, too */
}

static ALWAYS_INLINE void live_prefetch_block(const struct live *l, uint64_t addr)
{
	size_t i = live_find_slot(l, addr);

	if (l->slot[i].addr)
		__builtin_prefetch(live_at(l, i), 1);
}

#endif
