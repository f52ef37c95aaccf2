/* record/stack_id_cache.h - the stacks that a lane has named: (caller's stack id, edge_key) -> stack id.
 *
 * An entry that is not found, though it was added, only means that the stack is defined once more, and
 * each stack inside of it. So a table may lose entries. It grows while it can hold all of them and
 * stay in the CPU's own cache. Beyond that a small one that keeps what was used last is faster,
 * though stacks are defined over and over; until there were so many of these that the readers
 * of the recording are better served by a large table that holds them all.
 */
#ifndef RECORD_STACK_ID_CACHE_H
#define RECORD_STACK_ID_CACHE_H

#include <stdatomic.h>

#include "base/compiler.h"

#define STACK_ID_CACHE_PER_LINE 4

/* The edge_key from the stack parent is the stack id, if that is not below the table's min_id. Where it lies
 * comes from edge_key alone (unwind_call()), so that all entries of a new stack are fetched at once
 * though each needs the id that the one before it gives: most of what it costs to name one. */
struct stack_id_cache_entry {
	uint64_t edge_key;
	uint32_t parent;
	uint32_t id;
};

/* An entry lies in one of two lines, by its hash; in a lossy table always in the first one. The first
 * entries of a line are those used last. */
struct stack_id_cache_line {
	_Alignas(64) struct stack_id_cache_entry entry[STACK_ID_CACHE_PER_LINE];
};

/* Sizes: the table that a lane begins with, which is part of its memory; the largest one that it may
 * have for itself; the largest one that is fast; two large ones. All above STACK_ID_CACHE_OWN_BYTES are
 * taken from what all lanes share, first come, first served. A large one that is full becomes the
 * largest. */
#define STACK_ID_CACHE_FIRST_BYTES (64u << 10)
#define STACK_ID_CACHE_OWN_BYTES (256u << 10)
#define STACK_ID_CACHE_FAST_BYTES (1u << 20)
#define STACK_ID_CACHE_LARGE_BYTES (4u << 20)
#define STACK_ID_CACHE_LARGEST_BYTES (16u << 20)
#define STACK_ID_CACHE_SHARED_BYTES (16u << 20)
#define STACK_ID_CACHE_MANY_IDS (1u << 20) /* defined before a lane may have a large table */

struct stack_id_cache {
	struct stack_id_cache_line *line;
	size_t n_lines; /* a power of two ... */
	unsigned shift; /* ... 1 << (64 - shift) */
	size_t n_used; /* entries in it */
	size_t n_until_full; /* entries to add before it is time to look whether its size is right */
	uint32_t min_id;
	bool is_lossy; /* small on purpose */
	struct stack_id_cache_line *first; /* STACK_ID_CACHE_FIRST_BYTES */
	_Atomic uint64_t *
		shared_bytes; /* taken by the tables of all lanes, above STACK_ID_CACHE_OWN_BYTES */
};

/* first: STACK_ID_CACHE_FIRST_BYTES of zeros, aligned to lines. */
void stack_id_cache_init(struct stack_id_cache *c, struct stack_id_cache_line *first,
			 _Atomic uint64_t *shared_bytes);

/* Back to the first table, empty; ids begin anew. Does not touch memory that was never used. */
void stack_id_cache_reset(struct stack_id_cache *c);

/* All entries are void; ids from min_id on will be added. */
void stack_id_cache_forget(struct stack_id_cache *c, uint32_t min_id);

/* id must be greater than all before it. */
void stack_id_cache_add(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key, uint32_t id);

/* Edges that the table has room for. */
static inline size_t stack_id_cache_capacity(const struct stack_id_cache *c)
{
	return c->n_lines * STACK_ID_CACHE_PER_LINE;
}

/* Its upper bits are the good ones. */
static ALWAYS_INLINE uint64_t stack_id_cache_hash(uint64_t edge_key)
{
	return edge_key * 0x9e3779b97f4a7c15ull;
}

static ALWAYS_INLINE struct stack_id_cache_line *
stack_id_cache_line_of(const struct stack_id_cache *c, uint64_t hash)
{
	return &c->line[hash >> c->shift];
}

/* It is going to be looked for. */
static ALWAYS_INLINE void stack_id_cache_prefetch(const struct stack_id_cache *c, uint64_t edge_key)
{
	__builtin_prefetch(stack_id_cache_line_of(c, stack_id_cache_hash(edge_key)));
}

static ALWAYS_INLINE bool stack_id_cache_matches(const struct stack_id_cache_entry *entry,
						 uint32_t parent, uint64_t edge_key,
						 uint32_t min_id)
{
	return entry->edge_key == edge_key && entry->parent == parent && entry->id >= min_id;
}

/* The rest of stack_id_cache_find(). */
uint32_t stack_id_cache_find_slow(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key);

/* 0: not known. */
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
