/* record/edges.c - see edges.h. */
#include "record/edges.h"

#include <string.h>

#include "base/bits.h"
#include "record/record.h"
#include "record/sys.h"

#define GROW_BY 4
#define MAX_MOVES 1 /* before an edge is given up: 4 and 16 lines are looked at */
#define MOVE_LINES 4096 /* moved to a larger table before their memory is given back */

static size_t table_bytes(size_t n_lines)
{
	return n_lines * sizeof(struct edge_line);
}

static unsigned shift_for(size_t n_lines)
{
	return 64 - (unsigned)__builtin_ctzll(n_lines);
}

static void count_down(struct edges *e)
{
	size_t n_enough = edges_capacity(e) / 8 * 7;

	e->n_until_full = e->n_used < n_enough ? n_enough - e->n_used : n_enough;
}

void edges_init(struct edges *e, struct edge_line *first, _Atomic uint64_t *shared_bytes)
{
	*e = (struct edges){.line = first,
			    .n_lines = EDGES_FIRST_BYTES / sizeof(*first),
			    .shift = shift_for(EDGES_FIRST_BYTES / sizeof(*first)),
			    .min_id = 1,
			    .first = first,
			    .shared_bytes = shared_bytes};
	count_down(e);
}

static size_t shared_part(size_t bytes)
{
	return bytes > EDGES_OWN_BYTES ? bytes : 0;
}

static void give_back(struct edges *e)
{
	if (e->line == e->first)
		return;
	record_unmap(e->line, table_bytes(e->n_lines));
	atomic_fetch_sub(e->shared_bytes, shared_part(table_bytes(e->n_lines)));
}

void edges_reset(struct edges *e)
{
	bool is_used = e->n_used > 0 || e->min_id != 1;

	give_back(e);
	if (is_used)
		memset(e->first, 0, EDGES_FIRST_BYTES);
	edges_init(e, e->first, e->shared_bytes);
}

void edges_forget(struct edges *e, uint32_t min_id)
{
	e->min_id = min_id;
	e->n_used = 0;
	if (table_bytes(e->n_lines) >= EDGES_LARGE_BYTES)
		e->is_lossy = false; /* it was full, not least of edges inside of lost ones */
	count_down(e);
}

static struct edge_line *other_line(const struct edges *e, uint64_t hash)
{
	return edges_line(e, rotate_right64(hash, 50) * 0xc4ceb9fe1a85ec53ull);
}

/* An edge that is in use moves to the front, step by step. */
static uint32_t find_in(struct edge *edge, uint32_t parent, uint64_t call, uint32_t min_id)
{
	for (unsigned i = 0; i < EDGES_PER_LINE; i++) {
		struct edge found = edge[i];

		if (!edges_is(&found, parent, call, min_id))
			continue;
		if (i > 0) {
			edge[i] = edge[i - 1];
			edge[i - 1] = found;
		}
		return found.id;
	}
	return 0;
}

uint32_t edges_find_behind(struct edges *e, uint32_t parent, uint64_t call)
{
	uint64_t hash = edges_hash(call);
	uint32_t id = find_in(edges_line(e, hash)->edge, parent, call, e->min_id);

	if (id || e->is_lossy)
		return id;
	return find_in(other_line(e, hash)->edge, parent, call, e->min_id);
}

static struct edge *free_place(struct edge_line *line, uint32_t min_id)
{
	for (unsigned i = 0; i < EDGES_PER_LINE; i++) {
		if (line->edge[i].id < min_id)
			return &line->edge[i];
	}
	return NULL;
}

/* A place in a full line, made free by moving its edge to its other line, or NULL. n_moves others may
 * have to be moved for that. */
static struct edge *vacate(struct edges *e, struct edge_line *line, unsigned n_moves)
{
	for (unsigned i = EDGES_PER_LINE; i-- > 0;) {
		struct edge *edge = &line->edge[i];
		uint64_t hash = edges_hash(edge->call);
		struct edge_line *first = edges_line(e, hash);
		struct edge_line *other = first == line ? other_line(e, hash) : first;
		struct edge *place = free_place(other, e->min_id);

		if (!place && n_moves)
			place = vacate(e, other, n_moves - 1);
		if (place) {
			*place = *edge;
			return edge;
		}
	}
	return NULL;
}

/* Pushes out the one that was not used for the longest time. */
static void put_lossy(struct edges *e, struct edge *line, const struct edge *edge)
{
	e->n_used += line[EDGES_PER_LINE - 1].id < e->min_id;
	for (unsigned i = EDGES_PER_LINE - 1; i > 0; i--)
		line[i] = line[i - 1];
	line[0] = *edge;
}

static void put(struct edges *e, const struct edge *edge)
{
	uint64_t hash = edges_hash(edge->call);
	struct edge_line *line = edges_line(e, hash);
	struct edge_line *other = other_line(e, hash);
	struct edge *place;

	if (e->is_lossy) {
		put_lossy(e, line->edge, edge);
		return;
	}
	place = free_place(line, e->min_id);
	if (!place)
		place = free_place(other, e->min_id);
	for (unsigned n = 0; !place && n <= MAX_MOVES; n++)
		place = vacate(e, other, n);
	if (place)
		*place = *edge;
	else
		put_lossy(e, line->edge, edge);
	e->n_used += place != NULL;
}

/* Moves everything into another table. What the old one has is given back on the way, so that for a
 * moment not much more memory is in use than before and after. */
static void move(struct edges *e, struct edge_line *table, size_t n_lines)
{
	struct edges old = *e;

	e->line = table;
	e->n_lines = n_lines;
	e->shift = shift_for(n_lines);
	e->n_used = 0;
	for (size_t i = 0; i < old.n_lines; i++) {
		for (unsigned k = EDGES_PER_LINE; k-- > 0;) {
			if (old.line[i].edge[k].id >= e->min_id)
				put(e, &old.line[i].edge[k]);
		}
		if ((i + 1) % MOVE_LINES == 0 && old.line != old.first)
			sys_madvise(&old.line[i + 1 - MOVE_LINES], table_bytes(MOVE_LINES),
				    MADV_DONTNEED);
	}
	give_back(&old);
}

/* False: that much memory is not to be had, and the table stays as it is. */
static bool resize(struct edges *e, size_t bytes, bool is_lossy)
{
	size_t shared = shared_part(bytes), own = shared_part(table_bytes(e->n_lines));
	struct edge_line *table = NULL;

	if (atomic_fetch_add(e->shared_bytes, shared) + shared - own <= EDGES_SHARED_BYTES)
		table = record_map(bytes);
	if (!table) {
		atomic_fetch_sub(e->shared_bytes, shared);
		return false;
	}
	record_touch(table, bytes);
	e->is_lossy = is_lossy;
	move(e, table, bytes / sizeof(struct edge_line));
	return true;
}

/* The table has become full. id is the next one. */
static COLD void rethink(struct edges *e, uint32_t id)
{
	size_t bytes = table_bytes(e->n_lines);

	if (!e->is_lossy && bytes < EDGES_FAST_BYTES && resize(e, bytes * GROW_BY, false))
		return;
	if (bytes < EDGES_LARGE_BYTES && id >= EDGES_MANY_IDS &&
	    resize(e, EDGES_LARGE_BYTES, false))
		return;
	if (bytes == EDGES_LARGE_BYTES && resize(e, EDGES_LARGEST_BYTES, false))
		return;
	if (bytes == EDGES_FAST_BYTES)
		resize(e, EDGES_OWN_BYTES, true);
	e->is_lossy = true;
}

void edges_add(struct edges *e, uint32_t parent, uint64_t call, uint32_t id)
{
	if (unlikely(e->n_until_full-- == 0)) {
		if (e->n_used > edges_capacity(e) / 2)
			rethink(e, id);
		count_down(e);
	}
	put(e, &(struct edge){.call = call, .parent = parent, .id = id});
}
