/* recording/pending_read.c - events that wait in a PENDING chunk (format/pending.h).
 *
 * A recorder that culls holds events back while it is not decided whether they stay. For a reader
 * they are events like others: they become blocks of their lanes, between the blocks that the
 * recorder wrote and those that threads were filling. See recording_i.h.
 */
#include "recording/recording_i.h"

#include <stdlib.h>
#include <string.h>

#include "format/event_encode.h"
#include "format/pending.h"

#define PENDING_LANE_INDEX 0x40000000u /* behind what was written, before what threads fill */

struct reading {
	struct recording *r;
	const struct pending_area *area;
	const struct pending_slot **slot; /* that hold events, by lane and number */
	size_t n_slots;
	size_t first_block; /* in r->block: of this piece */
	uint64_t committed;
	uint32_t n_blocks; /* made */
};

static const struct file *file_of(const struct recording *r)
{
	return &r->piece[r->at_piece].file;
}

static int read_committed(struct recording *r, uint64_t *ret, struct err *err)
{
	return file_read_all(file_of(r), r->pending_offset, ret, sizeof(*ret), err);
}

int pending_read_begin(struct recording *r, struct err *err)
{
	r->pending_step = 0;
	return r->pending_bytes ? read_committed(r, &r->pending_step, err) : 0;
}

/* The block of an area with a sequence, or NULL. */
static struct block_ref *find_block(const struct reading *p, uint64_t sequence)
{
	struct recording *r = p->r;

	for (size_t i = p->first_block; i < r->n_blocks; i++) {
		if (r->block[i].copy && r->block[i].sequence == sequence)
			return &r->block[i];
	}
	return NULL;
}

/* Was the event in the slot when the last step ended? */
static bool is_live(const struct reading *p, const struct pending_slot *s)
{
	const struct block_ref *out;

	if (s->from_step == 0 || s->from_step > p->committed ||
	    (s->gone_step && s->gone_step <= p->committed) || s->thread == 0 ||
	    s->lane >= BLOCK_N_LANES || s->n_bytes > PENDING_MAX_RARE_BYTES)
		return false;
	if (!s->out_block)
		return true;
	out = find_block(p, s->out_block);
	return out && out->raw_bytes < s->out_bytes;
}

static int compare_slots(const void *x, const void *y)
{
	const struct pending_slot *a = *(const struct pending_slot *const *)x;
	const struct pending_slot *b = *(const struct pending_slot *const *)y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void put_event(struct event_encoder *e, const struct pending_slot *s)
{
	uint64_t ticks = s->ticks > e->ticks ? s->ticks : e->ticks;
	struct event_call call = {
		.ticks = ticks,
		.addr = s->value[0],
		.size_bytes = s->value[1],
		.usable_extra_bytes = s->value[2],
		.alignment = s->value[3],
		.stack = s->stack,
		.extras = s->value[3] ? EVENT_EXTRA_ALIGNMENT : 0,
	};
	uint8_t *length, *start;

	if (s->kind == EVENT_CULLED || s->kind == EVENT_CULLED_REALLOCS) {
		uint64_t field[PENDING_N_VALUES + 1];

		memcpy(field, s->value, sizeof(s->value));
		field[PENDING_N_VALUES] = s->stack;
		event_put_rare(e, s->kind, ticks, field, PENDING_N_VALUES + 1);
		return;
	}
	if (s->kind & EVENT_RARE) {
		*e->pos++ = s->kind;
		length = e->pos++;
		start = e->pos;
		e->pos = uleb_put(e->pos, zigzag((int64_t)(ticks - e->ticks)));
		memcpy(e->pos, s->value, s->n_bytes);
		e->pos += s->n_bytes;
		*length = (uint8_t)(e->pos - start); /* less than 128 */
		e->ticks = ticks;
		return;
	}
	if (s->kind == 0 || s->kind > EVENT_FREE)
		return;
	if (s->allocator != e->allocator)
		event_put_allocator(e, s->allocator % EVENT_N_ALLOCATORS);
	if (!event_is_release(s->kind))
		call.extras |= EVENT_EXTRA_USABLE;
	event_put_call(e, s->kind, &call);
}

/* Makes a block of slots of one lane, from the first one on. Returns how many, or an error. */
static long make_block(struct reading *p, size_t first, struct err *err)
{
	const struct pending_slot *s = p->slot[first];
	struct block_header h = {
		.sequence = UINT64_MAX - p->n_blocks,
		.thread = s->thread,
		.lane = s->lane,
		.lane_index = PENDING_LANE_INDEX + p->n_blocks,
		.start_ticks = s->ticks,
		.first_stack = UINT32_MAX, /* it may name any stack, and defines none */
		.generation = 0,
	};
	uint8_t *data = malloc(BLOCK_DATA_BYTES);
	struct event_encoder e = {0};
	struct block_ref *ref = NULL;
	size_t i = first;
	int n;

	if (!data)
		return err_set_memory(err, BLOCK_DATA_BYTES);
	event_encoder_begin(&e, data, data + BLOCK_DATA_BYTES, s->ticks);
	for (; i < p->n_slots && p->slot[i]->thread == s->thread && p->slot[i]->lane == s->lane &&
	       event_encoder_has_room(&e, 3);
	     i++)
		put_event(&e, p->slot[i]);
	n = block_index_add(p->r, &h, &ref, err);
	if (n < 0) {
		free(data);
		return n;
	}
	ref->copy = data;
	ref->stored_bytes = ref->raw_bytes = (uint32_t)(e.pos - data);
	p->n_blocks++;
	return (long)(i - first);
}

/* Tells the blocks that threads were filling how many of their events were taken. */
static void set_taken(struct reading *p)
{
	const uint64_t *taken = p->area->taken[p->committed & 1];
	const uint64_t mask = (1u << PENDING_COUNT_BITS) - 1;

	for (size_t i = 0; i < PENDING_MAX_BLOCKS && taken[i]; i++) {
		struct block_ref *b = find_block(p, taken[i] >> PENDING_COUNT_BITS);

		if (b)
			b->n_taken = (uint32_t)(taken[i] & mask);
	}
}

static int read_slots(struct reading *p, struct err *err)
{
	uint64_t room = (p->r->pending_bytes - sizeof(*p->area)) / sizeof(struct pending_slot);
	uint64_t n = p->area->n_slots < room ? p->area->n_slots : room;

	p->slot = malloc((n + 1) * sizeof(struct pending_slot *));
	if (!p->slot)
		return err_set_memory(err, n * sizeof(struct pending_slot *));
	for (size_t i = 0; i < n; i++) {
		if (is_live(p, &p->area->slot[i]))
			p->slot[p->n_slots++] = &p->area->slot[i];
	}
	set_taken(p);
	if (p->n_slots)
		qsort(p->slot, p->n_slots, sizeof(struct pending_slot *), compare_slots);
	for (size_t i = 0; i < p->n_slots;) {
		long made = make_block(p, i, err);

		if (made < 0)
			return (int)made;
		i += (size_t)made;
	}
	return 0;
}

int pending_read(struct recording *r, struct err *err)
{
	struct reading p = {.r = r};
	struct pending_area *area;
	uint64_t after = 0;
	size_t n_read = 0;
	int n;

	if (r->pending_bytes < sizeof(*area))
		return 0;
	area = calloc(1, r->pending_bytes);
	if (!area)
		return err_set_memory(err, r->pending_bytes);
	n = file_read(file_of(r), r->pending_offset, area, r->pending_bytes, &n_read, err);
	if (n == 0)
		n = read_committed(r, &after, err);
	p.area = area;
	p.committed = atomic_load(&area->committed);
	while (p.first_block < r->n_blocks && r->block[p.first_block].piece != r->at_piece)
		p.first_block++;
	if (n == 0)
		n = read_slots(&p, err);
	if (after != r->pending_step || p.committed != after)
		r->is_torn = true;
	free(p.slot);
	free(area);
	return n;
}
