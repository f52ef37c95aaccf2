/* ingest/stream.c - see stream.h. */
#include "ingest/stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "util/vec.h"

#define N_BATCHES 8u
#define CALLS_AHEAD 16u /* between reading a call and finding its stack */

/* Batches are numbered from 0 and lie in batch[number % N_BATCHES]: those before n_taken may be
 * filled again, those before n_filled are the caller's. */
struct stream {
	struct recording *rec;
	struct merge *merge;
	struct stacks *stacks;
	struct stream_counts counts;
	size_t n_found; /* calls of the batch at hand that have their stack */
	bool *is_gap_due; /* by lane: a definition was the first event after a gap */
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

/* ---- the reader ---- */

/* Puts the canonical stack of a call in the place of its id, and counts it when the program made the
 * call. */
static void find_stack(struct stream *s, struct stream_call *c)
{
	unsigned mark;

	c->stack = stacks_find(s->stacks, c->lane, c->stack);
	if (!event_is_call(c->kind))
		return;
	mark = stacks_use(s->stacks, c->stack);
	s->counts.events++;
	if (unlikely((mark & STACKS_END_MASK) != STACK_END_COMPLETE))
		s->counts.truncated[mark & STACKS_END_MASK]++;
	s->counts.guessed += (mark & STACKS_GUESS_MARK) != 0;
}

/* The same for the calls of the batch up to n. It is done some calls after they were read: by then
 * the memory that it needs has been fetched. Definitions that came meanwhile do not matter, each id is
 * defined once. */
static void find_stacks(struct stream *s, struct stream_batch *b, size_t n)
{
	for (; s->n_found < n; s->n_found++)
		find_stack(s, &b->call[s->n_found]);
}

static int add_rare(struct stream_batch *b, const struct event *ev, struct err *err)
{
	int r = vec_reserve(&b->rare, &b->cap_rare, b->n_rare + 1, sizeof(*b->rare), err);

	if (r == 0)
		b->rare[b->n_rare++] = *ev;
	return r;
}

static int add_event(struct stream *s, struct stream_batch *b, const struct merge_event *m,
		     struct err *err)
{
	const struct event *ev = m->event;
	uint64_t extra = ev->usable_extra_bytes, size = ev->size_bytes;

	if (ev->kind & EVENT_RARE) {
		int r = add_rare(b, ev, err);

		if (r < 0)
			return r;
		size = b->n_rare - 1;
	}
	b->call[b->n++] = (struct stream_call){
		.at_ns = timebase_ns(&s->rec->time, m->order_ticks),
		.addr = ev->addr,
		.size_bytes = size,
		.lane = m->lane,
		.stack = ev->stack,
		.extra_bytes = extra < UINT32_MAX ? (uint32_t)extra : UINT32_MAX,
		.kind = ev->kind,
		.is_after_gap = m->is_after_gap || s->is_gap_due[m->lane],
	};
	s->is_gap_due[m->lane] = false;
	stacks_prefetch(s->stacks, m->lane, ev->stack);
	if (b->n > CALLS_AHEAD)
		find_stacks(s, b, b->n - CALLS_AHEAD);
	return 0;
}

static bool is_definition(unsigned kind)
{
	return kind == EVENT_STACK || kind == EVENT_STACK_END || kind == EVENT_STACK_GUESS;
}

/* 1: the batch is full. 0: there are no more events. Less: what went wrong. */
static int fill(struct stream *s, struct stream_batch *b, struct err *err)
{
	struct merge_event m;
	int r = 1;

	b->n = b->n_rare = 0;
	s->n_found = 0;
	while (b->n < STREAM_BATCH_CALLS) {
		r = merge_next(s->merge, &m, err);
		if (r <= 0)
			break;
		s->counts.last_ticks = m.order_ticks;
		if (is_definition(m.event->kind)) {
			s->is_gap_due[m.lane] |= m.is_after_gap;
			r = stacks_define(s->stacks, m.lane, m.event, m.generation, err);
		} else if (unlikely(m.event->kind == EVENT_FORGET)) {
			s->is_gap_due[m.lane] |= m.is_after_gap;
			find_stacks(s, b, b->n);
			stacks_forget(s->stacks, m.lane, m.event->field[0]);
		} else {
			r = add_event(s, b, &m, err);
		}
		if (r < 0)
			break;
	}
	find_stacks(s, b, b->n);
	b->n_blocks_read = merge_n_blocks_read(s->merge);
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
	int r = merge_create(s->rec, &s->merge, err);

	s->is_gap_due = calloc(s->rec->n_lanes + 1, sizeof(*s->is_gap_due));
	if (r == 0 && !s->is_gap_due)
		r = err_set_memory(err, s->rec->n_lanes + 1);
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
	free(s->is_gap_due);
	stacks_destroy(s->stacks);
	merge_destroy(s->merge);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int stream_next(struct stream *s, const struct stream_batch **ret, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (s->has_taken) {
		s->n_taken++;
		s->has_taken = false;
		pthread_cond_broadcast(&s->changed);
	}
	while (s->n_filled == s->n_taken && !s->is_done)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->n_filled > s->n_taken) {
		*ret = s->batch[s->n_taken % N_BATCHES];
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

const struct stream_counts *stream_counts(const struct stream *s)
{
	return &s->counts;
}
