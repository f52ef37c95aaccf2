/* record/stack_id_cache.c - see stack_id_cache.h. */
#include "record/stack_id_cache.h"

#include <string.h>

#include "base/bits.h"
#include "record/own_memory.h"
#include "record/sys.h"

#define GROW_BY 4
#define MAX_MOVES 1 /* levels of moves before an entry is dropped: 4, then 16 lines */
#define MOVE_LINES 4096 /* lines copied to a new table before their pages are given back */

static size_t table_bytes(size_t n_lines)
{
	return n_lines * sizeof(struct stack_id_cache_line);
}

static unsigned shift_for(size_t n_lines)
{
	return 64 - (unsigned)__builtin_ctzll(n_lines);
}

/* Sets when the size is considered again: when the table is 7/8 full, or after as many entries once
 * more. */
static void count_down(struct stack_id_cache *c)
{
	size_t n_enough = stack_id_cache_capacity(c) / 8 * 7;

	c->n_until_full = c->n_used < n_enough ? n_enough - c->n_used : n_enough;
}

void stack_id_cache_init(struct stack_id_cache *c, struct stack_id_cache_line *first,
			 _Atomic uint64_t *shared_bytes)
{
	*c = (struct stack_id_cache){.line = first,
				     .n_lines = STACK_ID_CACHE_FIRST_BYTES / sizeof(*first),
				     .shift =
					     shift_for(STACK_ID_CACHE_FIRST_BYTES / sizeof(*first)),
				     .min_id = 1,
				     .first = first,
				     .shared_bytes = shared_bytes};
	count_down(c);
}

/* What a table of so many bytes takes out of the shared budget. */
static size_t shared_part(size_t bytes)
{
	return bytes > STACK_ID_CACHE_OWN_BYTES ? bytes : 0;
}

/* Unmaps the table, unless it is the first one. */
static void give_back(struct stack_id_cache *c)
{
	if (c->line == c->first)
		return;
	own_memory_unmap(c->line, table_bytes(c->n_lines));
	atomic_fetch_sub(c->shared_bytes, shared_part(table_bytes(c->n_lines)));
}

void stack_id_cache_reset(struct stack_id_cache *c)
{
	bool is_used = c->n_used > 0 || c->min_id != 1;

	give_back(c);
	if (is_used)
		memset(c->first, 0, STACK_ID_CACHE_FIRST_BYTES);
	stack_id_cache_init(c, c->first, c->shared_bytes);
}

void stack_id_cache_forget(struct stack_id_cache *c, uint32_t min_id)
{
	c->min_id = min_id;
	c->n_used = 0;
	if (table_bytes(c->n_lines) >= STACK_ID_CACHE_LARGE_BYTES)
		c->is_lossy = false; /* it had become full, also of stacks called from lost ones */
	count_down(c);
}

static struct stack_id_cache_line *other_line(const struct stack_id_cache *c, uint64_t hash)
{
	return stack_id_cache_line_of(c, rotate_right64(hash, 50) * 0xc4ceb9fe1a85ec53ull);
}

/* The id of an edge in one line, or 0. An entry that is found moves one step to the front. */
static uint32_t find_in(struct stack_id_cache_entry *entry, uint32_t parent, uint64_t edge_key,
			uint32_t min_id)
{
	for (unsigned i = 0; i < STACK_ID_CACHE_PER_LINE; i++) {
		struct stack_id_cache_entry found = entry[i];

		if (!stack_id_cache_matches(&found, parent, edge_key, min_id))
			continue;
		if (i > 0) {
			entry[i] = entry[i - 1];
			entry[i - 1] = found;
		}
		return found.id;
	}
	return 0;
}

uint32_t stack_id_cache_find_slow(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key)
{
	uint64_t hash = stack_id_cache_hash(edge_key);
	uint32_t id = find_in(stack_id_cache_line_of(c, hash)->entry, parent, edge_key, c->min_id);

	if (id || c->is_lossy)
		return id;
	return find_in(other_line(c, hash)->entry, parent, edge_key, c->min_id);
}

/* A void entry of the line, or NULL. */
static struct stack_id_cache_entry *free_slot(struct stack_id_cache_line *line, uint32_t min_id)
{
	for (unsigned i = 0; i < STACK_ID_CACHE_PER_LINE; i++) {
		if (line->entry[i].id < min_id)
			return &line->entry[i];
	}
	return NULL;
}

/* Frees an entry of a full line by moving it to its other line; up to n_moves levels of others are
 * moved for that. NULL: none could be moved. */
static struct stack_id_cache_entry *vacate(struct stack_id_cache *c,
					   struct stack_id_cache_line *line, unsigned n_moves)
{
	for (unsigned i = STACK_ID_CACHE_PER_LINE; i-- > 0;) {
		struct stack_id_cache_entry *entry = &line->entry[i];
		uint64_t hash = stack_id_cache_hash(entry->edge_key);
		struct stack_id_cache_line *first = stack_id_cache_line_of(c, hash);
		struct stack_id_cache_line *other = first == line ? other_line(c, hash) : first;
		struct stack_id_cache_entry *slot = free_slot(other, c->min_id);

		if (!slot && n_moves)
			slot = vacate(c, other, n_moves - 1);
		if (slot) {
			*slot = *entry;
			return entry;
		}
	}
	return NULL;
}

/* Puts an entry first in its line and drops the last one, which was not used for the longest
 * time. */
static void put_lossy(struct stack_id_cache *c, struct stack_id_cache_entry *line,
		      const struct stack_id_cache_entry *entry)
{
	c->n_used += line[STACK_ID_CACHE_PER_LINE - 1].id < c->min_id;
	for (unsigned i = STACK_ID_CACHE_PER_LINE - 1; i > 0; i--)
		line[i] = line[i - 1];
	line[0] = *entry;
}

/* Puts an entry; drops another one where the table is lossy or no entry can be moved. */
static void put(struct stack_id_cache *c, const struct stack_id_cache_entry *entry)
{
	uint64_t hash = stack_id_cache_hash(entry->edge_key);
	struct stack_id_cache_line *line = stack_id_cache_line_of(c, hash);
	struct stack_id_cache_line *other = other_line(c, hash);
	struct stack_id_cache_entry *slot;

	if (c->is_lossy) {
		put_lossy(c, line->entry, entry);
		return;
	}
	slot = free_slot(line, c->min_id);
	if (!slot)
		slot = free_slot(other, c->min_id);
	for (unsigned n = 0; !slot && n <= MAX_MOVES; n++)
		slot = vacate(c, other, n);
	if (slot)
		*slot = *entry;
	else
		put_lossy(c, line->entry, entry);
	c->n_used += slot != NULL;
}

/* Moves all entries into another table. Pages of the old table are given back on the way, so that
 * not much more memory is in use at any moment than before or after. */
static void move(struct stack_id_cache *c, struct stack_id_cache_line *table, size_t n_lines)
{
	struct stack_id_cache old = *c;

	c->line = table;
	c->n_lines = n_lines;
	c->shift = shift_for(n_lines);
	c->n_used = 0;
	for (size_t i = 0; i < old.n_lines; i++) {
		for (unsigned k = STACK_ID_CACHE_PER_LINE; k-- > 0;) {
			if (old.line[i].entry[k].id >= c->min_id)
				put(c, &old.line[i].entry[k]);
		}
		if ((i + 1) % MOVE_LINES == 0 && old.line != old.first)
			sys_madvise(&old.line[i + 1 - MOVE_LINES], table_bytes(MOVE_LINES),
				    MADV_DONTNEED);
	}
	give_back(&old);
}

/* Moves to a table of this size. False: no memory, or the budget is spent; the table stays as it
 * is. */
static bool resize(struct stack_id_cache *c, size_t bytes, bool is_lossy)
{
	size_t shared = shared_part(bytes), own = shared_part(table_bytes(c->n_lines));
	struct stack_id_cache_line *table = NULL;

	if (atomic_fetch_add(c->shared_bytes, shared) + shared - own <= STACK_ID_CACHE_SHARED_BYTES)
		table = own_memory_map(bytes);
	if (!table) {
		atomic_fetch_sub(c->shared_bytes, shared);
		return false;
	}
	own_memory_touch(table, bytes);
	c->is_lossy = is_lossy;
	move(c, table, bytes / sizeof(struct stack_id_cache_line));
	return true;
}

/* The table has become full: takes the next size, as the header says. id: the id to be added
 * next. */
static COLD void rethink(struct stack_id_cache *c, uint32_t id)
{
	size_t bytes = table_bytes(c->n_lines);

	if (!c->is_lossy && bytes < STACK_ID_CACHE_FAST_BYTES && resize(c, bytes * GROW_BY, false))
		return;
	if (bytes < STACK_ID_CACHE_LARGE_BYTES && id >= STACK_ID_CACHE_MANY_IDS &&
	    resize(c, STACK_ID_CACHE_LARGE_BYTES, false))
		return;
	if (bytes == STACK_ID_CACHE_LARGE_BYTES && resize(c, STACK_ID_CACHE_LARGEST_BYTES, false))
		return;
	if (bytes == STACK_ID_CACHE_FAST_BYTES)
		resize(c, STACK_ID_CACHE_OWN_BYTES, true);
	c->is_lossy = true;
}

void stack_id_cache_add(struct stack_id_cache *c, uint32_t parent, uint64_t edge_key, uint32_t id)
{
	if (unlikely(c->n_until_full-- == 0)) {
		if (c->n_used > stack_id_cache_capacity(c) / 2)
			rethink(c, id);
		count_down(c);
	}
	put(c, &(struct stack_id_cache_entry){.edge_key = edge_key, .parent = parent, .id = id});
}
