/* record/stack_id_cache.h - the stack ids of a lane: (id of the caller's stack, call) -> id of the
 * stack.
 *
 * A stack is an edge in a tree: the stack of the caller, and the call that leads from there one
 * frame further in. The recording defines each edge once and gives it an id. This cache finds the
 * id of an edge that the lane has defined.
 *
 * The cache may lose entries: a stack that is not found is only defined once more, under a new id,
 * with each stack that is called from it. So its size is a matter of speed:
 *   1. The table grows from 64 KiB to 256 KiB to 1 MiB, each time when it is 7/8 full. 1 MiB still
 *      fits the cache that a CPU core has for itself.
 *   2. When 1 MiB is full, a lossy table of 256 KiB is faster, although stacks are defined over and
 *      over. A full line of a lossy table drops its last entry.
 *   3. After STACK_ID_CACHE_MANY_IDS definitions by this lane the readers of the recording are
 *      better served by a large table that holds all stacks: 4 MiB, and 16 MiB when that is full.
 *   4. Tables above STACK_ID_CACHE_OWN_BYTES come out of a budget that all lanes share, first come,
 *      first served. A lane that gets nothing keeps its table, which becomes lossy.
 * Valid entries move along into the new table. The old table is unmapped (the first one is not),
 * and its bytes go back to the budget.
 *
 *	hash of the edge key ---> line -------> | entry | entry | entry | entry |   64 bytes
 *	        \--rotated, mixed--> other line (not in a lossy table)
 *
 * Order in a line: an entry that is found moves one place forward. A lossy table puts a new entry
 * first. Other tables put a new entry into a void place. If both lines are full, some of their
 * entries move to their own other lines (cuckoo hashing, two levels deep).
 *
 * Threads: a cache belongs to one lane. The writer resets the cache of a thread that is gone.
 */
#ifndef RECORD_STACK_ID_CACHE_H
#define RECORD_STACK_ID_CACHE_H

#include <stdatomic.h>

#include "base/compiler.h"

#define STACK_ID_CACHE_PER_LINE 4

/* The call edge_key from the stack parent is the stack id. An entry with an id below the cache's
 * min_id is void; min_id is at least 1, so an entry of zeros is void.
 *
 * The edge key is the called address and a hash of the addresses of the calling stack
 * (unwind/stack_hash.h). So calls of one function from different stacks have different keys. The
 * line follows from the edge key alone, not from parent: so all entries of a new stack are
 * prefetched at once, although each needs the id that the entry before it gives. Waiting for them
 * is most of what it costs to name a new stack. */
struct stack_id_cache_entry {
	uint64_t edge_key;
	uint32_t parent; /* id of the caller's stack; 0 for the outermost frame */
	uint32_t id;
};

/* An entry lies in one of two lines, which its hash gives. A lossy table uses the first only. */
struct stack_id_cache_line {
	_Alignas(64) struct stack_id_cache_entry entry[STACK_ID_CACHE_PER_LINE];
};

/* Sizes of tables. */
#define STACK_ID_CACHE_FIRST_BYTES (64u << 10) /* the first, part of the lane's memory */
#define STACK_ID_CACHE_OWN_BYTES (256u << 10) /* the largest outside of the shared budget */
#define STACK_ID_CACHE_FAST_BYTES (1u << 20) /* the largest that fits a core's own cache */
#define STACK_ID_CACHE_LARGE_BYTES (4u << 20)
#define STACK_ID_CACHE_LARGEST_BYTES (16u << 20)
#define STACK_ID_CACHE_SHARED_BYTES (16u << 20) /* the budget of all lanes */
#define STACK_ID_CACHE_MANY_IDS (1u << 20) /* ids defined before a lane may have a large table */

struct stack_id_cache {
	struct stack_id_cache_line *line;
	size_t n_lines; /* a power of two: 1 << (64 - shift) */
	unsigned shift;
	size_t n_used; /* valid entries */
	size_t n_until_full; /* entries to add until the table is 7/8 full; then the next size is
				tried, if more than half of the entries are valid */
	uint32_t min_id; /* entries with a lower id are void; at least 1 */
	bool is_lossy; /* a full line drops its last entry */
	struct stack_id_cache_line *first; /* STACK_ID_CACHE_FIRST_BYTES, borrowed */
	_Atomic uint64_t *shared_bytes; /* of the budget, taken by all lanes; borrowed */
};

/* Makes an empty cache. first: STACK_ID_CACHE_FIRST_BYTES of zeros, aligned to 64; it stays the
 * caller's, as does shared_bytes. stack_id_cache_reset() gives back what the cache maps by
 * itself. */
void stack_id_cache_init(struct stack_id_cache *c, struct stack_id_cache_line *first,
			 _Atomic uint64_t *shared_bytes);

/* Back to the first table, empty; ids begin with 1 again. If nothing was added, the first table is
 * still zero, and its pages are not touched. */
void stack_id_cache_reset(struct stack_id_cache *c);

/* Makes all entries void. Only ids from min_id on will be added. For the moments in which the
 * recording gives up all ids: code was unloaded, an event block with definitions was lost, or
 * there are too many ids (stack_forget()). */
void stack_id_cache_forget(struct stack_id_cache *c, uint32_t min_id);

/* Adds an edge. id: greater than all that were added before. May change the size of the table, or
 * lose an entry. */
void stack_id_cache_add(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key, uint32_t id);

/* Entries that the table has room for. */
static inline size_t stack_id_cache_capacity(const struct stack_id_cache *c)
{
	return c->n_lines * STACK_ID_CACHE_PER_LINE;
}

/* The hash of an edge key. Its upper bits are well mixed. */
static ALWAYS_INLINE uint64_t stack_id_cache_hash(uint64_t edge_key)
{
	return edge_key * 0x9e3779b97f4a7c15ull;
}

/* The line that a hash leads to. */
static ALWAYS_INLINE struct stack_id_cache_line *
stack_id_cache_line_of(const struct stack_id_cache *c, uint64_t hash)
{
	return &c->line[hash >> c->shift];
}

/* Prefetches the line of an edge that is going to be looked for. */
static ALWAYS_INLINE void stack_id_cache_prefetch(const struct stack_id_cache *c, uint64_t edge_key)
{
	__builtin_prefetch(stack_id_cache_line_of(c, stack_id_cache_hash(edge_key)));
}

/* Is this the valid entry of the edge? */
static ALWAYS_INLINE bool stack_id_cache_matches(const struct stack_id_cache_entry *entry,
						 uint32_t parent, uint64_t edge_key,
						 uint32_t min_id)
{
	return entry->edge_key == edge_key && entry->parent == parent && entry->id >= min_id;
}

/* The rest of stack_id_cache_find(): looks at both lines, and moves the entry that it finds one
 * step forward. */
uint32_t stack_id_cache_find_slow(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key);

/* The id of an edge; 0: not in the cache. */
static ALWAYS_INLINE uint32_t stack_id_cache_find(struct stack_id_cache *c, uint32_t parent,
						  uint64_t edge_key)
{
	const struct stack_id_cache_entry *first =
		&stack_id_cache_line_of(c, stack_id_cache_hash(edge_key))->entry[0];

	if (likely(stack_id_cache_matches(first, parent, edge_key, c->min_id)))
		return first->id;
	return stack_id_cache_find_slow(c, parent, edge_key);
}

#endif
