/* record/edges.h - the stacks that a lane has named: (caller's stack id, call) -> stack id.
 *
 * An edge that is not found, though it was added, only means that the stack is defined once more, and
 * each stack inside of it. So a table may lose edges. It grows while it can hold all of them and
 * stay in the CPU's own cache. Beyond that a small one that keeps what was used last is faster,
 * though stacks are defined over and over; until there were so many of these that the readers
 * of the recording are better served by a large table that holds them all.
 */
#ifndef RECORD_EDGES_H
#define RECORD_EDGES_H

#include <stdatomic.h>

#include "base/compiler.h"

#define EDGES_PER_LINE 4

/* The call from the stack parent is the stack id, if that is not below the table's min_id. Where it lies
 * comes from call alone (stack_hash_edge_key()), so that all edges of a new stack are fetched at once
 * though each needs the id that the one before it gives: most of what it costs to name one. */
struct edge {
	uint64_t call;
	uint32_t parent;
	uint32_t id;
};

/* An edge lies in one of two lines, by its hash; in a lossy table always in the first one. The first
 * edges of a line are those used last. */
struct edge_line {
	_Alignas(64) struct edge edge[EDGES_PER_LINE];
};

/* Sizes: the table that a lane begins with, which is part of its memory; the largest one that it may
 * have for itself; the largest one that is fast; two large ones. All above EDGES_OWN_BYTES are
 * taken from what all lanes share, first come, first served. A large one that is full becomes the
 * largest. */
#define EDGES_FIRST_BYTES (64u << 10)
#define EDGES_OWN_BYTES (256u << 10)
#define EDGES_FAST_BYTES (1u << 20)
#define EDGES_LARGE_BYTES (4u << 20)
#define EDGES_LARGEST_BYTES (16u << 20)
#define EDGES_SHARED_BYTES (16u << 20)
#define EDGES_MANY_IDS (1u << 20) /* defined before a lane may have a large table */

struct edges {
	struct edge_line *line;
	size_t n_lines; /* a power of two ... */
	unsigned shift; /* ... 1 << (64 - shift) */
	size_t n_used; /* edges in it */
	size_t n_until_full; /* edges to add before it is time to look whether its size is right */
	uint32_t min_id;
	bool is_lossy; /* small on purpose */
	struct edge_line *first; /* EDGES_FIRST_BYTES */
	_Atomic uint64_t
		*shared_bytes; /* taken by the tables of all lanes, above EDGES_OWN_BYTES */
};

/* first: EDGES_FIRST_BYTES of zeros, aligned to lines. */
void edges_init(struct edges *e, struct edge_line *first, _Atomic uint64_t *shared_bytes);

/* Back to the first table, empty; ids begin anew. Does not touch memory that was never used. */
void edges_reset(struct edges *e);

/* All edges are void; ids from min_id on will be added. */
void edges_forget(struct edges *e, uint32_t min_id);

/* id must be greater than all before it. */
void edges_add(struct edges *e, uint32_t parent, uint64_t call, uint32_t id);

/* Edges that the table has room for. */
static inline size_t edges_capacity(const struct edges *e)
{
	return e->n_lines * EDGES_PER_LINE;
}

/* Its upper bits are the good ones. */
static ALWAYS_INLINE uint64_t edges_hash(uint64_t call)
{
	return call * 0x9e3779b97f4a7c15ull;
}

static ALWAYS_INLINE struct edge_line *edges_line(const struct edges *e, uint64_t hash)
{
	return &e->line[hash >> e->shift];
}

/* It is going to be looked for. */
static ALWAYS_INLINE void edges_fetch(const struct edges *e, uint64_t call)
{
	__builtin_prefetch(edges_line(e, edges_hash(call)));
}

static ALWAYS_INLINE bool edges_is(const struct edge *edge, uint32_t parent, uint64_t call,
				   uint32_t min_id)
{
	return edge->call == call && edge->parent == parent && edge->id >= min_id;
}

/* The rest of edges_find(). */
uint32_t edges_find_behind(struct edges *e, uint32_t parent, uint64_t call);

/* 0: not known. */
static ALWAYS_INLINE uint32_t edges_find(struct edges *e, uint32_t parent, uint64_t call)
{
	const struct edge *first = &edges_line(e, edges_hash(call))->edge[0];

	if (likely(edges_is(first, parent, call, e->min_id)))
		return first->id;
	return edges_find_behind(e, parent, call);
}

#endif
