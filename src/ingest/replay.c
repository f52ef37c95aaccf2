/* ingest/replay.c - see replay.h. Hands the calls to pairing.h and counts them. */
#include "ingest/replay_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "ingest/pairing_fast.h"

/* Prefetching: the slot, the block and the row that a call needs are prefetched so many calls
 * before it. */
#define PREFETCH_SLOT 36
#define PREFETCH_BLOCK 24
#define PREFETCH_ROW 12
#define SMALL_SLOTS (1u << 14)

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
	p->lane = calloc(r->n_lanes + 1, sizeof(*p->lane));
	p->n_lost = calloc(r->n_lanes + 1, sizeof(*p->n_lost));
	if (!p->thread || !p->lane || !p->n_lost)
		return err_set_memory(err, r->n_lanes * sizeof(*p->thread));
	for (size_t i = 0; i < r->n_lanes; i++) {
		if (i > 0 && r->lane[i].thread != r->lane[i - 1].thread)
			n_threads++;
		p->lane[i].thread = &p->thread[n_threads];
		p->lane[i].thread_number = r->lane[i].thread;
	}
	p->pairing.live.folder = p->callbacks.temp_folder;
	if (r->header.flags & FORMAT_LATE_START || r->metadata.process.parent_pid != 0 ||
	    r->n_missing_pieces > 0)
		pairing_expect_unknown(&p->pairing, false);
	return stream_create(r, p->callbacks.alloc_sums, p->callbacks.temp_folder, &p->stream, err);
}

static void replay_fini(struct replay *p)
{
	stream_destroy(p->stream);
	pairing_fini(&p->pairing);
	free(p->thread);
	free(p->lane);
	free(p->n_lost);
}

static void set_large_size(struct live_block *ret, const struct event *ev)
{
	ret->size_bytes = ev->size_bytes;
	ret->extra_bytes = stream_extra_bytes(ev);
}

/* Fills in the block of an allocation as it arrives, field by field: a copy of a struct that was
 * just written would wait for the writes. */
static ALWAYS_INLINE void make_block(struct replay *p, const struct stream_batch *b, size_t i,
				     struct live_block *ret)
{
	const struct event_compact *c = &b->call[i];
	const struct replay_lane *lane = &p->lane[c->lane];

	ret->addr = c->addr;
	ret->size_bytes = c->size_bytes;
	ret->extra_bytes = c->extra_bytes;
	if (unlikely(c->flags & STREAM_WHOLE))
		set_large_size(ret, &b->rare[c->size_bytes]);
	ret->at_ns = c->at_ns;
	ret->ordinal = lane->thread->n_allocs++;
	ret->tag = 0;
	ret->chain = 0;
	ret->thread = lane->thread_number;
	ret->stack = c->stack;
	ret->kind = c->kind;
	ret->allocator = event_compact_allocator(c);
}

/* Reports an allocation before it is paired. */
static ALWAYS_INLINE void report_arrival(struct replay *p, struct live_block *block)
{
	p->totals.bytes_allocated += block->size_bytes;
	if (p->callbacks.on_arrival)
		block->tag = p->callbacks.on_arrival(p->callbacks.user, block);
}

static ALWAYS_INLINE void make_release(struct replay *p, const struct event_compact *c,
				       struct replay_release *ret)
{
	const struct replay_lane *lane = &p->lane[c->lane];

	*ret = (struct replay_release){
		.how = REPLAY_FREED,
		.allocator = event_compact_allocator(c),
		.at_ns = c->at_ns,
		.ordinal = lane->thread->n_releases++,
		.n_allocs = lane->thread->n_allocs,
		.thread = lane->thread_number,
		.stack = c->stack,
	};
}

/* Before a call that pairing_fast.h may not take. */
static int arrive(struct replay *p, const struct event_compact *c, struct err *err)
{
	if (c->flags & STREAM_AFTER_GAP)
		pairing_gap(&p->pairing, c->lane);
	return pairing_advance(&p->pairing, c->at_ns, err);
}

/* An allocation at address 0, which only a damaged recording has, makes no block. It counts in the
 * ordinals of its thread. */
static int skip_block(struct replay *p, const struct event_compact *c)
{
	p->lane[c->lane].thread->n_allocs++;
	return 0;
}

/* ---- the slow path: see pairing.h ---- */

static int on_alloc(struct replay *p, const struct stream_batch *b, size_t i, struct err *err)
{
	const struct event_compact *c = &b->call[i];
	struct live_block block;

	if (unlikely(c->addr == 0))
		return skip_block(p, c);
	p->totals.allocations++;
	make_block(p, b, i, &block);
	report_arrival(p, &block);
	return pairing_alloc(&p->pairing, i, &block, err);
}

static int on_free(struct replay *p, const struct stream_batch *b, size_t i, struct err *err)
{
	struct replay_release release;

	p->totals.frees++;
	make_release(p, &b->call[i], &release);
	return pairing_free(&p->pairing, i, &release, err);
}

static int on_realloc_begin(struct replay *p, const struct stream_batch *b, size_t i,
			    struct err *err)
{
	struct replay_release release;

	make_release(p, &b->call[i], &release);
	return pairing_realloc_begin(&p->pairing, i, &release, err);
}

static int on_realloc_end(struct replay *p, const struct stream_batch *b, size_t i, struct err *err)
{
	const struct event_compact *c = &b->call[i];
	struct live_block block;

	p->n_realloc_ends++;
	if (c->addr == 0)
		return skip_block(p, c);
	p->totals.reallocations++;
	make_block(p, b, i, &block);
	report_arrival(p, &block);
	return pairing_realloc_end(&p->pairing, i, &block, err);
}

/* The kinds that end a realloc without a new block. */
static int on_realloc_other(struct replay *p, const struct event_compact *c, struct err *err)
{
	switch (c->kind) {
	case EVENT_REALLOC_CANCEL:
		p->totals.failed_reallocations++;
		return pairing_realloc_cancel(&p->pairing, c->lane, err);
	case EVENT_REALLOC_FREED:
		p->totals.frees++;
		pairing_realloc_release_old(&p->pairing, c->lane, REPLAY_REALLOC_FREED);
		return 0;
	default:
		p->totals.untracked_reallocations++;
		pairing_realloc_release_old(&p->pairing, c->lane, REPLAY_REALLOC_UNTRACKED);
		return 0;
	}
}

static void on_switch(struct replay *p, bool is_on)
{
	if (is_on)
		return;
	p->totals.pauses++;
	pairing_expect_unknown(&p->pairing, false); /* for good: such blocks may live long */
}

/* Allocations that the recorder left out, and their frees. */
static void on_culled(struct replay *p, const struct event_compact *c, const struct event *ev)
{
	struct replay_totals *t = &p->totals;
	uint64_t n = ev->field[CULLED_N];

	/* a mark: the next free is not directly behind the allocation of its block */
	p->lane[c->lane].thread->n_allocs += n == 0;
	t->bytes_allocated += ev->field[CULLED_BYTES];
	t->culled_bytes += ev->field[CULLED_BYTES];
	if (ev->kind == EVENT_CULLED) {
		t->allocations += n;
		t->frees += n;
		t->culled_allocations += n;
	} else {
		t->reallocations += n;
		t->culled_reallocations += n;
	}
}

static void on_rare(struct replay *p, const struct event_compact *c, const struct event *ev)
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
	case EVENT_CULLED:
	case EVENT_CULLED_REALLOCS:
		on_culled(p, c, ev);
		break;
	case EVENT_LOST:
		p->n_lost[c->lane] += ev->field[0];
		pairing_expect_unknown(&p->pairing, true);
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

static int on_call(struct replay *p, const struct stream_batch *b, size_t i, struct err *err)
{
	const struct event_compact *c = &b->call[i];

	p->pairing.now_ns = c->at_ns;
	switch (c->kind) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED:
		return on_alloc(p, b, i, err);
	case EVENT_FREE:
		return on_free(p, b, i, err);
	case EVENT_REALLOC_BEGIN:
		return on_realloc_begin(p, b, i, err);
	case EVENT_REALLOC_END:
		return on_realloc_end(p, b, i, err);
	case EVENT_REALLOC_CANCEL:
	case EVENT_REALLOC_FREED:
	case EVENT_REALLOC_UNTRACKED:
		return on_realloc_other(p, c, err);
	default:
		on_rare(p, c, &b->rare[c->size_bytes]);
		return 0;
	}
}

/* ---- the fast path: see pairing_fast.h ---- */

static ALWAYS_INLINE bool run_alloc(struct replay *p, struct pairing_run *r,
				    const struct stream_batch *b, size_t i)
{
	struct live_block *block;

	if (unlikely(b->call[i].addr == 0))
		return false;
	block = pairing_run_add(r, b, i);
	if (unlikely(!block))
		return false;
	p->totals.allocations++;
	make_block(p, b, i, block);
	report_arrival(p, block);
	pairing_run_count_alloc(r, block);
	if (p->callbacks.on_alloc)
		p->callbacks.on_alloc(p->callbacks.user, block, NULL);
	return true;
}

static ALWAYS_INLINE bool run_free(struct replay *p, struct pairing_run *r,
				   const struct stream_batch *b, size_t i)
{
	const struct event_compact *c = &b->call[i];
	size_t slot = pairing_run_find(&p->pairing, r, b, i, p->lane[c->lane].thread_number);
	struct replay_release release;
	const struct live_block *block;

	if (unlikely(slot == SIZE_MAX))
		return false;
	block = live_at(&r->live, slot);
	p->totals.frees++;
	make_release(p, c, &release);
	pairing_run_count_release(r, block, &release);
	if (p->callbacks.on_free)
		p->callbacks.on_free(p->callbacks.user, block, &release);
	live_remove_slot(&r->live, slot);
	return true;
}

/* Takes a realloc: its BEGIN is call i, its END is the next call. */
static ALWAYS_INLINE bool run_realloc(struct replay *p, struct pairing_run *r,
				      const struct stream_batch *b, size_t i)
{
	const struct event_compact *c = &b->call[i];
	struct replay_release release;
	struct live_block block, old, *added;

	if (!pairing_run_has_realloc(r, b, i))
		return false;
	make_release(p, c, &release);
	release.how = REPLAY_REALLOCATED;
	release.at_ns = c[1].at_ns; /* the old block lived until the call returned */
	p->n_realloc_ends++;
	p->totals.reallocations++;
	make_block(p, b, i + 1, &block);
	report_arrival(p, &block);
	added = pairing_run_realloc(r, c, &release, &old);
	if (p->callbacks.on_free)
		p->callbacks.on_free(p->callbacks.user, &old, &release);
	*added = block;
	pairing_run_count_alloc(r, added);
	if (p->callbacks.on_alloc)
		p->callbacks.on_alloc(p->callbacks.user, added, &old);
	return true;
}

/* Prefetches for the calls after call i. */
static ALWAYS_INLINE void prefetch_ahead(struct replay *p, const struct live *live,
					 const struct stream_batch *b, size_t i)
{
	const struct live_block *block;

	if (i + PREFETCH_SLOT < b->n)
		live_prefetch_slot(live, b->call[i + PREFETCH_SLOT].addr);
	if (i + PREFETCH_BLOCK < b->n)
		live_prefetch_block(live, b->call[i + PREFETCH_BLOCK].addr);
	if (i + PREFETCH_ROW >= b->n || !p->callbacks.on_prefetch)
		return;
	block = live_find_hot(live, b->call[i + PREFETCH_ROW].addr);
	if (block)
		p->callbacks.on_prefetch(p->callbacks.user, block);
}

/* Takes calls from i on as long as the fast path may take them; pairing is quiet. Returns the first
 * call that it did not take. The last call of the batch is never taken: the calls after it are in
 * another batch. */
static size_t run_calls(struct replay *p, const struct stream_batch *b, size_t i)
{
	struct pairing_run r;
	size_t end = i + pairing_run_begin(&p->pairing, &r);
	bool is_small = r.live.n_slots <= SMALL_SLOTS; /* it is in the cache anyway */

	end = end < b->n ? end : b->n - 1;
	for (; i < end; i++) {
		const struct event_compact *c = &b->call[i];

		if (!is_small)
			prefetch_ahead(p, &r.live, b, i);
		if (unlikely(c->flags & STREAM_SPECIAL))
			break;
		if (c->kind == EVENT_FREE) {
			if (!run_free(p, &r, b, i))
				break;
		} else if (c->kind < EVENT_REALLOC_BEGIN) {
			if (!run_alloc(p, &r, b, i))
				break;
		} else if (c->kind == EVENT_REALLOC_BEGIN && i + 1 < end) {
			if (!run_realloc(p, &r, b, i))
				break;
			i++;
		} else {
			break;
		}
	}
	pairing_run_end(&p->pairing, &r);
	return i;
}

_Static_assert(EVENT_MALLOC < EVENT_REALLOC_BEGIN && EVENT_CALLOC < EVENT_REALLOC_BEGIN &&
		       EVENT_ALIGNED < EVENT_REALLOC_BEGIN,
	       "run_calls() asks so for an allocation");

/* Takes call i, and calls after it if the fast path takes them. Returns the number of calls taken,
 * or an error. */
static int take_calls(struct replay *p, const struct stream_batch *b, size_t i, struct err *err)
{
	const struct event_compact *c = &b->call[i];
	size_t n_taken = 0;
	int n = 0;

	if (c->flags & STREAM_AFTER_GAP || !pairing_is_quiet(&p->pairing))
		n = arrive(p, c, err);
	if (n == 0 && pairing_is_quiet(&p->pairing))
		n_taken = run_calls(p, b, i) - i;
	if (n == 0 && n_taken == 0) {
		n = on_call(p, b, i, err);
		n_taken = 1;
	}
	return n < 0 ? n : (int)n_taken;
}

static int replay_batch(struct replay *p, const struct stream_batch *b,
			const struct stream_batch *then, struct err *err)
{
	int n = 0;

	pairing_begin_batch(&p->pairing, b, then);
	if (p->callbacks.on_progress)
		n = p->callbacks.on_progress(p->callbacks.user, b->n_blocks_read, b->n_stacks, err);
	for (size_t i = 0; n >= 0 && i < b->n; i += (size_t)n)
		n = take_calls(p, b, i, err);
	pairing_pass_steps(&p->pairing);
	return n < 0 ? n : 0;
}

static void finish_totals(struct replay *p)
{
	const struct recording *r = p->rec;
	const struct stream_counts *counts = stream_counts(p->stream);

	for (size_t i = 0; i < r->n_lanes; i++) {
		const struct block_ref *first = &r->block[r->lane[i].first_block];
		uint64_t n_lost = first[r->lane[i].n_blocks - 1].lost_before;

		if (r->piece[first->piece].header.piece > 1) /* the rest was lost in other pieces */
			n_lost -= n_lost > first->lost_before ? first->lost_before : n_lost;
		p->totals.lost_events += n_lost > p->n_lost[i] ? n_lost : p->n_lost[i];
	}
	p->totals.events = counts->calls - p->n_realloc_ends;
	p->totals.guessed = counts->guessed;
	memcpy(p->totals.truncated, counts->truncated, sizeof(p->totals.truncated));
	p->totals.last_ticks = counts->last_ticks;
	p->totals.stacks = stacks_count_used(stream_stacks(p->stream));
	p->totals.deepest_stack = stacks_deepest_used(stream_stacks(p->stream));
}

/* Takes batches until the stream has no more. */
static int replay_batches(struct replay *p, struct err *err)
{
	const struct stream_batch *batch, *then;
	int n;

	while ((n = stream_next(p->stream, &batch, &then, err)) > 0) {
		n = replay_batch(p, batch, then, err);
		if (n < 0)
			break;
	}
	return n;
}

int replay_create(struct recording *r, const struct replay_callbacks *callbacks,
		  struct replay **ret, struct err *err)
{
	struct replay *p = calloc(1, sizeof(*p));
	int n = p ? replay_init(p, r, callbacks, err) : err_set_memory(err, sizeof(*p));

	if (n < 0) {
		replay_destroy(p);
		return n;
	}
	*ret = p;
	return 0;
}

void replay_destroy(struct replay *p)
{
	if (p)
		replay_fini(p);
	free(p);
}

int replay_to_checkpoint(struct replay *p, const struct checkpoint_pos *pos, struct err *err)
{
	int n;

	stream_resume(p->stream, pos);
	n = replay_batches(p, err);
	if (n == 0 && stream_last_ns(p->stream) > pos->at_ns)
		return err_set(err, ERR_REFUSED, "times go back");
	return n;
}

int replay_finish(struct replay *p, struct replay_totals *ret, struct stacks **stacks,
		  struct err *err)
{
	int n;

	stream_resume(p->stream, NULL);
	n = replay_batches(p, err);
	if (n == 0)
		n = pairing_finish(&p->pairing, err);
	if (n == 0) {
		finish_totals(p);
		*ret = p->totals;
		if (p->callbacks.on_end)
			n = p->callbacks.on_end(p->callbacks.user, stream_stacks(p->stream),
						&p->pairing.live, &p->totals, err);
	}
	if (n == 0 && stacks)
		*stacks = stream_take_stacks(p->stream);
	return n;
}

int replay_run(struct recording *r, const struct replay_callbacks *callbacks,
	       struct replay_totals *ret, struct stacks **stacks, struct err *err)
{
	struct replay *p = NULL;
	int n = replay_create(r, callbacks, &p, err);

	if (n == 0)
		n = replay_finish(p, ret, stacks, err);
	replay_destroy(p);
	return n;
}

const struct stacks *replay_stacks(const struct replay *p)
{
	return stream_stacks(p->stream);
}
