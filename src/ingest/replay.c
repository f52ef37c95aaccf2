/* ingest/replay.c - see replay.h. Hands the calls to pairing.c and counts them. */
#include "ingest/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "ingest/pairing.h"
#include "ingest/stream.h"

#define FAR_AHEAD 32 /* calls: the table of live blocks is asked for ... */
#define NEAR_AHEAD 16 /* ... and then what belongs to the block */

/* What is counted per thread; lanes of a thread share it. */
struct replay_thread {
	uint64_t n_allocs;
	uint64_t n_releases;
};

struct replay {
	struct recording *rec;
	struct stream *stream;
	struct pairing pairing;
	struct replay_totals totals;
	struct replay_callbacks callbacks;
	struct replay_thread *thread; /* by lane_thread */
	uint32_t *lane_thread; /* lane -> index in thread */
	uint64_t *lane_lost; /* lane -> sum of its LOST events */
};

static int replay_init(struct replay *p, struct recording *r, const struct replay_callbacks *c,
		       struct err *err)
{
	uint32_t n_threads = 0;
	int n;

	*p = (struct replay){.rec = r};
	if (c)
		p->callbacks = *c;
	n = pairing_init(&p->pairing, r->n_lanes, &p->totals, &p->callbacks, err);
	if (n < 0)
		return n;
	p->thread = calloc(r->n_lanes + 1, sizeof(*p->thread));
	p->lane_thread = calloc(r->n_lanes + 1, sizeof(*p->lane_thread));
	p->lane_lost = calloc(r->n_lanes + 1, sizeof(*p->lane_lost));
	if (!p->thread || !p->lane_thread || !p->lane_lost)
		return err_set_memory(err, r->n_lanes * sizeof(*p->thread));
	for (size_t i = 0; i < r->n_lanes; i++) {
		if (i > 0 && r->lane[i].thread != r->lane[i - 1].thread)
			n_threads++;
		p->lane_thread[i] = n_threads;
	}
	p->pairing.live.folder = p->callbacks.temp_folder;
	p->pairing.window_ns = REPLAY_WINDOW_NS;
	p->pairing.is_unknown_expected =
		(r->header.flags & FORMAT_LATE_START) || r->facts.process.parent_pid != 0;
	return stream_create(r, &p->stream, err);
}

static void replay_fini(struct replay *p)
{
	stream_destroy(p->stream);
	pairing_fini(&p->pairing);
	free(p->thread);
	free(p->lane_thread);
	free(p->lane_lost);
}

static void make_block(struct replay *p, const struct stream_call *c, struct live_block *ret)
{
	*ret = (struct live_block){
		.addr = c->addr,
		.size_bytes = c->size_bytes,
		.at_ns = c->at_ns,
		.ordinal = p->thread[p->lane_thread[c->lane]].n_allocs++,
		.thread = p->rec->lane[c->lane].thread,
		.stack = c->stack,
		.extra_bytes = c->extra_bytes,
		.kind = c->kind,
	};
	p->totals.bytes_allocated += c->size_bytes;
	if (p->callbacks.on_arrival)
		ret->tag = p->callbacks.on_arrival(p->callbacks.user, ret);
}

static int on_alloc(struct replay *p, const struct stream_call *c, struct err *err)
{
	struct live_block block;

	p->totals.allocations++;
	make_block(p, c, &block);
	if (block.addr == 0)
		return 0; /* not a block; only a damaged recording says so */
	return pairing_alloc(&p->pairing, c->lane, &block, err);
}

static void make_release(struct replay *p, const struct stream_call *c, struct replay_release *ret)
{
	struct replay_thread *t = &p->thread[p->lane_thread[c->lane]];

	*ret = (struct replay_release){
		.how = REPLAY_FREED,
		.at_ns = c->at_ns,
		.ordinal = t->n_releases++,
		.n_allocs = t->n_allocs,
		.thread = p->rec->lane[c->lane].thread,
		.stack = c->stack,
	};
}

static int on_release(struct replay *p, const struct stream_call *c, struct err *err)
{
	struct replay_release release;

	make_release(p, c, &release);
	if (c->kind == EVENT_REALLOC_BEGIN)
		return pairing_realloc_begin(&p->pairing, c->lane, c->addr, &release, err);
	p->totals.frees++;
	return pairing_free(&p->pairing, c->lane, c->addr, &release, err);
}

static int on_realloc_end(struct replay *p, const struct stream_call *c, struct err *err)
{
	struct live_block block;

	p->totals.reallocations++;
	make_block(p, c, &block);
	if (block.addr == 0)
		return 0;
	return pairing_realloc_end(&p->pairing, c->lane, &block, err);
}

/* The kinds that end a realloc in another way. */
static int on_realloc_other(struct replay *p, const struct stream_call *c, struct err *err)
{
	bool was_open;

	switch (c->kind) {
	case EVENT_REALLOC_CANCEL:
		p->totals.failed_reallocations++;
		return pairing_realloc_cancel(&p->pairing, c->lane, err);
	case EVENT_REALLOC_FREED:
		p->totals.frees++;
		return pairing_realloc_ended(&p->pairing, c->lane, REPLAY_REALLOC_FREED, &was_open,
					     err);
	default:
		p->totals.untracked_reallocations++;
		return pairing_realloc_ended(&p->pairing, c->lane, REPLAY_REALLOC_UNTRACKED,
					     &was_open, err);
	}
}

static void on_switch(struct replay *p, bool is_on)
{
	if (is_on)
		return;
	p->totals.pauses++;
	p->pairing.is_unknown_expected = true; /* for good: what was made meanwhile can live long */
}

static void on_rare(struct replay *p, const struct stream_call *c, const struct event *ev)
{
	struct replay_totals *t = &p->totals;

	if (p->callbacks.on_rare)
		p->callbacks.on_rare(p->callbacks.user, ev, p->rec->lane[c->lane].thread, c->stack);
	switch (ev->kind) {
	case EVENT_MMAP:
		t->mmaps++;
		break;
	case EVENT_MUNMAP:
		t->munmaps++;
		break;
	case EVENT_MREMAP:
		t->mremaps++;
		break;
	case EVENT_BRK:
		t->brks++;
		break;
	case EVENT_MARKER:
		t->markers++;
		break;
	case EVENT_FORK:
		t->forks++;
		break;
	case EVENT_LOST:
		p->lane_lost[c->lane] += ev->field[0];
		break;
	case EVENT_SWITCH:
		on_switch(p, ev->field[0] != 0);
		break;
	case EVENT_PROCESS_END:
		t->end_how = ev->field[0];
		t->end_status = ev->field[1];
		break;
	case EVENT_EXEC_FAILED:
		t->end_how = 0;
		break;
	default:
		break;
	}
}

static int on_call(struct replay *p, const struct stream_call *c, const struct event *rare,
		   struct err *err)
{
	switch (c->kind) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
		return on_alloc(p, c, err);
	case EVENT_FREE:
	case EVENT_REALLOC_BEGIN:
		return on_release(p, c, err);
	case EVENT_REALLOC_END:
		return on_realloc_end(p, c, err);
	case EVENT_REALLOC_CANCEL:
	case EVENT_REALLOC_FREED:
	case EVENT_REALLOC_UNTRACKED:
		return on_realloc_other(p, c, err);
	default:
		on_rare(p, c, rare);
		return 0;
	}
}

/* Memory is slow: what a call will need is asked for some calls before. */
static ALWAYS_INLINE void look_ahead(struct replay *p, const struct stream_batch *b, size_t i)
{
	const struct live_block *block;

	if (i + FAR_AHEAD < b->n)
		live_prefetch(&p->pairing.live, b->call[i + FAR_AHEAD].addr);
	if (i + NEAR_AHEAD >= b->n || !p->callbacks.on_soon)
		return;
	block = live_find(&p->pairing.live, b->call[i + NEAR_AHEAD].addr);
	if (block)
		p->callbacks.on_soon(p->callbacks.user, block);
}

static int replay_batch(struct replay *p, const struct stream_batch *b, struct err *err)
{
	int n = 0;

	if (p->callbacks.on_progress)
		n = p->callbacks.on_progress(p->callbacks.user, b->n_blocks_read, err);
	for (size_t i = 0; n >= 0 && i < b->n; i++) {
		const struct stream_call *c = &b->call[i];

		if (likely(p->pairing.live.n_slots))
			look_ahead(p, b, i);
		if (unlikely(c->is_after_gap))
			n = pairing_gap(&p->pairing, c->lane, err);
		if (n >= 0)
			n = pairing_advance(&p->pairing, c->at_ns, err);
		if (n >= 0)
			n = on_call(p, c, c->kind & EVENT_RARE ? &b->rare[c->size_bytes] : NULL,
				    err);
	}
	return n;
}

static void finish_totals(struct replay *p)
{
	const struct recording *r = p->rec;
	const struct stream_counts *counts = stream_counts(p->stream);

	for (size_t i = 0; i < r->n_lanes; i++) {
		const struct block_ref *last =
			&r->block[r->lane[i].first_block + r->lane[i].n_blocks - 1];

		p->totals.lost_events +=
			last->lost_before > p->lane_lost[i] ? last->lost_before : p->lane_lost[i];
	}
	p->totals.events = counts->events;
	p->totals.guessed = counts->guessed;
	memcpy(p->totals.truncated, counts->truncated, sizeof(p->totals.truncated));
	p->totals.last_ticks = counts->last_ticks;
	p->totals.stacks = stacks_count_used(stream_stacks(p->stream));
	p->totals.deepest_stack = stacks_deepest_used(stream_stacks(p->stream));
}

int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct err *err)
{
	const struct stream_batch *batch;
	struct replay p;
	int n = replay_init(&p, r, callbacks, err);

	while (n == 0) {
		n = stream_next(p.stream, &batch, err);
		if (n <= 0)
			break;
		n = replay_batch(&p, batch, err);
	}
	if (n == 0)
		n = pairing_finish(&p.pairing, err);
	if (n == 0) {
		finish_totals(&p);
		*ret = p.totals;
		if (p.callbacks.on_end)
			n = p.callbacks.on_end(p.callbacks.user, stream_stacks(p.stream),
					       &p.pairing.live, &p.totals, err);
	}
	replay_fini(&p);
	return n;
}
