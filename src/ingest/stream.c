/* ingest/stream.c - see stream.h. */
#include <stdlib.h>
#include <string.h>

#include "ingest/stream_i.h"
#include "util/memory_budget.h"
#include "util/rss.h"
#include "util/vec.h"

#define LANE_CALLS 128u /* calls that a lane decodes at a time */
#define RESIDENT_SIXTEENTHS 10u /* of the budget: beyond it, files leave memory */
#define BATCHES_PER_LOOK 16u /* at the size of the process */
#define LANE_STACKS 32u /* definitions of stacks that a lane decodes at a time */

/* ---- the reader thread: one lane ---- */

/* Counts a call whose stack is not complete or has guessed frames. */
static void count_odd(struct stream *s, uint32_t stack)
{
	uint32_t number = stack & ~(STACKS_ODD | STACKS_NEW);
	uint32_t node = stack & STACKS_NEW ? number : stacks_node(s->stacks, number);
	const struct stack_node *n = stacks_get(s->stacks, node);

	if (n->end != STACK_END_COMPLETE)
		s->counts.truncated[n->end]++;
	s->counts.guessed += n->has_guess;
}

/* Ends a lane: its other events are beyond the horizon. */
static void end_lane(struct lane_cursor *l)
{
	l->end_block = l->block + 1;
	l->decoder.in.pos = l->decoder.in.len;
}

/* Can the ticks of calls become times without checks? They must not be before the last event of the
 * lane, nor beyond the horizon or the range of numbers. The last ticks are the highest. */
static bool is_simple_time(const struct stream *s, uint64_t min_ticks, uint64_t first_ticks,
			   uint64_t last_ticks)
{
	const struct timebase *time = &s->rec->time;

	return first_ticks >= min_ticks && first_ticks >= time->start_ticks &&
	       last_ticks >= first_ticks && last_ticks <= s->rec->horizon_ticks &&
	       timebase_is_possible(time, last_ticks);
}

static uint64_t count_calls(const struct event_compact *call, size_t n)
{
	uint64_t n_calls = 0;

	for (size_t i = 0; i < n; i++)
		n_calls += event_is_call(call[i].kind);
	return n_calls;
}

/* Replaces the ticks of calls by times. Time never goes back in a lane, whatever its clock says.
 * Calls beyond the horizon, and from one at an impossible time on, are left out: returns the number
 * of calls before. */
static size_t set_times_with_care(struct stream *s, struct lane_cursor *l,
				  struct event_compact *call, size_t n)
{
	uint64_t ticks = l->min_ticks;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t next = call[i].ticks > ticks ? call[i].ticks : ticks;

		if (unlikely(next > s->rec->horizon_ticks)) {
			end_lane(l);
			break;
		}
		if (unlikely(!timebase_is_possible(&s->rec->time, next))) {
			lane_blocks_cut(l, count_calls(&call[i], n - i));
			break;
		}
		ticks = next;
		call[i].at_ns = timebase_ns(&s->rec->time, ticks);
	}
	l->min_ticks = ticks;
	return i;
}

/* The same, fast where possible. The ticks of calls that were decoded together never go down. */
static size_t set_times(struct stream *s, struct lane_cursor *l, struct event_compact *call,
			size_t n)
{
	const struct timebase *time = &s->rec->time;

	if (n == 0)
		return 0;
	if (likely(is_simple_time(s, l->min_ticks, call[0].ticks, call[n - 1].ticks))) {
		const struct timebase_piece piece = *timebase_piece_of(time, call[0].ticks);

		l->min_ticks = call[n - 1].ticks;
		if (likely(timebase_piece_of(time, l->min_ticks)->ticks == piece.ticks)) {
			for (size_t i = 0; i < n; i++)
				call[i].at_ns = timebase_ns_plain(&piece, call[i].ticks);
		} else {
			for (size_t i = 0; i < n; i++)
				call[i].at_ns = timebase_ns(time, call[i].ticks);
		}
	} else {
		n = set_times_with_care(s, l, call, n);
	}
	if (n > 0 && l->min_ticks > s->counts.last_ticks)
		s->counts.last_ticks = l->min_ticks;
	return n;
}

/* Replaces the stack ids of calls by numbers. A stack that has no number yet gets it when its call
 * is passed on. */
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

/* Gives a number to the stack of a call that is passed on. */
static int number_stack(struct stream *s, uint32_t *stack, struct err *err)
{
	int r = stacks_number(s->stacks, *stack & ~STACKS_NEW, stack, err);

	if (r == 0 && s->sums)
		r = alloc_sums_reserve(s->sums, stacks_count_numbers(s->stacks), err);
	return r;
}

/* The same for all calls that are passed on and whose stack has no number yet. */
static NOINLINE int number_calls(struct stream *s, struct event_compact *call, size_t n,
				 struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct event_compact *c = &call[i];

		if (!(c->stack & STACKS_NEW))
			continue;
		r = number_stack(s, &c->stack, err);
		if (r == 0 && s->sums && alloc_sums_makes_block(c))
			alloc_sums_add(s->sums, c->stack, c->at_ns, c->size_bytes, c->extra_bytes);
	}
	return r;
}

/* Adds up the allocations whose stack has a number. number_calls() adds up the others. */
static NOINLINE void sum_some_allocs(struct alloc_sums *sums, const struct event_compact *call,
				     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event_compact *c = &call[i];

		if (!(c->stack & STACKS_NEW) && alloc_sums_makes_block(c))
			alloc_sums_add(sums, c->stack, c->at_ns, c->size_bytes, c->extra_bytes);
	}
}

_Static_assert(LANE_CALLS <= ALLOC_SUMS_MAX_CALLS, "decoded calls are added up together");

/* Takes an event that is passed on as a whole. is_call: it is a call of the program, with a
 * stack. */
static int take_rare(struct stream *s, uint32_t lane, const struct event *ev, bool is_call,
		     struct err *err)
{
	struct event_compact named = {.ticks = ev->ticks, .stack = ev->stack, .kind = ev->kind};
	struct stream_lane *decoded = &s->lane[lane];
	int r = 0;

	if (set_times(s, &s->blocks.lane[lane], &named, 1) == 0)
		return 0;
	if (is_call)
		r = name_calls(s, lane, &named, 1, err);
	if (r < 0)
		return r;
	s->counts.calls += is_call && !event_is_culled(ev->kind);
	decoded->rare = *ev;
	decoded->rare_stack = is_call ? named.stack : 0;
	decoded->rare_ns = named.at_ns;
	decoded->has_rare = true;
	return 0;
}

/* The calls of a lane that are being decoded: [0, n) have times, [0, n_named) also numbers of
 * stacks. */
struct decoding {
	struct event_compact *call;
	size_t n, n_named;
	uint32_t lane;
};

/* Finds the stacks of the calls that have none yet, and adds up their allocations. */
static int name_decoded(struct stream *s, struct decoding *d, struct err *err)
{
	struct event_compact *call = &d->call[d->n_named];
	size_t n = d->n - d->n_named;
	int r = name_calls(s, d->lane, call, n, err);

	d->n_named = d->n;
	if (r < 0 || !s->sums)
		return r;
	if (unlikely(s->lane[d->lane].has_new))
		sum_some_allocs(s->sums, call, n);
	else
		alloc_sums_add_calls(s->sums, call, n);
	return 0;
}

/* n more calls were decoded, after the others. */
static void add_decoded(struct stream *s, struct decoding *d, size_t n)
{
	n = set_times(s, &s->blocks.lane[d->lane], &d->call[d->n], n);
	s->counts.calls += n;
	d->n += n;
}

/* Takes an event that the fast decoders left. */
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
	case EVENT_ALLOCATOR:
		return 0; /* the decoder has it */
	case EVENT_FORGET:
		r = name_decoded(s, d, err); /* decoded calls may name ids that are forgotten now */
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
		return take_rare(s, d->lane, ev,
				 event_is_call(ev->kind) || event_is_culled(ev->kind), err);
	}
}

/* Decodes the definitions that come next: *n of them. */
static int take_stacks(struct stream *s, struct decoding *d, size_t *n, struct err *err)
{
	struct event_decoder *decoder = &s->blocks.lane[d->lane].decoder;
	struct event_stack def[LANE_STACKS];
	int r = 0;

	*n = event_decode_stacks(decoder, def, LANE_STACKS);
	for (size_t i = 0; r == 0 && i < *n; i++)
		r = stacks_define_pending(s->stacks, d->lane, &def[i], decoder->generation, err);
	return r;
}

/* Decodes the next calls of a lane whose decoded calls are all passed on: *n calls to ret, which
 * has room for max. The block may come to its end. */
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
		return r; /* with calls, the end is met again after they are passed on */
	return lane_blocks_end(&s->blocks, l, is_malformed, err);
}

/* ---- the reader thread: all lanes ---- */

/* Up to this time the first lane of the heap stays the first. */
static uint64_t last_time(const struct stream *s)
{
	const struct lane_heap_item *second = lane_heap_second(&s->blocks.heap);

	return second ? second->key - (s->blocks.heap.item[0].lane > second->lane) : UINT64_MAX;
}

/* Marks the first call of a lane that is passed on after a gap. */
static void mark_gap(struct stream *s, struct event_compact *call, uint32_t lane)
{
	struct lane_cursor *l = &s->blocks.lane[lane];

	if (unlikely(l->is_after_gap))
		call->flags |= STREAM_AFTER_GAP;
	l->is_after_gap = false;
}

/* Decodes the next calls of a lane that is likely to go on alone, directly into the batch. Calls
 * whose turn has not come are then moved to the memory of the lane. */
static int decode_into(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *decoded = &s->lane[lane];
	struct event_compact *call = &b->call[b->n];
	size_t room = STREAM_BATCH_CALLS - b->n, n, n_first;
	uint64_t last_ns = last_time(s);
	int r = decode_on(s, lane, call, room < LANE_CALLS ? room : LANE_CALLS, &n, err);

	if (r < 0 || n == 0)
		return r;
	n_first = call[n - 1].at_ns <= last_ns ? n : 0;
	while (n_first < n && call[n_first].at_ns <= last_ns)
		n_first++;
	decoded->n = (uint32_t)(n - n_first);
	if (decoded->n) {
		decoded->call = lane_blocks_extra(&s->blocks.lane[lane]);
		memcpy(decoded->call, &call[n_first], decoded->n * sizeof(*call));
		decoded->is_alone = n_first > n / 2;
	}
	if (n_first > 0)
		mark_gap(s, call, lane);
	b->n += n_first;
	return unlikely(decoded->has_new) ? number_calls(s, call, n_first, err) : 0;
}

/* Decodes more of a lane whose decoded calls are all passed on; reads its next block if need be. */
static int fill_lane(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	struct stream_lane *decoded = &s->lane[lane];
	size_t n = 0;
	int r = 0;

	decoded->at = decoded->n = 0;
	decoded->has_new = false;
	if (!l->is_loaded)
		r = lane_blocks_load(&s->blocks, l, err);
	if (r < 0 || !l->is_loaded)
		return r;
	if (decoded->is_alone && b->n + 2 <= STREAM_BATCH_CALLS)
		return decode_into(s, b, lane, err);
	decoded->call = lane_blocks_extra(l);
	r = decode_on(s, lane, decoded->call, LANE_CALLS, &n, err);
	decoded->n = (uint32_t)n;
	return r;
}

/* Passes on the calls of the first lane as long as it stays the first and the batch has room. */
static int pass_calls(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *decoded = &s->lane[lane];
	size_t room = STREAM_BATCH_CALLS - b->n, left = decoded->n - decoded->at, n = 0;
	const struct event_compact *call = &decoded->call[decoded->at];
	uint64_t last_ns = last_time(s);

	room = left < room ? left : room;
	for (; n < room && call[n].at_ns <= last_ns; n++)
		b->call[b->n + n] = call[n];
	if (n > 0)
		mark_gap(s, &b->call[b->n], lane);
	decoded->is_alone = decoded->at == 0 && n == left;
	b->n += n;
	decoded->at += (uint32_t)n;
	return unlikely(decoded->has_new) ? number_calls(s, &b->call[b->n - n], n, err) : 0;
}

static int pass_rare(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *decoded = &s->lane[lane];
	struct event_compact *call = &b->call[b->n];
	const struct event *ev = &decoded->rare;
	int r = vec_reserve(&b->rare, &b->cap_rare, b->n_rare + 1, sizeof(*b->rare), err);

	if (r == 0 && decoded->rare_stack & STACKS_NEW)
		r = number_stack(s, &decoded->rare_stack, err);
	if (r < 0)
		return r;
	if (s->sums && ev->kind < EVENT_STACK && ALLOC_SUMS_KINDS >> ev->kind & 1 && ev->addr)
		alloc_sums_add(s->sums, decoded->rare_stack, decoded->rare_ns, ev->size_bytes,
			       stream_extra_bytes(ev));
	if (s->sums && event_is_culled(ev->kind))
		alloc_sums_add_culled(s->sums, decoded->rare_stack, decoded->rare_ns, ev);
	b->rare[b->n_rare] = *ev;
	*call = (struct event_compact){
		.at_ns = decoded->rare_ns,
		.addr = decoded->rare.kind < EVENT_STACK ? decoded->rare.addr : 0,
		.size_bytes = (uint32_t)b->n_rare++,
		.stack = decoded->rare_stack,
		.lane = lane,
		.kind = decoded->rare.kind,
		.flags = (uint8_t)(STREAM_WHOLE | ev->allocator << EVENT_ALLOCATOR_SHIFT),
	};
	mark_gap(s, call, lane);
	b->n++;
	decoded->has_rare = false;
	return 0;
}

/* The time of a lane's next event, or a time that is not later. */
static uint64_t next_time(const struct stream *s, uint32_t lane)
{
	const struct stream_lane *decoded = &s->lane[lane];

	if (decoded->at < decoded->n)
		return decoded->call[decoded->at].at_ns;
	return decoded->has_rare ? decoded->rare_ns
				 : timebase_ns(&s->rec->time, s->blocks.lane[lane].min_ticks);
}

/* Fills a batch. 1: it is full. 0: there are no more events. Less: an error. */
static int fill(struct stream *s, struct stream_batch *b, struct err *err)
{
	struct lane_heap *heap = &s->blocks.heap;
	int r = 0;

	if (!s->is_begun)
		b->n = b->n_rare = 0;
	s->is_begun = false;
	while (r == 0 && b->n < STREAM_BATCH_CALLS && heap->n > 0) {
		uint32_t lane = heap->item[0].lane;
		const struct stream_lane *decoded = &s->lane[lane];

		if (decoded->at < decoded->n)
			r = pass_calls(s, b, lane, err);
		else if (decoded->has_rare)
			r = pass_rare(s, b, lane, err);
		else
			r = fill_lane(s, b, lane, err);
		if (decoded->at < decoded->n || decoded->has_rare ||
		    lane_has_more(&s->blocks.lane[lane]))
			lane_heap_change_first(heap, next_time(s, lane));
		else
			lane_heap_remove_first(heap);
	}
	b->n_blocks_read = s->blocks.n_blocks_read;
	b->n_stacks = stacks_count_numbers(s->stacks);
	return r < 0 ? r : b->n == STREAM_BATCH_CALLS;
}

/* Waits for a batch that may be filled; NULL: no more is wanted. With the lock held. */
static struct stream_batch *wait_for_free_batch(struct stream *s)
{
	while (s->n_filled - s->n_taken == STREAM_BATCHES && !s->is_unwanted)
		pthread_cond_wait(&s->changed, &s->lock);
	return s->is_unwanted ? NULL : s->batch[s->n_filled % STREAM_BATCHES];
}

/* Arrays that lie in files leave memory when the process has much there. */
static void trim(const struct stream *s)
{
	if (rss_bytes() < memory_budget_share(RESIDENT_SIXTEENTHS))
		return;
	stacks_trim(s->stacks);
	if (s->sums)
		spill_vec_trim(&s->sums->memory);
}

static void *run_reader(void *arg)
{
	struct stream *s = arg;
	struct stream_batch *b;
	uint64_t n = 0;
	int r = 1;

	pthread_mutex_lock(&s->lock);
	while (r > 0 && (b = wait_for_free_batch(s)) != NULL) {
		pthread_mutex_unlock(&s->lock);
		r = fill(s, b, &s->err);
		if (++n % BATCHES_PER_LOOK == 0)
			trim(s);
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

/* ---- the caller's thread ---- */

/* Lanes are merged by nanoseconds. The order equals that of ticks, because a tick takes at least a
 * nanosecond. */
static void key_by_time(struct stream *s)
{
	struct lane_heap *heap = &s->blocks.heap;

	for (size_t i = 0; i < heap->n; i++)
		heap->item[i].key = timebase_ns(&s->rec->time, heap->item[i].key);
	lane_heap_make(heap);
}

static int make(struct stream *s, const char *folder, struct err *err)
{
	int r = lane_blocks_init(&s->blocks, s->rec, LANE_CALLS * sizeof(struct event_compact),
				 err);

	s->lane = calloc(s->rec->n_lanes + 1, sizeof(*s->lane));
	if (r == 0 && !s->lane)
		r = err_set_memory(err, (s->rec->n_lanes + 1) * sizeof(*s->lane));
	if (r == 0)
		r = stacks_create(&s->rec->metadata, s->rec->n_lanes, &s->stacks, err);
	if (r == 0)
		stacks_set_folder(s->stacks, folder);
	if (r == 0 && s->sums) /* for the empty stack; the others when they get a number */
		r = alloc_sums_reserve(s->sums, 1, err);
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

int stream_create(struct recording *r, struct alloc_sums *sums, const char *folder,
		  struct stream **ret, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	int n;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->rec = r;
	s->sums = sums;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	n = make(s, folder, err);
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
	uint64_t n_needed = 2; /* the next batch and the one after it, until the end */
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
	/* at a checkpoint the last two batches stay: see stream_resume() */
	n_needed = s->is_done ? s->ends_at_checkpoint && s->result == 0 ? 3 : 1 : n_needed;
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

void stream_resume(struct stream *s, const struct checkpoint_pos *pos)
{
	end_reader(s);
	s->is_unwanted = false;
	if (s->is_done) {
		s->n_filled--;
		s->is_begun = true;
		s->is_done = false;
	}
	s->ends_at_checkpoint = pos != NULL;
	lane_blocks_resume(&s->blocks, pos);
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
