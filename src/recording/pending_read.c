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
#include "util/vec.h"

#define PENDING_LANE_INDEX 0x40000000u /* behind what was written, before what threads fill */

/* A block that slots name: how many of its bytes the index has. */
struct out_block {
	uint64_t sequence;
	uint32_t raw_bytes;
};

struct reading {
	struct recording *r;
	const struct pending_area *area;
	size_t n_area_slots;
	const struct pending_slot **slot; /* that hold events, by lane and number */
	size_t n_slots;
	struct out_block *out; /* by sequence */
	size_t n_out;
	size_t first_block; /* in r->block: of this piece */
	uint64_t committed;
	uint32_t n_blocks; /* made */
};

static int compare_out(const void *x, const void *y)
{
	const struct out_block *a = x, *b = y;

	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return a->raw_bytes < b->raw_bytes ? -1 : a->raw_bytes > b->raw_bytes;
}

/* Lists the blocks of the piece from a sequence on, in the order of their sequence. */
static int list_out_blocks(struct reading *p, uint64_t from, struct err *err)
{
	struct recording *r = p->r;
	size_t cap = 0;

	for (size_t i = p->first_block; i < r->n_blocks; i++) {
		const struct block_ref *b = &r->block[i];
		int n;

		if (b->sequence < from)
			continue;
		n = vec_reserve(&p->out, &cap, p->n_out + 1, sizeof(*p->out), err);
		if (n < 0)
			return n;
		p->out[p->n_out++] =
			(struct out_block){.sequence = b->sequence, .raw_bytes = b->raw_bytes};
	}
	if (p->n_out)
		qsort(p->out, p->n_out, sizeof(*p->out), compare_out);
	return 0;
}

/* How many bytes the index has of a block; 0: it does not have the block. */
static uint32_t out_bytes_of(const struct reading *p, uint64_t sequence)
{
	size_t low = 0, high = p->n_out;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->out[middle].sequence <= sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && p->out[low - 1].sequence == sequence ? p->out[low - 1].raw_bytes : 0;
}

/* Was the event in the slot when the last step ended? */
static bool is_pending(const struct reading *p, const struct pending_slot *s)
{
	return s->from_step != 0 && s->from_step <= p->committed &&
	       !(s->gone_step && s->gone_step <= p->committed) && s->thread != 0 &&
	       s->lane < BLOCK_N_LANES && s->n_bytes <= PENDING_MAX_RARE_BYTES;
}

/* Is its event in no block that the index has? */
static bool is_unwritten(const struct reading *p, const struct pending_slot *s)
{
	return !s->out_block || out_bytes_of(p, s->out_block) < s->out_bytes;
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
	if (s->n_bytes) /* a mark */
		event_put_rare(e, EVENT_CULLED, ticks, (uint64_t[PENDING_N_VALUES + 1]){0},
			       PENDING_N_VALUES + 1);
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
	       event_encoder_has_room(&e, 4);
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
	struct recording *r = p->r;

	for (size_t i = p->first_block; i < r->n_blocks; i++) {
		struct block_ref *b = &r->block[i];

		for (size_t k = 0; b->copy && k < PENDING_MAX_BLOCKS && taken[k]; k++) {
			if (taken[k] >> PENDING_COUNT_BITS == b->sequence)
				b->n_taken = (uint32_t)(taken[k] & mask);
		}
	}
}

/* Finds the slots that hold events. */
static int find_slots(struct reading *p, struct err *err)
{
	uint64_t first_out = UINT64_MAX;
	size_t n = p->n_area_slots, n_kept = 0;
	int ret;

	p->slot = malloc((n + 1) * sizeof(struct pending_slot *));
	if (!p->slot)
		return err_set_memory(err, n * sizeof(struct pending_slot *));
	for (size_t i = 0; i < n; i++) {
		const struct pending_slot *s = &p->area->slot[i];

		if (!is_pending(p, s))
			continue;
		p->slot[p->n_slots++] = s;
		if (s->out_block && s->out_block < first_out)
			first_out = s->out_block;
	}
	ret = list_out_blocks(p, first_out, err);
	for (size_t i = 0; ret == 0 && i < p->n_slots; i++) {
		if (is_unwritten(p, p->slot[i]))
			p->slot[n_kept++] = p->slot[i];
	}
	p->n_slots = n_kept;
	return ret;
}

static int read_slots(struct reading *p, struct err *err)
{
	int n = find_slots(p, err);

	if (n < 0)
		return n;
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

static int read_committed(struct recording *r, uint64_t *ret, struct err *err)
{
	return file_read_all(&r->piece[r->at_piece].file, r->pending_offset, ret, sizeof(*ret),
			     err);
}

int pending_read_begin(struct recording *r, struct snapshot *s, struct err *err)
{
	s->first_step = 0;
	s->n_pending_bytes = 0;
	s->is_torn = false;
	return r->pending_bytes ? read_committed(r, &s->first_step, err) : 0;
}

/* Copies the slots that were ever in use. */
static int copy_area(struct recording *r, struct snapshot *s, struct err *err)
{
	const struct file *file = &r->piece[r->at_piece].file;
	uint64_t head[2]; /* committed, n_slots */
	size_t n_bytes = r->pending_bytes, n_read = 0;
	int n = file_read_all(file, r->pending_offset, head, sizeof(head), err);

	if (n < 0)
		return n;
	if (head[1] < (n_bytes - sizeof(struct pending_area)) / sizeof(struct pending_slot))
		n_bytes = pending_area_bytes(head[1]);
	n = vec_reserve(&s->pending, &s->cap_pending, n_bytes, 1, err);
	if (n == 0)
		n = file_read(file, r->pending_offset, s->pending, n_bytes, &n_read, err);
	if (n < 0)
		return n;
	memset(s->pending + n_read, 0, n_bytes - n_read);
	s->n_pending_bytes = n_bytes;
	return 0;
}

int pending_read(struct recording *r, struct snapshot *s, struct err *err)
{
	uint64_t last_step = 0;
	int n;

	if (r->pending_bytes < sizeof(struct pending_area))
		return 0;
	n = copy_area(r, s, err);
	if (n == 0)
		n = read_committed(r, &last_step, err);
	s->is_torn = last_step != s->first_step;
	return n;
}

int pending_read_finish(struct recording *r, struct snapshot *s, struct err *err)
{
	const struct pending_area *area = (const struct pending_area *)s->pending;
	struct reading p = {.r = r, .area = area};
	int n;

	if (s->n_pending_bytes == 0)
		return 0;
	p.committed = s->first_step;
	p.n_area_slots = (s->n_pending_bytes - sizeof(*area)) / sizeof(struct pending_slot);
	while (p.first_block < r->n_blocks && r->block[p.first_block].piece != r->at_piece)
		p.first_block++;
	n = read_slots(&p, err);
	free(p.out);
	free(p.slot);
	return n;
}
