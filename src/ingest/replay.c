/* ingest/replay.c - see replay.h. Counts events and hands those that matter to pairing.c. */
#include "ingest/replay.h"

#include <stdlib.h>

#include "base/units.h"
#include "ingest/pairing.h"

#define EVENTS_PER_PROGRESS 65536 /* how often on_progress() is called */

/* What is counted per thread; lanes of a thread share it. */
struct replay_thread {
	uint64_t n_allocs;
	uint64_t n_releases;
};

struct replay {
	struct recording *rec;
	struct merge *merge;
	struct stacks *stacks;
	struct pairing pairing;
	struct replay_totals totals;
	struct replay_callbacks callbacks;
	struct replay_thread *thread; /* by lane_thread */
	uint32_t *lane_thread; /* lane -> index in thread */
	uint64_t *lane_lost; /* lane -> sum of its LOST events */
};

static void prefetch(void *user, uint64_t addr)
{
	const struct live *l = user;

	if (l->n_slots)
		live_prefetch(l, addr);
}

static int replay_init(struct replay *p, struct recording *r, const struct replay_callbacks *c,
		       struct err *err)
{
	uint32_t n_threads = 0;
	int n;

	*p = (struct replay){.rec = r};
	if (c)
		p->callbacks = *c;
	n = merge_create(r, &p->merge, err);
	if (n == 0)
		n = stacks_create(&r->facts, r->n_lanes, &p->stacks, err);
	if (n == 0)
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
	merge_set_hint(p->merge, prefetch, &p->pairing.live);
	p->pairing.window_ticks = timebase_ticks(&r->time, REPLAY_WINDOW_NS);
	p->pairing.is_unknown_expected =
		(r->header.flags & FORMAT_LATE_START) || r->facts.process.parent_pid != 0;
	return 0;
}

static void replay_fini(struct replay *p)
{
	pairing_fini(&p->pairing);
	stacks_destroy(p->stacks);
	merge_destroy(p->merge);
	free(p->thread);
	free(p->lane_thread);
	free(p->lane_lost);
}

/* The canonical stack of an event of the program, counted. */
static uint32_t use_stack(struct replay *p, uint32_t lane, uint32_t id)
{
	uint32_t node = stacks_find(p->stacks, lane, id);
	const struct stack_node *n = stacks_get(p->stacks, node);

	stacks_use(p->stacks, node);
	if (unlikely(n->end != STACK_END_COMPLETE))
		p->totals.truncated[n->end]++;
	p->totals.guessed += n->has_guess;
	return node;
}

static void make_block(struct replay *p, const struct merge_event *m, uint32_t stack,
		       struct live_block *ret)
{
	const struct event *ev = m->event;

	*ret = (struct live_block){
		.addr = ev->addr,
		.size_bytes = ev->size_bytes,
		.ticks = m->order_ticks,
		.ordinal = p->thread[p->lane_thread[m->lane]].n_allocs++,
		.thread = p->rec->lane[m->lane].thread,
		.stack = stack,
		.extra_bytes = ev->usable_extra_bytes < UINT32_MAX
				       ? (uint32_t)ev->usable_extra_bytes
				       : UINT32_MAX,
		.kind = ev->kind,
	};
	p->totals.bytes_allocated += ev->size_bytes;
	if (p->callbacks.on_arrival)
		ret->tag = p->callbacks.on_arrival(p->callbacks.user, ret, m->order_ticks);
}

static int on_alloc(struct replay *p, const struct merge_event *m, struct err *err)
{
	struct live_block block;

	p->totals.allocations++;
	make_block(p, m, use_stack(p, m->lane, m->event->stack), &block);
	if (block.addr == 0)
		return 0; /* not a block; only a damaged recording says so */
	return pairing_alloc(&p->pairing, m->lane, &block, err);
}

static void make_release(struct replay *p, const struct merge_event *m, struct replay_release *ret)
{
	struct replay_thread *t = &p->thread[p->lane_thread[m->lane]];

	*ret = (struct replay_release){
		.how = REPLAY_FREED,
		.ticks = m->event->ticks,
		.ordinal = t->n_releases++,
		.n_allocs = t->n_allocs,
		.thread = p->rec->lane[m->lane].thread,
		.stack = use_stack(p, m->lane, m->event->stack),
	};
}

static int on_release(struct replay *p, const struct merge_event *m, struct err *err)
{
	struct replay_release release;

	make_release(p, m, &release);
	if (m->event->kind == EVENT_REALLOC_BEGIN)
		return pairing_realloc_begin(&p->pairing, m->lane, m->event->addr, &release, err);
	p->totals.frees++;
	return pairing_free(&p->pairing, m->lane, m->event->addr, &release, err);
}

static int on_realloc_end(struct replay *p, const struct merge_event *m, struct err *err)
{
	struct live_block block;

	p->totals.reallocations++;
	make_block(p, m, stacks_find(p->stacks, m->lane, m->event->stack), &block);
	if (block.addr == 0)
		return 0;
	return pairing_realloc_end(&p->pairing, m->lane, &block, err);
}

/* The kinds that end a realloc in another way. */
static int on_realloc_other(struct replay *p, const struct merge_event *m, struct err *err)
{
	bool was_open;

	switch (m->event->kind) {
	case EVENT_REALLOC_CANCEL:
		p->totals.failed_reallocations++;
		return pairing_realloc_cancel(&p->pairing, m->lane, err);
	case EVENT_REALLOC_FREED:
		p->totals.frees++;
		return pairing_realloc_ended(&p->pairing, m->lane, REPLAY_REALLOC_FREED, &was_open,
					     err);
	default:
		p->totals.untracked_reallocations++;
		return pairing_realloc_ended(&p->pairing, m->lane, REPLAY_REALLOC_UNTRACKED,
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

static void on_rare(struct replay *p, const struct merge_event *m)
{
	struct replay_totals *t = &p->totals;
	const struct event *ev = m->event;
	uint32_t stack = STACKS_EMPTY;

	if (event_is_call(ev->kind))
		stack = use_stack(p, m->lane, ev->stack);
	if (p->callbacks.on_rare)
		p->callbacks.on_rare(p->callbacks.user, ev, p->rec->lane[m->lane].thread, stack);
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
		p->lane_lost[m->lane] += ev->field[0];
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

static int on_event(struct replay *p, const struct merge_event *m, struct err *err)
{
	const struct event *ev = m->event;

	p->totals.events += event_is_call(ev->kind);
	switch (ev->kind) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
		return on_alloc(p, m, err);
	case EVENT_FREE:
	case EVENT_REALLOC_BEGIN:
		return on_release(p, m, err);
	case EVENT_REALLOC_END:
		return on_realloc_end(p, m, err);
	case EVENT_REALLOC_CANCEL:
	case EVENT_REALLOC_FREED:
	case EVENT_REALLOC_UNTRACKED:
		return on_realloc_other(p, m, err);
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
		return stacks_define(p->stacks, m->lane, ev, m->generation, err);
	default:
		on_rare(p, m);
		return 0;
	}
}

static void finish_totals(struct replay *p)
{
	const struct recording *r = p->rec;

	for (size_t i = 0; i < r->n_lanes; i++) {
		const struct block_ref *last =
			&r->block[r->lane[i].first_block + r->lane[i].n_blocks - 1];

		p->totals.lost_events +=
			last->lost_before > p->lane_lost[i] ? last->lost_before : p->lane_lost[i];
	}
	p->totals.stacks = stacks_count_used(p->stacks);
	p->totals.deepest_stack = stacks_deepest_used(p->stacks);
}

static int tell_progress(struct replay *p, struct err *err)
{
	if (!p->callbacks.on_progress)
		return 0;
	return p->callbacks.on_progress(p->callbacks.user, merge_n_blocks_read(p->merge), err);
}

int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct err *err)
{
	struct merge_event m = {0};
	struct replay p;
	uint64_t n_until_progress = EVENTS_PER_PROGRESS;
	int n = replay_init(&p, r, callbacks, err);

	while (n == 0) {
		n = merge_next(p.merge, &m, err);
		if (n <= 0)
			break;
		if (unlikely(--n_until_progress == 0)) {
			n_until_progress = EVENTS_PER_PROGRESS;
			n = tell_progress(&p, err);
			if (n < 0)
				break;
		}
		if (unlikely(m.is_after_gap))
			n = pairing_gap(&p.pairing, m.lane, err);
		if (n >= 0)
			n = pairing_advance(&p.pairing, m.order_ticks, err);
		if (n >= 0)
			n = on_event(&p, &m, err);
	}
	if (n == 0)
		n = pairing_finish(&p.pairing, err);
	if (n == 0) {
		p.totals.last_ticks = m.order_ticks;
		finish_totals(&p);
		*ret = p.totals;
		if (p.callbacks.on_end)
			n = p.callbacks.on_end(p.callbacks.user, p.stacks, &p.pairing.live,
					       &p.totals, err);
	}
	replay_fini(&p);
	return n;
}
