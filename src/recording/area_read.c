/* recording/area_read.c - the blocks that threads are writing right now. See recording_i.h.
 *
 * The blocks are copied one after the other while the program goes on. The last copy may hold a
 * free whose allocation is missing in the first copy, because it happened after that copy was made.
 * To get a snapshot of one moment:
 *
 * 1. Before the first copy, take a glimpse: read all headers. All events that the headers covered
 *    then had happened before any copy was made, and so had everything that led to them.
 * 2. Copy the blocks, as fast as possible: no event is decoded.
 * 3. If the copies hold more than the glimpse, or anything is appended to the file afterwards, the
 *    recording is being written. The newest time among the glimpsed events is the horizon, and
 *    events after it are left out.
 *
 * Where nothing has changed (the program ended or was killed) there is no horizon. area_read() does
 * 1 and 2, area_read_finish() does 3 and puts the copies into the index.
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

int area_read_add(struct recording *r, uint64_t offset, uint64_t n_bytes, struct err *err)
{
	int n = vec_reserve(&r->area, &r->cap_areas, r->n_areas + 1, sizeof(*r->area), err);

	if (n < 0)
		return n;
	r->area[r->n_areas++] = (struct area_range){.offset = offset, .n_bytes = n_bytes};
	return 0;
}

/* Reads the header of the block at offset and decodes it, if the block is in use. AREA_GONE: the file
 * ends inside the header. */
static int read_head(struct recording *r, uint64_t offset, struct block_header *h,
		     enum area_state *ret, struct err *err)
{
	static const uint8_t zeros[BLOCK_HEADER_BYTES];
	uint8_t head[BLOCK_HEADER_BYTES];
	size_t n_read = 0;
	int n = file_read(&r->piece[r->at_piece].file, offset, head, sizeof(head), &n_read, err);

	*ret = AREA_EMPTY;
	if (n < 0)
		return n;
	if (n_read < sizeof(head))
		*ret = AREA_GONE;
	else if (memcmp(head, zeros, sizeof(zeros)) != 0 &&
		 (load_le32(head) != BLOCK_MAGIC || load_le32(head + 4) != BLOCK_FREE))
		*ret = block_decode(head, h) ? AREA_TAKEN : AREA_DAMAGED;
	return 0;
}

/* One attempt to copy the events of a block that a thread may be writing. A thread stores used_bytes
 * after the bytes it covers. The sequence, read again after the bytes, shows whether it is still the
 * same block. */
static int try_block(struct recording *r, struct snapshot *s, struct area_copy *copy,
		     struct err *err)
{
	struct block_header again;
	enum area_state state;
	size_t n_read = 0;
	int n = read_head(r, copy->block.offset, &copy->header, &copy->state, err);

	if (n < 0 || copy->state != AREA_TAKEN)
		return n;
	n = vec_reserve(&s->bytes, &s->cap_bytes, s->n_bytes + copy->header.used_bytes, 1, err);
	if (n == 0)
		n = file_read(&r->piece[r->at_piece].file, copy->block.offset + BLOCK_HEADER_BYTES,
			      s->bytes + s->n_bytes, copy->header.used_bytes, &n_read, err);
	if (n == 0)
		n = read_head(r, copy->block.offset, &again, &state, err);
	if (n < 0)
		return n;
	if (n_read < copy->header.used_bytes)
		copy->state = AREA_GONE;
	else if (state != AREA_TAKEN || again.sequence != copy->header.sequence)
		copy->state = AREA_CHANGED;
	return 0;
}

static int copy_block(struct recording *r, struct snapshot *s, const struct area_range *block,
		      enum area_state *ret, struct err *err)
{
	struct area_copy copy = {.block = *block, .at = s->n_bytes, .state = AREA_CHANGED};
	int n = vec_reserve(&s->copy, &s->cap_copies, s->n_copies + 1, sizeof(*s->copy), err);

	for (int i = 0; n == 0 && i < AREA_TRIES && copy.state >= AREA_CHANGED; i++)
		n = try_block(r, s, &copy, err);
	*ret = copy.state;
	if (n < 0)
		return n;
	if (copy.state == AREA_TAKEN)
		s->n_bytes += copy.header.used_bytes;
	s->copy[s->n_copies++] = copy;
	return 0;
}

static int glimpse_block(struct recording *r, struct snapshot *s, const struct area_range *block,
			 enum area_state *ret, struct err *err)
{
	struct block_header h;
	int n = read_head(r, block->offset, &h, ret, err);

	if (n < 0 || *ret != AREA_TAKEN)
		return n;
	n = vec_reserve(&s->glimpse, &s->cap_glimpses, s->n_glimpses + 1, sizeof(*s->glimpse), err);
	if (n < 0)
		return n;
	s->glimpse[s->n_glimpses++] = (struct area_glimpse){.offset = block->offset,
							    .sequence = h.sequence,
							    .used_bytes = h.used_bytes,
							    .start_ticks = h.start_ticks};
	return 0;
}

/* What is done with a block, which is given as the rest of its area from the block on. */
typedef int (*area_block_fn)(struct recording *r, struct snapshot *s,
			     const struct area_range *block, enum area_state *ret, struct err *err);

/* Calls `what` for each block of the areas that were not read yet, up to the end of the file. */
static int each_block(struct recording *r, struct snapshot *s, area_block_fn what, struct err *err)
{
	for (size_t i = r->n_areas_read; i < r->n_areas; i++) {
		struct area_range rest = r->area[i];
		enum area_state state = AREA_EMPTY;

		while (rest.n_bytes >= BLOCK_HEADER_BYTES && state != AREA_GONE) {
			uint64_t step = rest.n_bytes < FORMAT_BLOCK_BYTES ? rest.n_bytes
									  : FORMAT_BLOCK_BYTES;
			int n = what(r, s, &rest, &state, err);

			if (n < 0)
				return n;
			rest.offset += step;
			rest.n_bytes -= step;
		}
	}
	return 0;
}

int area_read(struct recording *r, struct snapshot *s, struct err *err)
{
	int n = 0;

	if (r->n_areas_read == r->n_areas)
		return 0;
	if (r->n_areas_read > 0)
		r->is_growing = true; /* what these areas hold is newer than the first copies */
	else
		n = each_block(r, s, glimpse_block, err);
	if (n == 0)
		n = each_block(r, s, copy_block, err);
	r->n_areas_read = r->n_areas;
	return n < 0 ? n : 1;
}

/* ---- after the copies ---- */

/* The newest time of the events in the first used_bytes of a copy. */
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

/* Compares the copies of the first areas with their glimpses. Returns the newest time among the events
 * that were glimpsed. */
static uint64_t compare(struct recording *r, const struct snapshot *s)
{
	uint64_t newest = 0;
	size_t at = 0;

	for (size_t i = 0; i < s->n_glimpses; i++)
		newest = s->glimpse[i].start_ticks > newest ? s->glimpse[i].start_ticks : newest;
	for (size_t i = 0; i < s->n_copies; i++) {
		const struct area_copy *copy = &s->copy[i];
		const struct block_header *h = copy->state == AREA_TAKEN ? &copy->header : NULL;
		const struct area_glimpse *first = NULL;
		uint64_t ticks;

		if (at < s->n_glimpses && s->glimpse[at].offset == copy->block.offset)
			first = &s->glimpse[at++];
		if (!first || !h || first->sequence != h->sequence) {
			if (first || h)
				r->is_growing = true;
			continue;
		}
		if (first->used_bytes != h->used_bytes)
			r->is_growing = true;
		ticks = newest_ticks(h, s->bytes + copy->at, first->used_bytes);
		newest = ticks > newest ? ticks : newest;
	}
	return newest;
}

/* Adds a copy to the index. */
static int take_copy(struct recording *r, const struct snapshot *s, const struct area_copy *copy,
		     struct err *err)
{
	const struct block_header *h = &copy->header;
	struct block_ref *ref = NULL;
	uint8_t *data;
	int n;

	if (h->used_bytes == 0)
		return 0;
	data = malloc(h->used_bytes);
	if (!data)
		return err_set_memory(err, h->used_bytes);
	n = block_index_add(r, h, &ref, err);
	if (n < 0) {
		free(data);
		return n;
	}
	memcpy(data, s->bytes + copy->at, h->used_bytes);
	ref->copy = data;
	ref->offset = copy->block.offset;
	ref->stored_bytes = h->used_bytes;
	ref->raw_bytes = h->used_bytes;
	return 0;
}

/* Says why a block could not be copied. Of a block that changed each time it was read nothing is lost:
 * the recorder has moved it to a chunk. */
static void add_damage(struct recording *r, const struct area_copy *copy)
{
	if (copy->state == AREA_DAMAGED)
		damage_add(&r->damage, copy->block.offset, FORMAT_BLOCK_BYTES,
			   "damaged block in an AREA");
	if (copy->state == AREA_GONE)
		damage_add(&r->damage, copy->block.offset, copy->block.n_bytes,
			   "block in an AREA cut off by the end of the file");
}

int area_read_finish(struct recording *r, struct snapshot *s, struct err *err)
{
	const struct recording_piece *p = &r->piece[r->at_piece];
	uint64_t newest = compare(r, s);

	if (p->has_status && p->status.field[STATUS_TICKS] > newest)
		newest = p->status.field[STATUS_TICKS];
	newest -= newest < CLOCK_MARGIN_TICKS ? 0 : CLOCK_MARGIN_TICKS;
	if (r->is_growing)
		r->horizon_ticks = newest;
	for (size_t i = 0; i < s->n_copies; i++) {
		int n = 0;

		if (s->copy[i].state == AREA_TAKEN)
			n = take_copy(r, s, &s->copy[i], err);
		else
			add_damage(r, &s->copy[i]);
		if (n < 0)
			return n;
	}
	return 0;
}
