/* recording/area_read.c - the blocks that threads are writing right now. See recording_i.h.
 *
 * The blocks are copied one after the other while the program goes on. The last copy may hold a
 * free whose allocation is missing in the first copy, because it happened after that copy was made.
 * To get a snapshot of one moment:
 *
 * 1. Before the first copy, take a glimpse: read all headers. All events that the headers covered
 *    then had happened before any copy was made, and so had everything that led to them.
 * 2. Copy the blocks.
 * 3. If the copies hold more than the glimpse, or anything is appended to the file afterwards, the
 *    recording is being written. The newest time among the glimpsed events is the horizon, and
 *    events after it are left out.
 *
 * Where nothing has changed (the program ended or was killed) there is no horizon.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/block.h"
#include "format/event.h"
#include "recording/recording_i.h"
#include "util/vec.h"

#define AREA_TRIES 16 /* a block that changes while we read it is read again */
#define CLOCK_MARGIN_TICKS 64 /* the clocks of different CPUs differ by less */

/* The header of a block in use, in the glimpse. */
struct glimpse {
	uint64_t offset;
	uint64_t sequence;
	uint32_t used_bytes;
};

struct glimpses {
	struct glimpse *at; /* in the order of the areas */
	size_t n, cap;
	size_t n_matched; /* glimpses that have been compared with their copies */
	bool has_changed;
	uint64_t newest_ticks;
};

int area_read_add(struct recording *r, uint64_t offset, uint64_t n_bytes, struct err *err)
{
	int n = vec_reserve(&r->area, &r->cap_areas, r->n_areas + 1, sizeof(*r->area), err);

	if (n < 0)
		return n;
	r->area[r->n_areas++] = (struct area_range){.offset = offset, .n_bytes = n_bytes};
	return 0;
}

enum area_result {
	AREA_EMPTY,
	AREA_TAKEN, /* *ret and r->scratch hold the block */
	AREA_CHANGED, /* the block changed meanwhile */
	AREA_DAMAGED,
};

/* Reads the header of the block at offset into head and, if the block is in use, decodes it into
 * h. */
static int read_head(struct recording *r, uint64_t offset, struct block_header *h,
		     enum area_result *result, struct err *err)
{
	static const uint8_t zeros[BLOCK_HEADER_BYTES];
	int n = recording_read_scratch(r, r->at_piece, offset, BLOCK_HEADER_BYTES, err);

	*result = AREA_EMPTY;
	if (n <= 0 || memcmp(r->scratch, zeros, sizeof(zeros)) == 0)
		return n;
	if (load_le32(r->scratch) == BLOCK_MAGIC && load_le32(r->scratch + 4) == BLOCK_FREE)
		return 1;
	*result = block_decode(r->scratch, h) ? AREA_TAKEN : AREA_DAMAGED;
	return 1;
}

/* One attempt to copy a block that a thread may be writing. A thread stores used_bytes after the
 * bytes it covers. The sequence, read again after the bytes, shows whether it is still the same
 * block. */
static int try_block(struct recording *r, uint64_t offset, struct block_header *ret,
		     enum area_result *result, struct err *err)
{
	uint8_t head[BLOCK_HEADER_BYTES];
	struct block_header h, again;
	int n = read_head(r, offset, &h, result, err);

	if (n <= 0 || *result != AREA_TAKEN)
		return n;
	n = recording_read_scratch(r, r->at_piece, offset, BLOCK_HEADER_BYTES + h.used_bytes, err);
	if (n <= 0)
		return n;
	n = file_read_all(&r->piece[r->at_piece].file, offset, head, sizeof(head), err);
	if (n < 0)
		return n;
	if (!block_decode(head, &again) || again.sequence != h.sequence ||
	    again.state == BLOCK_FREE)
		*result = AREA_CHANGED;
	*ret = h;
	return 1;
}

static int glimpse_block(struct recording *r, uint64_t offset, struct glimpses *g, struct err *err)
{
	enum area_result result;
	struct block_header h;
	int n = read_head(r, offset, &h, &result, err);

	if (n <= 0 || result != AREA_TAKEN)
		return n;
	n = vec_reserve(&g->at, &g->cap, g->n + 1, sizeof(*g->at), err);
	if (n < 0)
		return n;
	if (h.start_ticks > g->newest_ticks)
		g->newest_ticks = h.start_ticks;
	g->at[g->n++] = (struct glimpse){
		.offset = offset, .sequence = h.sequence, .used_bytes = h.used_bytes};
	return 1;
}

/* The newest time of the events in the first used_bytes of a block. */
static uint64_t newest_ticks(const struct block_header *h, const uint8_t *data, uint32_t used_bytes)
{
	uint64_t newest = h->start_ticks;
	struct event_decoder d;
	struct event ev;

	event_decoder_init(&d, h, data, used_bytes);
	while (event_decode(&d, &ev) > 0) {
		if (ev.ticks > newest)
			newest = ev.ticks;
	}
	return newest;
}

/* Compares a copy, in r->scratch, with its glimpse. NULL h: the block is not in use any more. */
static void compare(struct recording *r, struct glimpses *g, uint64_t offset,
		    const struct block_header *h)
{
	const struct glimpse *first = NULL;
	uint64_t ticks;

	if (g->n_matched < g->n && g->at[g->n_matched].offset == offset)
		first = &g->at[g->n_matched++];
	if (!first || !h || first->sequence != h->sequence) {
		if (first || h)
			g->has_changed = true;
		return;
	}
	if (first->used_bytes != h->used_bytes)
		g->has_changed = true;
	ticks = newest_ticks(h, r->scratch + BLOCK_HEADER_BYTES, first->used_bytes);
	if (ticks > g->newest_ticks)
		g->newest_ticks = ticks;
}

/* Adds the block in r->scratch to the index, with a copy of its bytes. */
static int take_copy(struct recording *r, uint64_t offset, const struct block_header *h,
		     struct err *err)
{
	struct block_ref *ref = NULL;
	uint8_t *copy;
	int n;

	if (h->used_bytes == 0)
		return 1;
	copy = malloc(h->used_bytes);
	if (!copy)
		return err_set_memory(err, h->used_bytes);
	n = block_index_add(r, h, &ref, err);
	if (n < 0) {
		free(copy);
		return n;
	}
	memcpy(copy, r->scratch + BLOCK_HEADER_BYTES, h->used_bytes);
	ref->copy = copy;
	ref->offset = offset;
	ref->stored_bytes = h->used_bytes;
	ref->raw_bytes = h->used_bytes;
	return 1;
}

static int copy_block(struct recording *r, uint64_t offset, struct glimpses *g, struct err *err)
{
	enum area_result result = AREA_CHANGED;
	struct block_header h = {0};
	int n = 1;

	for (int i = 0; i < AREA_TRIES && result != AREA_TAKEN && result != AREA_EMPTY; i++) {
		n = try_block(r, offset, &h, &result, err);
		if (n <= 0)
			return n;
	}
	compare(r, g, offset, result == AREA_TAKEN ? &h : NULL);
	if (result == AREA_DAMAGED)
		damage_add(&r->damage, offset, FORMAT_BLOCK_BYTES, "damaged block in an AREA");
	/* a block that changes each time was moved to a chunk each time: nothing is lost */
	return result == AREA_TAKEN ? take_copy(r, offset, &h, err) : 1;
}

/* Calls `what` for each block of an area. `what` returns 0 when the file ends inside the block. */
static int each_block(struct recording *r, const struct area_range *area, struct glimpses *g,
		      int (*what)(struct recording *, uint64_t, struct glimpses *, struct err *),
		      struct err *err)
{
	for (uint64_t at = 0; at + BLOCK_HEADER_BYTES <= area->n_bytes; at += FORMAT_BLOCK_BYTES) {
		int n = what(r, area->offset + at, g, err);

		if (n < 0)
			return n;
		if (n > 0)
			continue;
		if (what == copy_block)
			damage_add(&r->damage, area->offset + at, area->n_bytes - at,
				   "block in an AREA cut off by the end of the file");
		break;
	}
	return 0;
}

int area_read(struct recording *r, struct err *err)
{
	struct glimpses g = {.has_changed = r->n_areas_read > 0};
	const struct recording_piece *p = &r->piece[r->at_piece];
	size_t first = r->n_areas_read;
	int n = 0;

	if (first == r->n_areas)
		return 0;
	for (size_t i = first; n == 0 && i < r->n_areas; i++)
		n = each_block(r, &r->area[i], &g, glimpse_block, err);
	for (size_t i = first; n == 0 && i < r->n_areas; i++)
		n = each_block(r, &r->area[i], &g, copy_block, err);
	r->n_areas_read = r->n_areas;
	if (p->has_status && p->status.field[STATUS_TICKS] > g.newest_ticks)
		g.newest_ticks = p->status.field[STATUS_TICKS];
	g.newest_ticks -= g.newest_ticks < CLOCK_MARGIN_TICKS ? 0 : CLOCK_MARGIN_TICKS;
	if (first == 0)
		r->glimpsed_ticks = g.newest_ticks; /* later areas are newer than the copies */
	if (g.has_changed)
		area_read_set_horizon(r);
	free(g.at);
	return n < 0 ? n : 1;
}

void area_read_set_horizon(struct recording *r)
{
	if (r->n_areas_read > 0)
		r->horizon_ticks = r->glimpsed_ticks;
}
