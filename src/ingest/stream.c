/* ingest/stream.c - see stream.h. */
#include "ingest/stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "ingest/lane_blocks.h"
#include "util/vec.h"

#define N_BATCHES 32u
#define LANE_CALLS 128u /* that a lane decodes at a time */

/* What of a lane is decoded and was not passed on yet. All of it is of one block, which stays loaded
 * until it is passed on. */
struct stream_lane {
	struct event_plain *call; /* [at, n) of LANE_CALLS: their stacks are numbers already */
	uint32_t at, n;
	bool has_rare; /* this one comes after them: */
	struct event rare;
	uint32_t rare_stack; /* its number */
};

/* Batches are numbered from 0 and lie in batch[number % N_BATCHES]: those before n_taken may be
 * filled again, those before n_filled are the caller's. */
struct stream {
	struct recording *rec;
	struct lane_blocks blocks;
	struct stream_lane *lane;
	struct stacks *stacks;
	struct stream_counts counts;
	struct stream_batch *batch[N_BATCHES];

	pthread_t reader;
	bool has_reader;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	uint64_t n_filled;
	uint64_t n_taken;
	bool is_done; /* no more will be filled */
	bool is_unwanted; /* the caller has no use for more */
	bool has_taken; /* the caller holds batch n_taken */
	int result;
	struct err err;
};

/* ---- the reader: a lane ---- */

/* Time never goes back in a lane, whatever its clock says. What is beyond the horizon is left out:
 * the number of calls that are not. */
static size_t order_calls(const struct stream *s, struct lane_cursor *l, struct event_plain *call,
			  size_t n)
{
	uint64_t ticks = l->min_ticks;
	size_t n_kept = 0;

	while (n_kept < n) {
		ticks = call[n_kept].ticks > ticks ? call[n_kept].ticks : ticks;
		if (unlikely(ticks > s->rec->horizon_ticks))
			break;
		call[n_kept++].ticks = ticks;
	}
	l->min_ticks = ticks;
	return n_kept;
}

/* Nothing more of the lane is wanted. */
static void end_lane(struct lane_cursor *l)
{
	l->end_block = l->block + 1;
	l->decoder.in.pos = l->decoder.in.len;
}

/* Adds n calls that were just decoded behind those of the lane. */
static int take_calls(struct stream *s, uint32_t lane, size_t n, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	struct stream_lane *ahead = &s->lane[lane];
	struct event_plain *call = &ahead->call[ahead->n];
	size_t n_kept = order_calls(s, l, call, n);

	ahead->n += (uint32_t)n_kept;
	if (n_kept < n)
		end_lane(l);
	return stacks_use(s->stacks, lane, call, n_kept, err);
}

static int take_rare(struct stream *s, uint32_t lane, const struct event *ev, struct err *err)
{
	struct event_plain named = {.ticks = ev->ticks, .stack = ev->stack};
	struct stream_lane *ahead = &s->lane[lane];
	int r = 0;

	if (order_calls(s, &s->blocks.lane[lane], &named, 1) == 0) {
		end_lane(&s->blocks.lane[lane]);
		return 0;
	}
	if (event_is_call(ev->kind))
		r = stacks_use(s->stacks, lane, &named, 1, err);
	if (r < 0)
		return r;
	ahead->rare = *ev;
	ahead->rare_stack = event_is_call(ev->kind) ? named.stack : 0;
	ahead->has_rare = true;
	return 0;
}

/* An event that is not one of those that come by thousands. */
static int take_event(struct stream *s, uint32_t lane, const struct event *ev, struct err *err)
{
	switch (ev->kind) {
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
		return stacks_define(s->stacks, lane, ev, s->blocks.lane[lane].decoder.generation,
				     err);
	case EVENT_FORGET:
		stacks_forget(s->stacks, lane, ev->field[0]);
		return 0;
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
	case EVENT_REALLOC_BEGIN:
	case EVENT_REALLOC_END:
	case EVENT_FREE:
		s->lane[lane].call[s->lane[lane].n] = event_plain_of(ev);
		return take_calls(s, lane, 1, err);
	default:
		return take_rare(s, lane, ev, err);
	}
}

/* Decodes on in the block of a lane that has nothing ahead. The block may come to its end. */
static int decode_ahead(struct stream *s, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	struct stream_lane *ahead = &s->lane[lane];
	int r = 0;

	ahead->call = lane_blocks_extra(l);
	ahead->at = ahead->n = 0;
	while (r == 0 && ahead->n + 2 <= LANE_CALLS && !ahead->has_rare) {
		size_t n = event_decode_plain(&l->decoder, &ahead->call[ahead->n],
					      LANE_CALLS - ahead->n);
		struct event ev;

		if (n > 0) {
			r = take_calls(s, lane, n, err);
			continue;
		}
		n = ahead->n;
		r = event_decode(&l->decoder, &ev);
		if (r > 0)
			r = take_event(s, lane, &ev, err);
		else if (n > 0)
			return 0; /* the end is met again when these are passed on */
		else
			return lane_blocks_end(&s->blocks, l, r < 0, err);
	}
	return r;
}

/* Makes sure that the lane has something ahead, if its block has; reads the block it waits for. */
static int fill_lane(struct stream *s, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	int r = 0;

	if (!l->is_loaded)
		r = lane_blocks_load(&s->blocks, l, err);
	if (r == 0 && l->is_loaded)
		r = decode_ahead(s, lane, err);
	return r;
}

/* ---- the reader: all lanes ---- */

static NOINLINE void count_odd(struct stream *s, uint32_t stack)
{
	const struct stack_node *n =
		stacks_get(s->stacks, stacks_node(s->stacks, stack & ~STACKS_ODD));

	if (n->end != STACK_END_COMPLETE)
		s->counts.truncated[n->end]++;
	s->counts.guessed += n->has_guess;
}

static void pass_call(struct stream *s, struct stream_call *to, const struct event_plain *from,
		      uint32_t lane)
{
	bool is_counted = from->kind != EVENT_REALLOC_END;

	s->counts.events += is_counted;
	if (unlikely(from->stack & STACKS_ODD) && is_counted)
		count_odd(s, from->stack);
	*to = (struct stream_call){
		.at_ns = timebase_ns(&s->rec->time, from->ticks),
		.addr = from->addr,
		.size_bytes = from->size_bytes,
		.stack = from->stack & ~STACKS_ODD,
		.extra_bytes = from->extra_bytes,
		.lane = lane,
		.kind = from->kind,
	};
}

/* Passes on the calls of a lane that are not later than a time, as far as there is room. */
static void pass_calls(struct stream *s, struct stream_batch *b, uint32_t lane, uint64_t last_ticks)
{
	struct stream_lane *ahead = &s->lane[lane];
	size_t room = STREAM_BATCH_CALLS - b->n, left = ahead->n - ahead->at;
	const struct event_plain *call = &ahead->call[ahead->at];
	size_t n = left < room ? left : room;

	for (size_t i = 0; i < n; i++) {
		if (call[i].ticks > last_ticks)
			n = i;
		else
			pass_call(s, &b->call[b->n + i], &call[i], lane);
	}
	if (n == 0)
		return;
	s->counts.last_ticks = call[n - 1].ticks;
	b->n += n;
	ahead->at += (uint32_t)n;
}

static int pass_rare(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct stream_lane *ahead = &s->lane[lane];
	const uint64_t ticks = s->blocks.lane[lane].min_ticks;
	int r = vec_reserve(&b->rare, &b->cap_rare, b->n_rare + 1, sizeof(*b->rare), err);

	if (r < 0)
		return r;
	if (event_is_call(ahead->rare.kind)) {
		s->counts.events++;
		if (ahead->rare_stack & STACKS_ODD)
			count_odd(s, ahead->rare_stack);
	}
	s->counts.last_ticks = ticks;
	b->rare[b->n_rare] = ahead->rare;
	b->call[b->n++] = (struct stream_call){
		.at_ns = timebase_ns(&s->rec->time, ticks),
		.size_bytes = b->n_rare++,
		.stack = ahead->rare_stack & ~STACKS_ODD,
		.lane = lane,
		.kind = ahead->rare.kind,
	};
	ahead->has_rare = false;
	return 0;
}

/* The lane goes on in its turn: passes on what comes before the next event of any other lane. */
static int pass(struct stream *s, struct stream_batch *b, uint32_t lane, struct err *err)
{
	struct lane_cursor *l = &s->blocks.lane[lane];
	const struct lane_heap_item *second = lane_heap_second(&s->blocks.heap);
	size_t first = b->n;
	int r = 0;

	if (s->lane[lane].at < s->lane[lane].n)
		pass_calls(s, b, lane, second ? second->key - (lane > second->lane) : UINT64_MAX);
	else
		r = pass_rare(s, b, lane, err);
	if (r == 0) {
		b->call[first].is_after_gap = l->is_after_gap;
		l->is_after_gap = false;
	}
	return r;
}

/* The time of a lane's next event, as far as it is known. */
static uint64_t next_ticks(const struct stream *s, uint32_t lane)
{
	const struct stream_lane *ahead = &s->lane[lane];

	return ahead->at < ahead->n ? ahead->call[ahead->at].ticks : s->blocks.lane[lane].min_ticks;
}

/* 1: the batch is full. 0: there are no more events. Less: what went wrong. */
static int fill(struct stream *s, struct stream_batch *b, struct err *err)
{
	struct lane_heap *heap = &s->blocks.heap;
	int r = 0;

	b->n = b->n_rare = 0;
	while (r == 0 && b->n < STREAM_BATCH_CALLS && heap->n > 0) {
		uint32_t lane = heap->item[0].lane;
		const struct stream_lane *ahead = &s->lane[lane];
		bool has_ahead = ahead->at < ahead->n || ahead->has_rare;

		if (heap->item[0].key > s->rec->horizon_ticks)
			break;
		r = has_ahead ? pass(s, b, lane, err) : fill_lane(s, lane, err);
		if (ahead->at < ahead->n || ahead->has_rare || lane_has_more(&s->blocks.lane[lane]))
			lane_heap_change_first(heap, next_ticks(s, lane));
		else
			lane_heap_remove_first(heap);
	}
	b->n_blocks_read = s->blocks.n_blocks_read;
	return r < 0 ? r : b->n == STREAM_BATCH_CALLS;
}

/* A place for the next batch, or NULL when none is wanted any more. Called with lock held. */
static struct stream_batch *wait_for_place(struct stream *s)
{
	while (s->n_filled - s->n_taken == N_BATCHES && !s->is_unwanted)
		pthread_cond_wait(&s->changed, &s->lock);
	return s->is_unwanted ? NULL : s->batch[s->n_filled % N_BATCHES];
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

static int start(struct stream *s, struct err *err)
{
	int r = lane_blocks_init(&s->blocks, s->rec, LANE_CALLS * sizeof(struct event_plain), err);

	s->lane = calloc(s->rec->n_lanes + 1, sizeof(*s->lane));
	if (r == 0 && !s->lane)
		r = err_set_memory(err, (s->rec->n_lanes + 1) * sizeof(*s->lane));
	if (r == 0)
		r = stacks_create(&s->rec->facts, s->rec->n_lanes, &s->stacks, err);
	for (size_t i = 0; r == 0 && i < N_BATCHES; i++) {
		s->batch[i] = calloc(1, sizeof(*s->batch[i]));
		if (!s->batch[i])
			r = err_set_memory(err, sizeof(*s->batch[i]));
	}
	if (r < 0)
		return r;
	r = pthread_create(&s->reader, NULL, run_reader, s);
	if (r != 0)
		return err_set_errno(err, r, "no thread can be started");
	s->has_reader = true;
	return 0;
}

int stream_create(struct recording *r, struct stream **ret, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	int n;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->rec = r;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	n = start(s, err);
	if (n < 0) {
		stream_destroy(s);
		return n;
	}
	*ret = s;
	return 0;
}

void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	if (s->has_reader) {
		pthread_mutex_lock(&s->lock);
		s->is_unwanted = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->reader, NULL);
	}
	for (size_t i = 0; i < N_BATCHES; i++) {
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
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (s->has_taken) {
		s->n_taken++;
		s->has_taken = false;
		pthread_cond_broadcast(&s->changed);
	}
	while (s->n_filled - s->n_taken < 2 && !s->is_done)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->n_filled > s->n_taken) {
		*ret = s->batch[s->n_taken % N_BATCHES];
		*then = s->n_filled - s->n_taken > 1 ? s->batch[(s->n_taken + 1) % N_BATCHES]
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
