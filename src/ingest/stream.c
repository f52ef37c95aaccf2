/* ingest/stream.c - see stream.h. */
#include <stdlib.h>
#include <string.h>

#include "ingest/stream_i.h"
#include "util/vec.h"

#define LANE_CALLS 128u /* that a lane decodes at a time */
#define BIRTHS_AHEAD 6u /* calls */
#define LANE_STACKS 32u /* likewise, definitions */

/* ---- the reader: a lane ---- */

static void count_odd(struct stream *s, uint32_t stack)
{
	uint32_t number = stack & ~(STACKS_ODD | STACKS_NEW);
	uint32_t node = stack & STACKS_NEW ? number : stacks_node(s->stacks, number);
	const struct stack_node *n = stacks_get(s->stacks, node);

	if (n->end != STACK_END_COMPLETE)
		s->counts.truncated[n->end]++;
	s->counts.guessed += n->has_guess;
}

/* Nothing more of the lane is wanted. */
static void end_lane(struct lane_cursor *l)
{
	l->end_block = l->block + 1;
	l->decoder.in.pos = l->decoder.in.len;
}

/* Are the ticks of these calls, whose last ones are the highest, plain to turn into time: neither before
 * what was, nor beyond the horizon or the range of numbers? */
static bool is_plain_time(const struct stream *s, uint64_t min_ticks, uint64_t first_ticks,
			  uint64_t last_ticks)
{
	const struct timebase *time = &s->rec->time;

	return first_ticks >= min_ticks && first_ticks >= time->start_ticks &&
	       last_ticks >= first_ticks && last_ticks <= s->rec->horizon_ticks &&
	       timebase_ns(time, last_ticks) < UINT64_MAX;
}

/* Puts the time in the place of ticks. Time never goes back in a lane, whatever its clock says. What is
 * beyond the horizon is left out: the number of calls that are not. */
static size_t set_times_with_care(struct stream *s, struct lane_cursor *l,
				  struct event_compact *call, size_t n)
{
	uint64_t ticks = l->min_ticks;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t next = call[i].ticks > ticks ? call[i].ticks : ticks;

		if (unlikely(next > s->rec->horizon_ticks))
			break;
		ticks = next;
		call[i].at_ns = timebase_ns(&s->rec->time, ticks);
	}
	l->min_ticks = ticks;
	if (i < n)
		end_lane(l);
	return i;
}

/* The same; ticks of calls that were decoded together never go down. */
static size_t set_times(struct stream *s, struct lane_cursor *l, struct event_compact *call,
			size_t n)
{
	const struct timebase time = s->rec->time;

	if (n == 0)
		return 0;
	if (likely(is_plain_time(s, l->min_ticks, call[0].ticks, call[n - 1].ticks))) {
		l->min_ticks = call[n - 1].ticks;
		for (size_t i = 0; i < n; i++)
			call[i].at_ns = timebase_ns_plain(&time, call[i].ticks);
	} else {
		n = set_times_with_care(s, l, call, n);
	}
	if (n > 0 && l->min_ticks > s->counts.last_ticks)
		s->counts.last_ticks = l->min_ticks;
	return n;
}

/* Puts numbers in the place of the ids of stacks; those that have none get theirs when they are passed
 * on. */
static int name_calls(struct stream *s, uint32_t lane, struct event_compact *call, size_t n,
		      struct err *err)
{
	int r = stacks_settle(s->stacks, err);
	uint32_t any = r == 0 ? stacks_use(s->stacks, lane, call, n) : 0;

	if (likely(!any))
		return r;
	if (any & STACKS_NEW)
		s->lane[lane].has_new = true;
	for (size_t i = 0; any & STACKS_ODD && i < n; i++) {
		if (call[i].stack & STACKS_ODD && call[i].kind != EVENT_REALLOC_END)
			count_odd(s, call[i].stack);
		call[i].stack &= ~STACKS_ODD;
	}
	return 0;
}

/* Kinds of calls that make a block. */
#define BIRTH_KINDS                                                                                \
	(1u << EVENT_MALLOC | 1u << EVENT_CALLOC | 1u << EVENT_ALIGNED | 1u << EVENT_REALLOC_END)

static bool is_birth(const struct event_compact *c)
{
	return BIRTH_KINDS >> c->kind & (c->addr != 0);
}

/* Gives a number to the stack of a call whose turn has come. */
static int number_stack(struct stream *s, uint32_t *stack, struct err *err)
{
	int r = stacks_number(s->stacks, *stack & ~STACKS_NEW, stack, err);

	if (r == 0 && s->births)
		r = births_reserve(s->births, stacks_count_numbers(s->stacks), err);
	return r;
}

/* The same for calls that are passed on, where it has not happened yet. */
static NOINLINE int number_calls(struct stream *s, struct event_compact *call, size_t n,
				 struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct event_compact *c = &call[i];

		if (!(c->stack & STACKS_NEW))
			continue;
		r = number_stack(s, &c->stack, err);
		if (r == 0 && s->births && is_birth(c))
			births_add(s->births, c->stack, c->at_ns, c->size_bytes, c->extra_bytes);
	}
	return r;
}

/* Those of stacks that have a number. */
static NOINLINE void count_some_births(struct births *births, const struct event_compact *call,
				       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event_compact *c = &call[i];

		if (!(c->stack & STACKS_NEW) && is_birth(c))
			births_add(births, c->stack, c->at_ns, c->size_bytes, c->extra_bytes);
	}
}

/* First a list of them, because whether the next call is one cannot be foreseen. */
static void count_births(struct births *births, const struct event_compact *call, size_t n)
{
	uint8_t birth[LANE_CALLS];
	size_t n_births = 0;

	for (size_t i = 0; i < n; i++) {
		birth[n_births] = (uint8_t)i;
		n_births += is_birth(&call[i]);
	}
	for (size_t k = 0; k < n_births; k++) {
		const struct event_compact *c = &call[birth[k]];

		if (k + BIRTHS_AHEAD < n_births)
			__builtin_prefetch(&births->of[call[birth[k + BIRTHS_AHEAD]].stack], 1);
		births_add(births, c->stack, c->at_ns, c->size_bytes, c->extra_bytes);
	}
}

_Static_assert(LANE_CALLS <= UINT8_MAX + 1, "places take 8 bits");

/* An event to be passed on as a whole. is_call: of the program, with a stack. */
static int take_rare(struct stream *s, uint32_t lane, const struct event *ev, bool is_call,
		     struct err *err)
{
	struct event_compact named = {.ticks = ev->ticks, .stack = ev->stack, .kind = ev->kind};
	struct stream_lane *ahead = &s->lane[lane];
	int r = 0;

	if (set_times(s, &s->blocks.lane[lane], &named, 1) == 0)
		return 0;
	if (is_call)
		r = name_calls(s, lane, &named, 1, err);
	if (r < 0)
		return r;
	s->counts.calls += is_call;
	ahead->rare = *ev;
	ahead->rare_stack = is_call ? named.stack : 0;
	ahead->rare_ns = named.at_ns;
	ahead->has_rare = true;
	return 0;
}

/* What of a lane is being decoded: [0, n) has times, [0, n_named) also the numbers of stacks. */
struct decoding {
	struct event_compact *call;
	size_t n, n_named;
	uint32_t lane;
};

static int name_decoded(struct stream *s, struct decoding *d, struct err *err)
{
	struct event_compact *call = &d->call[d->n_named];
	size_t n = d->n - d->n_named;
	int r = name_calls(s, d->lane, call, n, err);

	d->n_named = d->n;
	if (r < 0 || !s->births)
		return r;
	if (unlikely(s->lane[d->lane].has_new))
		count_some_births(s->births, call, n);
	else
		count_births(s->births, call, n);
	return 0;
}

/* n calls were put behind the others. */
static void add_decoded(struct stream *s, struct decoding *d, size_t n)
{
	n = set_times(s, &s->blocks.lane[d->lane], &d->call[d->n], n);
	s->counts.calls += n;
	d->n += n;
}

/* An event that is not one of those that come by thousands. */
static int take_event(struct stream *s, struct decoding *d, const struct event *ev, struct err *err)
{
	int r;

	switch (ev->kind) {
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
		r = stacks_settle(s->stacks, err);
		if (r < 0)
			return r;
		return stacks_define(s->stacks, d->lane, ev,
				     s->blocks.lane[d->lane].decoder.generation, err);
	case EVENT_FORGET:
		r = name_decoded(s, d, err); /* they may name what is forgotten */
		if (r == 0)
			stacks_forget(s->stacks, d->lane, ev->field[0]);
		return r;
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
	case EVENT_REALLOC_BEGIN:
	case EVENT_REALLOC_END:
	case EVENT_FREE:
		if (!event_to_compact(ev, d->lane, &d->call[d->n]))
			return take_rare(s, d->lane, ev, true, err);
		add_decoded(s, d, 1);
		return 0;
	default:
		return take_rare(s, d->lane, ev, event_is_call(ev->kind), err);
	}
}

/* The definitions that come now. */
static int take_stacks(struct stream *s, struct decoding *d, size_t *n, struct err *err)
{
	struct event_decoder *decoder = &s->blocks.lane[d->lane].decoder;
	struct event_stack def[LANE_STACKS];
	int r = 0;

	*n = event_decode_stacks(decoder, def, LANE_STACKS);
	for (size_t i = 0; r == 0 && i < *n; i++)
		r = stacks_define_soon(s->stacks, d->lane, &def[i], decoder->generation, err);
	return r;
}

/* Decodes on in the block of a lane that has nothing ahead, to ret with room for max calls: so many
 * in *n. The block may come to its end. */
static int decode_on(struct stream *s, uint32_t lane, struct event_compact *ret, size_t max,
		     size_t *n, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	struct decoding d = {.call = ret, .lane = lane};
	bool is_malformed = false, has_more = true;
	int r = 0;

	while (r == 0 && has_more && d.n + 2 <= max && !s->lane[lane].has_rare) {
		size_t n_calls = event_decode_calls(&l->decoder, &ret[d.n], max - d.n), n_stacks;
		struct event ev;

		if (n_calls > 0)
			add_decoded(s, &d, n_calls);
		r = take_stacks(s, &d, &n_stacks, err);
		if (r < 0 || n_calls + n_stacks > 0)
			continue;
		r = event_decode(&l->decoder, &ev);
		is_malformed = r < 0;
		has_more = r > 0;
		r = has_more ? take_event(s, &d, &ev, err) : 0;
	}
	if (r == 0)
		r = name_decoded(s, &d, err);
	*n = d.n;
	if (r < 0 || has_more || d.n > 0)
		return r; /* if there are calls, the end is met again when these are passed on */
	return lane_blocks_end(&s->blocks, l, is_malformed, err);
}

/* ---- the reader: all lanes ---- */

/* The last time at which the first lane of the heap is the first. */
static uint64_t last_time(const struct stream *s)
{
	const struct lane_heap_item *second = lane_heap_second(&s->blocks.heap);

	return second ? second->key - (s->blocks.heap.item[0].lane > second->lane) : UINT64_MAX;
}

/* The first call of the lane that is passed on from here tells of a gap before it. */
static void mark_gap(struct stream *s, struct event_compact *call, uint32_t lane)
{
	struct lane_cursor *l = &s->blocks.lane[lane];

	if (unlikely(l->is_after_gap))
		call->flags |= STREAM_AFTER_GAP;
	l->is_after_gap = false;
}

/* Decodes on in a lane that is likely to go on alone: right into the batch. What is not its turn yet
 * goes where else it would have been. */
static int decode_into(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *ahead = &s->lane[lane];
	struct event_compact *call = &b->call[b->n];
	size_t room = STREAM_BATCH_CALLS - b->n, n, n_first;
	uint64_t last_ns = last_time(s);
	int r = decode_on(s, lane, call, room < LANE_CALLS ? room : LANE_CALLS, &n, err);

	if (r < 0 || n == 0)
		return r;
	n_first = call[n - 1].at_ns <= last_ns ? n : 0;
	while (n_first < n && call[n_first].at_ns <= last_ns)
		n_first++;
	ahead->n = (uint32_t)(n - n_first);
	if (ahead->n) {
		ahead->call = lane_blocks_extra(&s->blocks.lane[lane]);
		memcpy(ahead->call, &call[n_first], ahead->n * sizeof(*call));
		ahead->is_alone = n_first > n / 2;
	}
	if (n_first > 0)
		mark_gap(s, call, lane);
	b->n += n_first;
	return unlikely(ahead->has_new) ? number_calls(s, call, n_first, err) : 0;
}

/* Goes on in a lane that has nothing ahead; reads the block it waits for. */
static int fill_lane(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	struct stream_lane *ahead = &s->lane[lane];
	size_t n = 0;
	int r = 0;

	ahead->at = ahead->n = 0;
	ahead->has_new = false;
	if (!l->is_loaded)
		r = lane_blocks_load(&s->blocks, l, err);
	if (r < 0 || !l->is_loaded)
		return r;
	if (ahead->is_alone && b->n + 2 <= STREAM_BATCH_CALLS)
		return decode_into(s, b, lane, err);
	ahead->call = lane_blocks_extra(l);
	r = decode_on(s, lane, ahead->call, LANE_CALLS, &n, err);
	ahead->n = (uint32_t)n;
	return r;
}

/* Passes on the calls of a lane that are not later than a time, as far as there is room. */
static int pass_calls(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *ahead = &s->lane[lane];
	size_t room = STREAM_BATCH_CALLS - b->n, left = ahead->n - ahead->at, n = 0;
	const struct event_compact *call = &ahead->call[ahead->at];
	uint64_t last_ns = last_time(s);

	room = left < room ? left : room;
	for (; n < room && call[n].at_ns <= last_ns; n++)
		b->call[b->n + n] = call[n];
	if (n > 0)
		mark_gap(s, &b->call[b->n], lane);
	ahead->is_alone = ahead->at == 0 && n == left;
	b->n += n;
	ahead->at += (uint32_t)n;
	return unlikely(ahead->has_new) ? number_calls(s, &b->call[b->n - n], n, err) : 0;
}

static int pass_rare(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *ahead = &s->lane[lane];
	struct event_compact *call = &b->call[b->n];
	const struct event *ev = &ahead->rare;
	int r = vec_reserve(&b->rare, &b->cap_rare, b->n_rare + 1, sizeof(*b->rare), err);

	if (r == 0 && ahead->rare_stack & STACKS_NEW)
		r = number_stack(s, &ahead->rare_stack, err);
	if (r < 0)
		return r;
	if (s->births && ev->kind < EVENT_STACK && BIRTH_KINDS >> ev->kind & 1 && ev->addr)
		births_add(s->births, ahead->rare_stack, ahead->rare_ns, ev->size_bytes,
			   stream_extra_bytes(ev));
	b->rare[b->n_rare] = *ev;
	*call = (struct event_compact){
		.at_ns = ahead->rare_ns,
		.addr = ahead->rare.kind < EVENT_STACK ? ahead->rare.addr : 0,
		.size_bytes = (uint32_t)b->n_rare++,
		.stack = ahead->rare_stack,
		.lane = lane,
		.kind = ahead->rare.kind,
		.flags = STREAM_WHOLE,
	};
	mark_gap(s, call, lane);
	b->n++;
	ahead->has_rare = false;
	return 0;
}

/* The time of a lane's next event, as far as it is known. */
static uint64_t next_time(const struct stream *s, uint32_t lane)
{
	const struct stream_lane *ahead = &s->lane[lane];

	if (ahead->at < ahead->n)
		return ahead->call[ahead->at].at_ns;
	return ahead->has_rare ? ahead->rare_ns
			       : timebase_ns(&s->rec->time, s->blocks.lane[lane].min_ticks);
}

/* 1: the batch is full. 0: there are no more events. Less: what went wrong. */
static int fill(struct stream *s, struct stream_batch *b, struct err *err)
{
	struct lane_heap *heap = &s->blocks.heap;
	int r = 0;

	if (!s->is_begun)
		b->n = b->n_rare = 0;
	s->is_begun = false;
	while (r == 0 && b->n < STREAM_BATCH_CALLS && heap->n > 0) {
		uint32_t lane = heap->item[0].lane;
		const struct stream_lane *ahead = &s->lane[lane];

		if (ahead->at < ahead->n)
			r = pass_calls(s, b, lane, err);
		else if (ahead->has_rare)
			r = pass_rare(s, b, lane, err);
		else
			r = fill_lane(s, b, lane, err);
		if (ahead->at < ahead->n || ahead->has_rare || lane_has_more(&s->blocks.lane[lane]))
			lane_heap_change_first(heap, next_time(s, lane));
		else
			lane_heap_remove_first(heap);
	}
	b->n_blocks_read = s->blocks.n_blocks_read;
	b->n_stacks = stacks_count_numbers(s->stacks);
	return r < 0 ? r : b->n == STREAM_BATCH_CALLS;
}

/* A place for the next batch, or NULL when none is wanted any more. Called with lock held. */
static struct stream_batch *wait_for_place(struct stream *s)
{
	while (s->n_filled - s->n_taken == STREAM_BATCHES && !s->is_unwanted)
		pthread_cond_wait(&s->changed, &s->lock);
	return s->is_unwanted ? NULL : s->batch[s->n_filled % STREAM_BATCHES];
}

static void *run_reader(void *arg)
{
	struct stream *s = arg;
	struct stream_batch *b;
	int r = 1;

	pthread_mutex_lock(&s->lock);
	while (r > 0 && (b = wait_for_place(s)) != NULL) {
		pthread_mutex_unlock(&s->lock);
		r = fill(s, b, &s->err);
		pthread_mutex_lock(&s->lock);
		s->n_filled += r >= 0;
		pthread_cond_broadcast(&s->changed);
	}
	s->result = r < 0 ? r : 0;
	s->is_done = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the caller ---- */

/* Lanes are merged by nanoseconds: a tick takes one at least, so that is their order by ticks. */
static void key_by_time(struct stream *s)
{
	struct lane_heap *heap = &s->blocks.heap;

	for (size_t i = 0; i < heap->n; i++)
		heap->item[i].key = timebase_ns(&s->rec->time, heap->item[i].key);
	lane_heap_make(heap);
}

static int make(struct stream *s, struct err *err)
{
	int r = lane_blocks_init(&s->blocks, s->rec, LANE_CALLS * sizeof(struct event_compact),
				 err);

	s->lane = calloc(s->rec->n_lanes + 1, sizeof(*s->lane));
	if (r == 0 && !s->lane)
		r = err_set_memory(err, (s->rec->n_lanes + 1) * sizeof(*s->lane));
	if (r == 0)
		r = stacks_create(&s->rec->facts, s->rec->n_lanes, &s->stacks, err);
	if (r == 0 && s->births) /* of the empty stack; the others when they get a number */
		r = births_reserve(s->births, 1, err);
	for (size_t i = 0; r == 0 && i < STREAM_BATCHES; i++) {
		s->batch[i] = calloc(1, sizeof(*s->batch[i]));
		if (!s->batch[i])
			r = err_set_memory(err, sizeof(*s->batch[i]));
	}
	if (r == 0)
		key_by_time(s);
	return r;
}

static int start_reader(struct stream *s, struct err *err)
{
	int r = pthread_create(&s->reader, NULL, run_reader, s);

	if (r != 0)
		return err_set_errno(err, r, "no thread can be started");
	s->has_reader = true;
	return 0;
}

int stream_create(struct recording *r, struct births *births, struct stream **ret, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	int n;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->rec = r;
	s->births = births;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	n = make(s, err);
	if (n < 0) {
		stream_destroy(s);
		return n;
	}
	*ret = s;
	return 0;
}

static void end_reader(struct stream *s)
{
	if (!s->has_reader)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_unwanted = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->reader, NULL);
	s->has_reader = false;
}

void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	end_reader(s);
	for (size_t i = 0; i < STREAM_BATCHES; i++) {
		if (s->batch[i])
			free(s->batch[i]->rare);
		free(s->batch[i]);
	}
	free(s->lane);
	stacks_destroy(s->stacks);
	lane_blocks_fini(&s->blocks);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int stream_next(struct stream *s, const struct stream_batch **ret, const struct stream_batch **then,
		struct err *err)
{
	uint64_t n_needed = 2; /* until the end */
	int r = s->has_reader ? 0 : start_reader(s, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->has_taken) {
		s->n_taken++;
		s->has_taken = false;
		pthread_cond_broadcast(&s->changed);
	}
	while (s->n_filled - s->n_taken < n_needed && !s->is_done)
		pthread_cond_wait(&s->changed, &s->lock);
	/* at a cut the last one is not full: it stays, and so does the one before it */
	n_needed = s->is_done ? s->is_cut && s->result == 0 ? 3 : 1 : n_needed;
	if (s->n_filled - s->n_taken >= n_needed) {
		*ret = s->batch[s->n_taken % STREAM_BATCHES];
		*then = s->n_filled - s->n_taken > 1 ? s->batch[(s->n_taken + 1) % STREAM_BATCHES]
						     : NULL;
		s->has_taken = true;
		r = 1;
	} else if (s->result < 0) {
		if (err)
			*err = s->err;
		r = s->result;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void stream_go_on(struct stream *s, const struct cut *cut)
{
	end_reader(s);
	s->is_unwanted = false;
	if (s->is_done) {
		s->n_filled--;
		s->is_begun = true;
		s->is_done = false;
	}
	s->is_cut = cut != NULL;
	lane_blocks_go_on(&s->blocks, cut);
	key_by_time(s);
}

const struct stacks *stream_stacks(const struct stream *s)
{
	return s->stacks;
}

struct stacks *stream_take_stacks(struct stream *s)
{
	struct stacks *stacks = s->stacks;

	s->stacks = NULL;
	return stacks;
}

const struct stream_counts *stream_counts(const struct stream *s)
{
	return &s->counts;
}

uint64_t stream_last_ns(const struct stream *s)
{
	return s->counts.last_ticks ? timebase_ns(&s->rec->time, s->counts.last_ticks) : 0;
}
