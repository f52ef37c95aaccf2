/* ingest/pairing_fast.h - pairing for events about which there is no doubt: nearly all.
 *
 * pairing.h holds back events that may be in the wrong order, and lets steps wait in a queue until
 * nothing can come before them. While nothing is held back and no step waits, the following events
 * are paired and reported at once, exactly as pairing.c would:
 *
 * - an allocation of an address that is not live, if no release comes in the same nanosecond (such
 *   a release would count first);
 * - a free of a block that is live, later than its allocation, by the thread that made the block and
 *   to the allocator that gave it;
 * - such a free by another thread, unless the next call of the address within the window is a
 *   release too (lookahead.h);
 * - a realloc whose END directly follows its BEGIN, of a block that is live, to an address that is
 *   not.
 *
 * Such events come in runs. During a run, all that the events change is in struct pairing_run, a
 * local variable of one function of replay.c into which these functions are inlined. The compiler
 * keeps the struct in registers, and need not store, load and check its members for each event: that
 * was half of the work. For this reason the functions are inline and some are longer than 10 lines.
 *
 *	n = pairing_run_begin(p, &r);			the pairing is quiet
 *	for at most n calls of the batch:
 *		malloc	pairing_run_add(), fill in the block, pairing_run_count_alloc()
 *		free	pairing_run_find(), pairing_run_count_release(), live_remove_slot()
 *		realloc	pairing_run_has_realloc(), pairing_run_realloc(), fill in the block,
 *			pairing_run_count_alloc()
 *		a function refuses: leave the loop
 *	pairing_run_end(p, &r);
 *
 * A function that returns false, NULL or SIZE_MAX has changed nothing: the run must end, and
 * pairing.c takes the event. Private to replay.c. Threads: one.
 */
#ifndef INGEST_PAIRING_FAST_H
#define INGEST_PAIRING_FAST_H

#include "ingest/pairing_i.h"

/* Is nothing held back, and does no step wait? Only then may a run begin. */
static inline bool pairing_is_quiet(const struct pairing *p)
{
	return p->n_pending == 0 && p->first_queued == p->end_queued;
}

/* ---- runs ---- */

struct pairing_run {
	struct live live; /* replaces pairing.live until the run ends */
	struct replay_step *step; /* where the next step goes */
	uint64_t live_bytes, peak_bytes, peak_ns;
	uint64_t n_allocs, n_releases; /* of this run */
};

/* Begins a run; the pairing is quiet. Returns the number of calls that the run may take at most,
 * maybe 0. */
static ALWAYS_INLINE size_t pairing_run_begin(const struct pairing *p, struct pairing_run *r)
{
	size_t n_steps = PAIRING_N_STEPS - p->n_steps, n_adds = live_room(&p->live);

	r->live = p->live;
	r->step = &p->step[p->n_steps];
	r->live_bytes = p->totals->live_bytes;
	r->peak_bytes = p->totals->peak_bytes;
	r->peak_ns = p->totals->peak_ns;
	r->n_allocs = r->n_releases = 0;
	return n_adds < n_steps ? n_adds : n_steps;
}

/* Ends a run: writes what it changed back to p. */
static ALWAYS_INLINE void pairing_run_end(struct pairing *p, const struct pairing_run *r)
{
	p->live = r->live;
	p->n_steps = (size_t)(r->step - p->step);
	p->totals->live_bytes = r->live_bytes;
	p->totals->peak_bytes = r->peak_bytes;
	p->totals->peak_ns = r->peak_ns;
	p->totals->live_count += r->n_allocs - r->n_releases;
	if (p->n_steps == PAIRING_N_STEPS)
		pairing_pass_steps(p);
}

/* Events that pairing_has_rival() looks at. With a coarse clock many events may have the same time;
 * then pairing.c is faster. */
#define PAIRING_MAX_LOOKED_AT 64u

/* Does a release follow call i in the same nanosecond? Also true when the batch ends, or
 * PAIRING_MAX_LOOKED_AT is reached, before a later time is seen. */
static inline bool pairing_has_rival(const struct stream_batch *b, size_t i)
{
	for (size_t k = i + 1; k < b->n && k - i < PAIRING_MAX_LOOKED_AT; k++) {
		if (b->call[k].at_ns != b->call[i].at_ns)
			return false;
		if (b->call[k].kind & EVENT_RARE || event_is_release(b->call[k].kind))
			return true;
	}
	return true;
}

/* Makes room in the table for the block that call i allocates, at an address that is not 0. The
 * caller fills in the block and then calls pairing_run_count_alloc(). NULL: the run must end. */
static ALWAYS_INLINE struct live_block *pairing_run_add(struct pairing_run *r,
							const struct stream_batch *b, size_t i)
{
	size_t slot;

	if (unlikely(pairing_has_rival(b, i)))
		return NULL;
	slot = live_find_slot(&r->live, b->call[i].addr);
	if (unlikely(r->live.slot[slot].addr != 0) || live_is_maybe_cold(&r->live, b->call[i].addr))
		return NULL;
	return live_put(&r->live, slot, b->call[i].addr);
}

/* Counts an allocation that is in the table. */
static ALWAYS_INLINE void pairing_run_count_alloc(struct pairing_run *r,
						  const struct live_block *block)
{
	struct replay_step *to = r->step++;

	to->at_ns = block->at_ns;
	to->size_bytes = block->size_bytes;
	to->lifetime_ns = 0;
	to->stack = block->stack;
	to->release_stack = 0;
	to->thread = block->thread;
	to->release_thread = 0;
	to->flags = 0;
	r->n_allocs++;
	r->live_bytes += block->size_bytes;
	if (unlikely(pairing_is_peak(r->live_bytes, r->peak_bytes))) {
		r->peak_bytes = r->live_bytes;
		r->peak_ns = block->at_ns;
		to->flags = REPLAY_STEP_PEAK;
	}
}

/* Counts a release. The block may still be in the table. */
static ALWAYS_INLINE void pairing_run_count_release(struct pairing_run *r,
						    const struct live_block *block,
						    const struct replay_release *release)
{
	pairing_make_release_step(r->step++, block, release);
	r->n_releases++;
	r->live_bytes -= block->size_bytes;
}

/* Finds the slot of the block that call i of thread frees. The caller counts the release and takes
 * the block out of the table. SIZE_MAX: the run must end. */
static ALWAYS_INLINE size_t pairing_run_find(struct pairing *p, struct pairing_run *r,
					     const struct stream_batch *b, size_t i,
					     uint32_t thread)
{
	size_t slot = live_find_slot(&r->live, b->call[i].addr);
	const struct live_block *block = live_at(&r->live, slot);

	if (unlikely(r->live.slot[slot].addr == 0 || block->at_ns >= b->call[i].at_ns ||
		     block->allocator != event_compact_allocator(&b->call[i])))
		return SIZE_MAX;
	if (block->thread != thread && unlikely(!pairing_is_decided(p, i)))
		return SIZE_MAX;
	return slot;
}

/* May this run take the realloc that begins with call i, BEGIN and END together? Call i + 1 is in
 * the batch. */
static ALWAYS_INLINE bool pairing_run_has_realloc(const struct pairing_run *r,
						  const struct stream_batch *b, size_t i)
{
	const struct event_compact *begin = &b->call[i], *end = begin + 1;
	size_t slot;

	if (end->kind != EVENT_REALLOC_END || end->lane != begin->lane ||
	    end->flags & STREAM_SPECIAL || end->addr == 0 || pairing_has_rival(b, i + 1))
		return false;
	slot = live_find_slot(&r->live, begin->addr);
	if (r->live.slot[slot].addr == 0 || live_at(&r->live, slot)->at_ns >= end->at_ns ||
	    live_at(&r->live, slot)->allocator != event_compact_allocator(begin))
		return false;
	return end->addr == begin->addr ||
	       (r->live.slot[live_find_slot(&r->live, end->addr)].addr == 0 &&
		!live_is_maybe_cold(&r->live, end->addr));
}

/* Takes a realloc for which pairing_run_has_realloc() is true: copies the old block to *old, counts
 * its release, and returns the block of the END in the table, to be filled in. */
static ALWAYS_INLINE struct live_block *pairing_run_realloc(struct pairing_run *r,
							    const struct event_compact *begin,
							    const struct replay_release *release,
							    struct live_block *old)
{
	size_t slot = live_find_slot(&r->live, begin->addr);

	*old = *live_at(&r->live, slot);
	pairing_run_count_release(r, old, release);
	if (begin[1].addr == begin->addr)
		return live_at(&r->live, slot);
	live_remove_slot(&r->live, slot);
	return live_put(&r->live, live_find_slot(&r->live, begin[1].addr), begin[1].addr);
}

#endif
