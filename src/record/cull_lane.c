/* record/cull_lane.c - see cull_i.h. Events out of the blocks of threads, and into output blocks. */
#include "record/cull_i.h"

#include "record/own_memory.h"
#include "record/pool.h"
#include "record/thread.h"

#define LANE_STACKS 32u

/* ---- finding blocks ---- */

static void reset_lane(struct cull_lane *l, const struct block *block)
{
	uint32_t index = l->index;

	memset(l, 0, sizeof(*l));
	l->index = index;
	l->thread = block->thread;
	l->lane = block->lane;
	l->tid = block->tid;
}

static bool is_idle(const struct cull *c, const struct cull_lane *l)
{
	return !l->raw && !l->first && !l->n_open && c->horizon > l->now &&
	       c->horizon - l->now > c->idle_ticks;
}

static struct cull_lane *find_lane(struct cull *c, const struct block *block)
{
	struct cull_lane *l, *idle = NULL;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		l = c->lane[i];
		if (l->thread == block->thread && l->lane == block->lane)
			return l;
		if (!idle && is_idle(c, l))
			idle = l;
	}
	if (idle) {
		cull_lane_finish_out(c, idle);
		reset_lane(idle, block);
		return idle;
	}
	l = c->n_lanes < CULL_MAX_LANES ? own_memory_map(sizeof(*l)) : NULL;
	if (!l)
		return NULL;
	l->index = c->n_lanes;
	reset_lane(l, block);
	c->lane[c->n_lanes] = l;
	cull_in_order();
	c->n_lanes++;
	return l;
}

/* Puts a block into the list of its lane, in the order of lane_index. False: no memory. */
static bool add_raw(struct cull *c, struct cull_raw *raw)
{
	struct cull_lane *l = find_lane(c, raw->block);
	struct cull_raw **at;

	if (!l)
		return false; /* found again in the next step */
	if (raw->sequence != raw->block->sequence) { /* else cull_resume() has found it again */
		raw->is_full = false;
		raw->n_done = 0;
		cull_in_order();
		raw->sequence = raw->block->sequence;
	}
	raw->is_known = true;
	at = &l->raw;
	while (*at && (*at)->block->lane_index < raw->block->lane_index)
		at = &(*at)->next;
	raw->next = *at;
	*at = raw;
	return true;
}

/* Returns how many blocks were added to lists. */
static unsigned find_in_area(struct cull *c, uint32_t n, struct area *area)
{
	uint64_t full = pool_take_full(area);
	unsigned n_found = 0;

	if (!c->raw[n]) {
		c->raw[n] = own_memory_map(RECORD_AREA_BLOCKS * sizeof(**c->raw));
		if (!c->raw[n]) {
			atomic_fetch_or(&area->full_bits, full);
			atomic_fetch_and(&area->busy_bits, ~full);
			return 0;
		}
	}
	for (uint32_t slot = 0; slot < area->n_blocks; slot++) {
		struct cull_raw *raw = &c->raw[n][slot];
		uint64_t bit = 1ull << slot;

		if (c->session->writer_blocks[n] & bit)
			continue;
		raw->block = &area->blocks[slot];
		raw->area = n;
		raw->slot = slot;
		if (!raw->is_known &&
		    atomic_load_explicit(&raw->block->state, memory_order_acquire) != BLOCK_FREE)
			n_found += add_raw(c, raw);
		if (!(full & bit))
			continue;
		c->is_lively = true;
		if (raw->is_known)
			raw->is_full = true;
		else
			atomic_fetch_or(&area->full_bits, bit);
	}
	atomic_fetch_and(&area->busy_bits, ~full); /* cull_raw.is_full says it: not to be retaken */
	return n_found;
}

/* A thread takes blocks anywhere. Where the search has seen one, but was past the one before it when
 * the thread took that, the next search sees it. */
void cull_find_blocks(struct cull *c)
{
	uint32_t n_areas = atomic_load(&c->session->n_areas);
	unsigned n_found;

	do {
		n_found = 0;
		for (uint32_t i = 0; i < n_areas; i++)
			n_found += find_in_area(c, i, &c->session->area[i]);
	} while (n_found); /* ends: no block that was found is given back meanwhile */
}

/* ---- taking events ---- */

static void start_decoding(struct cull *c, struct cull_lane *l)
{
	struct block *block = l->raw->block;
	const struct block_header h = {
		/* what does not change any more: the block may be open */
		.start_ticks = block->start_ticks,
		.first_stack = block->first_stack,
		.generation = block->generation,
	};

	event_decoder_init(&l->decoder, &h, block->data, 0);
	l->decoder.lane = l->index;
	l->decoder.in.len = atomic_load_explicit(&block->used_bytes, memory_order_acquire);
	for (uint32_t i = 0; i < l->raw->n_done && event_decode(&l->decoder, &l->event) > 0; i++)
		; /* cull_resume(): these were taken */
	l->is_decoding = true;
	l->lost_before = block->lost_before;
	if (!l->has_begun) { /* blocks are found in any order, but decoded in theirs */
		l->now = l->out_ticks = h.start_ticks;
		l->out_generation = h.generation;
		l->next_stack = l->enc.next_stack = h.first_stack;
		cull_in_order();
		l->has_begun = true;
	}
	if (l->enc.next_stack < l->decoder.next_stack) { /* a block was lost */
		cull_lane_finish_out(c, l);
		l->next_stack = l->enc.next_stack = l->decoder.next_stack;
	}
	if (h.start_ticks > l->now)
		l->now = h.start_ticks;
}

/* All events of the first block are taken: the block is given back when the step counts. */
static void end_raw(struct cull *c, struct cull_lane *l)
{
	struct cull_raw *raw = l->raw;

	l->raw = raw->next;
	raw->next = c->finished;
	c->finished = raw;
	l->is_decoding = false;
}

static bool reserve_out(struct cull *c, struct cull_lane *l);

/* Puts a definition into the output block. */
static void define(struct cull *c, struct cull_lane *l, const struct event *ev)
{
	l->raw->n_done++;
	if (ev->kind != EVENT_GENERATION && ev->stack < l->enc.next_stack)
		return; /* a writer that was killed put it */
	if (!reserve_out(c, l)) {
		l->next_stack = ++l->enc.next_stack; /* readers see a gap in the ids */
		session_count_lost(c->session, 1, 0, -28);
		return;
	}
	switch (ev->kind) {
	case EVENT_STACK:
		event_put_stack(&l->enc, ev->addr, ev->parent);
		break;
	case EVENT_STACK_END:
		event_put_stack_end(&l->enc, (unsigned)ev->field[0]);
		break;
	case EVENT_STACK_GUESS:
		event_put_stack_guess(&l->enc, ev->parent);
		break;
	default:
		event_put_rare(&l->enc, EVENT_GENERATION, l->enc.ticks, ev->field, 1);
		l->out_generation = (uint32_t)ev->field[0];
		break;
	}
	atomic_store_explicit(&l->out->used_bytes, (uint32_t)(l->enc.pos - l->out->data),
			      memory_order_release);
	cull_in_order();
	l->next_stack = l->enc.next_stack;
}

/* Definitions are put into the output at once: no event that names them comes earlier. */
static bool take_definitions(struct cull *c, struct cull_lane *l)
{
	struct event_stack def[LANE_STACKS];
	size_t n = event_decode_stacks(&l->decoder, def, LANE_STACKS);

	for (size_t i = 0; i < n; i++) {
		const struct event ev = {
			.kind = EVENT_STACK,
			.addr = def[i].addr,
			.stack = def[i].stack,
			.parent = def[i].parent,
		};

		define(c, l, &ev);
	}
	return n > 0;
}

/* Copies the fields of a rare event, which begins at byte start of the block. False: too long. */
static bool copy_fields(struct cull_lane *l, size_t start)
{
	struct cursor all = cursor_make(l->decoder.in.data + start, l->decoder.in.pos - start);
	struct cursor fields;
	uint64_t len;

	cursor_u8(&all);
	len = cursor_uleb(&all);
	fields = cursor_make(all.data + all.pos, len);
	cursor_uleb(&fields); /* the time */
	l->n_fields = 0;
	if (cursor_left(&fields) > sizeof(l->fields))
		return false;
	l->n_fields = (uint8_t)cursor_left(&fields);
	memcpy(l->fields, fields.data + fields.pos, l->n_fields);
	return true;
}

/* What happens to an event that event_decode() gave. True: it is to be judged. */
static bool sort_event(struct cull *c, struct cull_lane *l, size_t start)
{
	struct event *ev = &l->event;

	switch (ev->kind) {
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
	case EVENT_GENERATION:
		define(c, l, ev);
		return false;
	case EVENT_ALLOCATOR: /* the decoder knows it */
	case EVENT_TIME:
		l->raw->n_done++;
		return false;
	default:
		if (ev->kind & EVENT_RARE)
			copy_fields(l, start);
		return true;
	}
}

/* Decodes the next event into l->event, unless it may still change: the last event of a block that a
 * thread is filling may do so if it is the begin of a realloc. Once the realloc has left the block in place
 * nothing changes any more, and the event must be taken: the block may have gone to another thread, whose
 * free is later. wants_call: calls that fit into struct event_compact only. */
static bool decode_one(struct cull_lane *l, bool wants_call, struct event_compact *call)
{
	struct event_decoder *d = &l->decoder;
	size_t start = d->in.pos;
	uint64_t ticks = d->ticks, addr[2] = {d->addr[0], d->addr[1]};
	uint32_t stack[2] = {d->stack[0], d->stack[1]};
	bool was_in_place = d->is_in_place, is_held;

	if (event_decode(d, &l->event) <= 0)
		return false;
	is_held = l->event.kind == EVENT_REALLOC_BEGIN && !d->is_in_place &&
		  d->in.pos == d->in.len && !l->raw->is_full;
	if (is_held)
		l->held_ticks = l->event.ticks;
	if (!is_held &&
	    (!wants_call || (!l->event.alignment && event_to_compact(&l->event, l->index, call))))
		return true;
	d->in.pos = start;
	d->ticks = ticks;
	memcpy(d->addr, addr, sizeof(addr));
	memcpy(d->stack, stack, sizeof(stack));
	d->is_in_place = was_in_place;
	return false;
}

/* Decodes the calls in the last bytes, which event_decode_calls() leaves. Returns how many. */
static uint32_t decode_last_calls(struct cull_lane *l, uint32_t at)
{
	const struct cursor *in = &l->decoder.in;
	uint32_t n = 0;

	while (at + n < CULL_BATCH && in->pos < in->len && !l->decoder.in.failed) {
		unsigned first = in->data[in->pos];

		if (!l->decoder.is_in_place &&
		    ((first & EVENT_RARE && first & 7) || (first & 7) == EVENT_STACK))
			break;
		if (!decode_one(l, true, &l->call[at + n]))
			break;
		n++;
	}
	return n;
}

/* Decodes calls behind those that are left. The last ones wait until more are decoded, if there may be
 * more: their frees come behind them. */
static void decode_calls(struct cull *c, struct cull_lane *l)
{
	uint32_t n_left = l->n - l->at, n;

	memmove(l->call, l->call + l->at, n_left * sizeof(l->call[0]));
	memmove(l->mate, l->mate + l->at, n_left * sizeof(l->mate[0]));
	l->base += l->at;
	l->pairs_end = l->pairs_end > l->at ? l->pairs_end - l->at : 0;
	l->at = 0;
	l->n = n_left;
	n = (uint32_t)event_decode_calls(&l->decoder, &l->call[n_left], CULL_BATCH - n_left);
	n += decode_last_calls(l, n_left + n);
	cull_find_mates(c, l, n);
	l->end = l->n < CULL_BATCH - 1 ? l->n : l->n - CULL_AHEAD;
	if (l->decoder.in.pos == l->decoder.in.len && !l->raw->next &&
	    c->horizon > l->decoded_ticks)
		l->decoded_ticks = c->horizon; /* the lane has no more */
}

/* Decodes one event that is no simple call. 1: it is in l->event. 0: nothing to be judged, go on. -1: no
 * more. */
static int take_one(struct cull *c, struct cull_lane *l)
{
	size_t start = l->decoder.in.pos;

	return decode_one(l, false, NULL) ? sort_event(c, l, start) : -1;
}

/* Decodes on in the lane's first block. 1: there are events. 0: none (yet). -1: the block has ended. */
static int refill_from_block(struct cull *c, struct cull_lane *l)
{
	struct event_decoder *d = &l->decoder;
	int n = 0;

	while (n == 0) {
		d->in.len = atomic_load_explicit(&l->raw->block->used_bytes, memory_order_acquire);
		decode_calls(c, l);
		if (l->n)
			return 1;
		if (take_definitions(c, l))
			continue;
		n = take_one(c, l);
		l->has_event = n > 0;
	}
	if (n > 0 && l->event.ticks > l->decoded_ticks)
		l->decoded_ticks = l->event.ticks;
	if (n < 0 && d->in.failed && l->raw->is_full)
		session_count_lost(c->session, 1, 0, -22);
	return n > 0 ? 1 : l->raw->is_full ? -1 : 0;
}

bool cull_lane_refill(struct cull *c, struct cull_lane *l)
{
	int n = -1;

	l->held_ticks = 0;
	while (n < 0 && l->raw && (c->is_peeking || l->raw->is_full)) {
		if (!l->is_decoding)
			start_decoding(c, l);
		n = refill_from_block(c, l);
		if (n < 0)
			end_raw(c, l);
	}
	if (n < 0 && l->at < l->n) { /* calls that waited in the last step */
		l->end = l->n;
		return true;
	}
	return n > 0;
}

void cull_lane_resume(struct cull_lane *l)
{
	l->raw = NULL;
	l->is_decoding = l->has_event = false;
	l->n = l->end = l->at = l->pairs_end = 0;
	l->decoded_ticks = 0;
	l->out = NULL;
	event_encoder_begin(&l->enc, NULL, NULL, l->out_ticks);
	l->enc.next_stack = l->next_stack;
}

uint64_t cull_lane_next_ticks(const struct cull_lane *l)
{
	uint64_t ticks = l->at < l->n ? l->call[l->at].ticks : l->event.ticks;

	return ticks > l->now ? ticks : l->now;
}

/* ---- writing events ---- */

/* Hands an output block to write_block(). Should this writer be killed meanwhile, the next one sees
 * in cull.finishing that the block may have been given back. */
static void hand_over(struct cull *c, uint32_t n_area, uint32_t slot)
{
	struct area *area = &c->session->area[n_area];

	c->finishing_sequence = area->blocks[slot].sequence;
	cull_in_order();
	c->finishing = 1 + cull_block_number(n_area, slot);
	cull_in_order();
	atomic_store_explicit(&area->blocks[slot].state, BLOCK_FULL, memory_order_release);
	c->write_block(c->user, c->session, area, slot);
	c->session->writer_blocks[n_area] &= ~(1ull << slot);
	cull_in_order();
	c->finishing = 0;
}

void cull_lane_finish_out(struct cull *c, struct cull_lane *l)
{
	if (!l->out)
		return;
	l->out = NULL;
	event_encoder_begin(&l->enc, NULL, NULL, l->out_ticks);
	hand_over(c, l->out_area, l->out_slot);
}

static void resume_out(struct cull *c, uint32_t n_area, uint32_t slot)
{
	struct area *area = &c->session->area[n_area];
	uint32_t state = atomic_load(&area->blocks[slot].state);

	if (c->finishing == 1 + cull_block_number(n_area, slot) &&
	    (state == BLOCK_FREE || area->blocks[slot].sequence != c->finishing_sequence)) {
		c->session->writer_blocks[n_area] &= ~(1ull << slot); /* was written */
	} else if (state == BLOCK_FREE) { /* begin_out() had just taken it */
		c->session->writer_blocks[n_area] &= ~(1ull << slot);
		pool_give_free(c->rec, area, slot);
	} else {
		hand_over(c, n_area, slot); /* a reader that finds the block twice takes one */
	}
}

void cull_lanes_resume_out(struct cull *c)
{
	uint32_t n_areas = atomic_load(&c->session->n_areas);

	for (uint32_t i = 0; i < n_areas; i++) {
		for (uint64_t bits = c->session->writer_blocks[i]; bits; bits &= bits - 1)
			resume_out(c, i, (uint32_t)__builtin_ctzll(bits));
	}
	c->finishing = 0;
}

/* Hands over the fullest output block. False: there is none. */
static bool give_up_out(struct cull *c)
{
	struct cull_lane *fullest = NULL;

	for (uint32_t i = 0; i < c->n_lanes; i++) {
		struct cull_lane *l = c->lane[i];

		if (l->out && (!fullest || atomic_load(&l->out->used_bytes) >
						   atomic_load(&fullest->out->used_bytes)))
			fullest = l;
	}
	if (fullest)
		cull_lane_finish_out(c, fullest);
	return fullest != NULL;
}

/* Takes a free block, if need be of a new area. Threads that outrun the writer take all blocks there are.
 * Beyond those that may exist for them, and one for each lane, another lane gives its block up. */
static bool take_block(struct cull *c, struct area **area, uint32_t *slot)
{
	uint32_t n = (atomic_load(&c->session->n_areas) + 1) * RECORD_AREA_BLOCKS;

	if (pool_try_take(c->session, area, slot))
		return true;
	if (n > thread_max_blocks(c->rec) + c->n_lanes && give_up_out(c) &&
	    pool_try_take(c->session, area, slot))
		return true;
	return session_add_area(c->session, c->buffers, RECORD_AREA_BLOCKS) &&
	       pool_try_take(c->session, area, slot);
}

static bool begin_out(struct cull *c, struct cull_lane *l)
{
	struct area *area;
	struct block *block;
	uint32_t slot;

	if (!take_block(c, &area, &slot))
		return false;
	l->out_area = (uint32_t)(area - c->session->area);
	l->out_slot = slot;
	c->session->writer_blocks[l->out_area] |= 1ull << slot; /* before the block is open */
	block = &area->blocks[slot];
	atomic_store_explicit(&block->used_bytes, 0, memory_order_release);
	block->magic = BLOCK_MAGIC;
	l->out_sequence = block->sequence = 1 + atomic_fetch_add(&c->session->next_block, 1);
	block->thread = l->thread;
	block->lane = l->lane;
	block->tid = l->tid;
	block->lane_index = (uint32_t)block->sequence; /* grows; below those of threads */
	block->start_ticks = l->out_ticks;
	block->first_stack = l->enc.next_stack;
	block->generation = l->out_generation;
	block->lost_before = l->lost_before;
	block->checksum = block_checksum((const uint8_t *)block);
	atomic_store_explicit(&block->state, BLOCK_OPEN, memory_order_release);
	event_encoder_begin(&l->enc, block->data, block->data + BLOCK_DATA_BYTES, l->out_ticks);
	l->out = block;
	return true;
}

/* Makes room for four events. */
static bool reserve_out(struct cull *c, struct cull_lane *l)
{
	if (l->out && event_encoder_has_room(&l->enc, 4))
		return true;
	cull_lane_finish_out(c, l);
	return begin_out(c, l);
}

static void write_rare(struct event_encoder *e, const struct pending_slot *s, uint64_t ticks)
{
	uint8_t time[ULEB_MAX_BYTES];
	size_t n_time = (size_t)(uleb_put(time, zigzag((int64_t)(ticks - e->ticks))) - time);

	*e->pos++ = s->kind;
	e->pos = uleb_put(e->pos, n_time + s->n_bytes);
	memcpy(e->pos, time, n_time);
	memcpy(e->pos + n_time, s->value, s->n_bytes);
	e->pos += n_time + s->n_bytes;
	e->ticks = ticks;
}

static void write_call(struct event_encoder *e, const struct pending_slot *s, uint64_t ticks)
{
	struct event_call call = {
		.ticks = ticks,
		.addr = s->value[0],
		.size_bytes = s->value[1],
		.usable_extra_bytes = s->value[2],
		.alignment = s->value[3],
		.stack = s->stack,
	};

	if (s->allocator != e->allocator)
		event_put_allocator(e, s->allocator);
	if (call.alignment)
		call.extras |= EVENT_EXTRA_ALIGNMENT;
	if (!event_is_release(s->kind) &&
	    call.size_bytes + call.usable_extra_bytes != event_usual_usable(call.size_bytes))
		call.extras |= EVENT_EXTRA_USABLE;
	event_put_call(e, s->kind, &call);
	if (s->n_bytes) /* a mark */
		event_put_rare(e, EVENT_CULLED, ticks, (uint64_t[PENDING_N_VALUES + 1]){0},
			       PENDING_N_VALUES + 1);
}

bool cull_lane_write(struct cull *c, struct cull_lane *l, uint32_t i)
{
	struct pending_slot *s = &c->slot[i];
	uint64_t ticks;

	if (!reserve_out(c, l))
		return false;
	ticks = s->ticks > l->enc.ticks ? s->ticks : l->enc.ticks;
	if (s->kind == EVENT_CULLED || s->kind == EVENT_CULLED_REALLOCS) {
		uint64_t field[PENDING_N_VALUES + 1];

		memcpy(field, s->value, sizeof(s->value));
		field[PENDING_N_VALUES] = s->stack;
		event_put_rare(&l->enc, s->kind, ticks, field, PENDING_N_VALUES + 1);
	} else if (s->kind & EVENT_RARE) {
		write_rare(&l->enc, s, ticks);
	} else {
		write_call(&l->enc, s, ticks);
	}
	l->out_ticks = l->enc.ticks;
	s->out_bytes = (uint32_t)(l->enc.pos - l->out->data);
	atomic_store_explicit((_Atomic uint64_t *)&s->out_block, l->out->sequence,
			      memory_order_release);
	atomic_store_explicit(&l->out->used_bytes, s->out_bytes, memory_order_release);
	return true;
}
