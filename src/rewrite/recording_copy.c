/* rewrite/recording_copy.c - see recording_copy.h. */
#include "rewrite/recording_copy.h"

#include <stdlib.h>

#include "format/field.h"
#include "recording/chunk_unpack.h"
#include "recording/dropped_chunk.h"
#include "util/vec.h"

/* ---- chunks ---- */

static bool has_fields(unsigned type)
{
	switch (type) {
	case CHUNK_PROCESS:
	case CHUNK_MODULE:
	case CHUNK_FILE:
	case CHUNK_THREAD:
	case CHUNK_SAMPLE:
	case CHUNK_NOTE:
	case CHUNK_ALLOCATOR:
	case CHUNK_ALLOCATOR_SAMPLE:
	case CHUNK_END:
		return true;
	default:
		return false;
	}
}

/* Copies a chunk of fields: all, or those before the first malformed one. */
static int copy_fields(struct recording_writer *w, const struct chunk_header *h,
		       const uint8_t *payload, struct err *err)
{
	struct recording_chunk c = {.type = h->type, .data = payload, .is_plain = true};
	struct cursor in = cursor_make(payload, h->stored_bytes);
	struct field f;

	while (field_next(&in, &f))
		c.data_bytes = in.pos;
	if (!in.failed)
		return recording_writer_put_stored(w, h, payload, err);
	return c.data_bytes ? recording_writer_put(w, &c, err) : 0;
}

static bool is_good_dropped(const struct chunk_unpacked *u)
{
	const struct dropped_callbacks nobody = {0};

	return dropped_chunk_decode(u->data, u->len, &nobody, NULL) == 0;
}

int recording_copy_one(struct recording_writer *w, const struct chunk_header *h,
		       const uint8_t *payload, struct err *err)
{
	int head_bytes = chunk_unpack_head_bytes(h->type);
	struct recording_chunk c = {.type = h->type, .head = payload};
	struct chunk_unpacked u = {0};
	int r;

	if (has_fields(h->type))
		return copy_fields(w, h, payload, err);
	if (head_bytes < 0)
		return recording_writer_put_stored(w, h, payload, err);
	c.head_bytes = (size_t)head_bytes;
	r = chunk_unpack(h, payload, c.head_bytes, &u, err);
	c.data = u.data;
	c.data_bytes = u.len;
	if (h->type == CHUNK_DROPPED && (r == -ERR_FORMAT || (r == 0 && !is_good_dropped(&u))))
		r = 0; /* damage */
	else if (r == 0)
		r = recording_writer_put(w, &c, err);
	else if (r == -ERR_FORMAT) /* intact, but not as this version knows it: copied as it is */
		r = recording_writer_put_stored(w, h, payload, err);
	free(u.buf);
	return r;
}

static int copy_chunk(void *user, const struct chunk_header *h, const uint8_t *payload,
		      struct err *err)
{
	return recording_copy_one(user, h, payload, err);
}

int recording_copy_metadata(struct recording_writer *w, const struct recording *r, struct err *err)
{
	return chunk_walk(r, copy_chunk, w, err);
}

/* ---- events ---- */

/* The position in a lane of the source. */
struct copy_lane {
	uint64_t key; /* greatest time so far */
	uint64_t lost_before;
	uint32_t next_index; /* expected lane_index */
	uint32_t next_stack;
	uint32_t generation;
	uint32_t n_missing; /* blocks before the next one that are not in the new recording */
	bool has_begun;
	bool is_over; /* the other events are beyond the horizon */
};

struct copy {
	struct recording_writer *w;
	struct recording *r;
	struct copy_lane *lane;
	struct recording_copy_result result;
	uint8_t data[BLOCK_DATA_BYTES];
};

/* A block, and the time by which blocks are ordered. */
struct block_turn {
	uint64_t ticks;
	size_t block;
	uint32_t lane;
};

static int compare_turns(const void *a, const void *b)
{
	const struct block_turn *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

/* Sorts the blocks by time, so that the new file can be read from front to back. Blocks of a lane
 * stay in their order, whatever its clock says. */
static int order_blocks(const struct recording *r, struct block_turn **ret, struct err *err)
{
	struct block_turn *turn = calloc(r->n_blocks + 1, sizeof(*turn));

	if (!turn)
		return err_set_memory(err, (r->n_blocks + 1) * sizeof(*turn));
	for (size_t i = 0; i < r->n_lanes; i++) {
		const struct lane_ref *l = &r->lane[i];
		uint64_t latest = 0;

		for (size_t k = l->first_block; k < l->first_block + l->n_blocks; k++) {
			if (r->block[k].start_ticks > latest)
				latest = r->block[k].start_ticks;
			turn[k] = (struct block_turn){latest, k, (uint32_t)i};
		}
	}
	qsort(turn, r->n_blocks, sizeof(*turn), compare_turns);
	*ret = turn;
	return 0;
}

/* The bytes of the fields of the rare event that was decoded last, without its time. */
static void find_fields(const struct event_decoder *d, size_t start, const uint8_t **ret,
			size_t *len)
{
	struct cursor c = cursor_make(d->in.data + start, d->in.pos - start);
	size_t payload_bytes;

	cursor_u8(&c);
	payload_bytes = cursor_uleb(&c);
	ASSERT(payload_bytes == cursor_left(&c));
	(void)payload_bytes;
	cursor_uleb(&c);
	*ret = c.data + c.pos;
	*len = cursor_left(&c);
}

static int copy_event(struct copy *c, uint32_t lane, const struct event *ev,
		      const struct event_decoder *d, size_t start, struct err *err)
{
	const uint8_t *fields;
	size_t len;
	int r;

	if (ev->kind == EVENT_ALLOCATOR)
		return 0; /* the encoder makes its own */
	c->result.n_events += ev->kind != EVENT_STACK && ev->kind != EVENT_STACK_END &&
			      ev->kind != EVENT_STACK_GUESS;
	if (recording_writer_knows(ev->kind))
		return recording_writer_event(c->w, lane, ev, ev->stack, err);
	find_fields(d, start, &fields, &len);
	r = recording_writer_rare(c->w, lane, ev, fields, len, err);
	c->result.n_unknown_events += r == 0;
	return r < 0 ? r : 0;
}

/* Restarts the lane of the new recording where the block begins, unless it is there already. */
static int align_lane(struct copy *c, uint32_t lane, const struct block_ref *b, struct err *err)
{
	struct copy_lane *l = &c->lane[lane];
	struct recording_writer_start start = {
		.ticks = b->start_ticks,
		.lost_before = b->lost_before,
		.first_stack = b->first_stack,
		.generation = b->generation,
		.n_missing = l->n_missing + (b->lane_index - l->next_index),
	};

	l->next_index = b->lane_index + 1;
	l->n_missing = 0;
	if (l->has_begun && start.n_missing == 0 && l->next_stack == b->first_stack &&
	    l->generation == b->generation && l->lost_before == b->lost_before)
		return 0;
	l->has_begun = true;
	l->lost_before = b->lost_before;
	return recording_writer_restart(c->w, lane, &start, err);
}

static int copy_block(struct copy *c, const struct block_turn *turn, struct err *err)
{
	const struct block_ref *b = &c->r->block[turn->block];
	const struct block_header h = {.start_ticks = b->start_ticks,
				       .first_stack = b->first_stack,
				       .generation = b->generation};
	struct copy_lane *l = &c->lane[turn->lane];
	struct event_decoder d;
	struct event ev;
	size_t len = 0, start = 0;
	int n = recording_load_block(c->r, b, c->data, &len, err);

	if (n <= 0) {
		l->n_missing += n == 0;
		l->n_missing += b->lane_index - l->next_index;
		l->next_index = b->lane_index + 1;
		c->result.n_unreadable_blocks += n == 0;
		return n;
	}
	n = align_lane(c, turn->lane, b, err);
	if (n < 0)
		return n;
	event_decoder_init(&d, &h, c->data, len);
	while ((n = event_decode(&d, &ev)) > 0) {
		if (ev.ticks > l->key)
			l->key = ev.ticks;
		l->is_over = l->key > c->r->horizon_ticks;
		if (l->is_over)
			return 0;
		n = copy_event(c, turn->lane, &ev, &d, start, err);
		if (n < 0)
			return n;
		start = d.in.pos;
	}
	l->next_stack = d.next_stack;
	l->generation = d.generation;
	if (n < 0) {
		damage_add(&c->r->damage, b->offset,
			   block_ref_file_bytes(b, b->raw_bytes - d.in.pos),
			   "malformed event at byte %zu of block %u of thread %u", d.in.pos,
			   b->lane_index, b->thread);
		l->n_missing++;
		c->result.n_unreadable_blocks++;
	}
	return 0;
}

int recording_copy_events(struct recording_writer *w, struct recording *r,
			  struct recording_copy_result *ret, struct err *err)
{
	struct copy *c = calloc(1, sizeof(*c));
	struct block_turn *turn = NULL;
	int n = 0;

	if (!c)
		return err_set_memory(err, sizeof(*c));
	c->w = w;
	c->r = r;
	c->lane = calloc(r->n_lanes + 1, sizeof(*c->lane));
	n = c->lane ? order_blocks(r, &turn, err)
		    : err_set_memory(err, (r->n_lanes + 1) * sizeof(*c->lane));
	for (size_t i = 0; n == 0 && i < r->n_blocks; i++) {
		if (!c->lane[turn[i].lane].is_over)
			n = copy_block(c, &turn[i], err);
	}
	if (n == 0)
		*ret = c->result;
	free(turn);
	free(c->lane);
	free(c);
	return n;
}
