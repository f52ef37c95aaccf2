/* ingest/pairing_fast.h - the way nearly all events go through pairing.c, without a detour.
 *
 * pairing.c holds back what might be in the wrong order, and lets the steps of time (replay_step) wait
 * until nothing can come before them. Here is what needs neither, while nothing is held back and no
 * step waits: an event that fits the state of its address counts at once, and gives exactly what the
 * long way would give:
 *
 * - an allocation of an address that is not live, if no release comes in the same nanosecond (it
 *   would count first);
 * - a release of one that is live, later than its birth, by the thread that made it;
 * - a realloc whose END follows its BEGIN, of a block that is live;
 * - a free by another thread, unless the next call of the address within the window is a release
 *   too (ahead.h).
 *
 * Such events come in runs. During a run all that they change is in struct pairing_run, a variable
 * of one function into which all of this is inlined: what is in registers need not be stored, loaded
 * and checked for each event, which was half of the work.
 *
 * Functions that say false, or NULL, have done nothing: the long way must be taken, after the run.
 */
#ifndef INGEST_PAIRING_FAST_H
#define INGEST_PAIRING_FAST_H

#include "ingest/pairing.h"

static inline unsigned pairing_bucket(uint64_t addr)
{
	return (unsigned)((addr >> 4) * 0x9e3779b97f4a7c15ull >> 56) % PAIRING_N_BUCKETS;
}

/* Is nothing held back, and does no step wait? */
static inline bool pairing_is_quiet(const struct pairing *p)
{
	return p->n_pending == 0 && p->first_waiting == p->end_waiting;
}

/* Is the release of call i, of a block that another thread made, for the one that is live now? If
 * another release comes next, it may be for the block after it. */
static inline bool pairing_is_decided(struct pairing *p, size_t i)
{
	return ahead_find(p->ahead, i, p->window_ns) != AHEAD_RELEASE;
}

/* Steps are filled in field by field: a copy of a struct that was just written would wait for the
 * writes. */
static inline void pairing_make_end(struct replay_step *to, const struct live_block *block,
				    const struct replay_release *release)
{
	bool is_temporary = release->how != REPLAY_REPLACED && release->thread == block->thread &&
			    release->n_allocs == block->ordinal + 1;

	to->at_ns = release->at_ns;
	to->size_bytes = block->size_bytes;
	to->lifetime_ns = release->at_ns - block->at_ns;
	to->stack = block->stack;
	to->release_stack = release->stack;
	to->thread = block->thread;
	to->release_thread = release->thread;
	to->flags = REPLAY_STEP_RELEASE | (is_temporary ? REPLAY_STEP_TEMPORARY : 0);
}

/* ---- runs ---- */

struct pairing_run {
	struct live live; /* that of the pairing, meanwhile */
	struct replay_step *step; /* the next one */
	uint64_t live_bytes, peak_bytes, peak_ns;
	uint64_t n_births, n_ends; /* so far */
};

/* A run begins; the pairing is quiet. The number of calls that it may have at most, maybe 0. */
static ALWAYS_INLINE size_t pairing_run_begin(const struct pairing *p, struct pairing_run *r)
{
	size_t n_steps = PAIRING_N_STEPS - p->n_steps, n_adds = live_room(&p->live);

	r->live = p->live;
	r->step = &p->step[p->n_steps];
	r->live_bytes = p->totals->live_bytes;
	r->peak_bytes = p->totals->peak_bytes;
	r->peak_ns = p->totals->peak_ns;
	r->n_births = r->n_ends = 0;
	return n_adds < n_steps ? n_adds : n_steps;
}

static ALWAYS_INLINE void pairing_run_end(struct pairing *p, const struct pairing_run *r)
{
	p->live = r->live;
	p->live.n_since_look += (uint32_t)r->n_births;
	p->n_steps = (size_t)(r->step - p->step);
	p->totals->live_bytes = r->live_bytes;
	p->totals->peak_bytes = r->peak_bytes;
	p->totals->peak_ns = r->peak_ns;
	p->totals->live_count += r->n_births - r->n_ends;
	if (p->n_steps == PAIRING_N_STEPS)
		pairing_pass_steps(p);
}

/* How many events are looked at to decide. Beyond, with a clock that hardly moves, the long way is the
 * shorter one. */
#define PAIRING_MAX_LOOKED_AT 64u

/* Does a release follow call i in the same nanosecond, or could it, beyond what can be seen? */
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

/* The place in the table for the block that call i makes, at an address that is not 0, to be filled in
 * and then told to pairing_run_birth(). */
static ALWAYS_INLINE struct live_block *pairing_run_place(struct pairing_run *r,
							  const struct stream_batch *b, size_t i)
{
	size_t slot;

	if (unlikely(pairing_has_rival(b, i)))
		return NULL;
	slot = live_find_slot(&r->live, b->call[i].addr);
	if (unlikely(r->live.slot[slot].addr != 0))
		return NULL;
	return live_put(&r->live, slot, b->call[i].addr);
}

static ALWAYS_INLINE void pairing_run_birth(struct pairing_run *r, const struct live_block *block)
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
	r->n_births++;
	r->live_bytes += block->size_bytes;
	if (unlikely(r->live_bytes > r->peak_bytes)) {
		r->peak_bytes = r->live_bytes;
		r->peak_ns = block->at_ns;
		to->flags = REPLAY_STEP_PEAK;
	}
}

static ALWAYS_INLINE void pairing_run_count_end(struct pairing_run *r,
						const struct live_block *block,
						const struct replay_release *release)
{
	pairing_make_end(r->step++, block, release);
	r->n_ends++;
	r->live_bytes -= block->size_bytes;
}

/* The slot of the block that call i frees, which is then to be told to pairing_run_count_end() and taken out; or
 * SIZE_MAX. */
static ALWAYS_INLINE size_t pairing_run_find(struct pairing *p, struct pairing_run *r,
					     const struct stream_batch *b, size_t i,
					     uint32_t thread)
{
	size_t slot = live_find_slot(&r->live, b->call[i].addr);
	const struct live_block *block = live_at(&r->live, slot);

	if (unlikely(r->live.slot[slot].addr == 0 || block->at_ns >= b->call[i].at_ns))
		return SIZE_MAX;
	if (block->thread != thread && unlikely(!pairing_is_decided(p, i)))
		return SIZE_MAX;
	return slot;
}

/* Can the realloc that begins with call i be taken whole? */
static ALWAYS_INLINE bool pairing_run_has_realloc(const struct pairing_run *r,
						  const struct stream_batch *b, size_t i)
{
	const struct event_compact *begin = &b->call[i], *end = begin + 1;
	size_t slot;

	if (end->kind != EVENT_REALLOC_END || end->lane != begin->lane || end->flags ||
	    end->addr == 0 || pairing_has_rival(b, i + 1))
		return false;
	slot = live_find_slot(&r->live, begin->addr);
	if (r->live.slot[slot].addr == 0 || live_at(&r->live, slot)->at_ns >= end->at_ns)
		return false;
	return end->addr == begin->addr ||
	       r->live.slot[live_find_slot(&r->live, end->addr)].addr == 0;
}

/* pairing_run_has_realloc() said so. Counts the end of the block of begin, which is copied to old, and
 * gives the place of the one that its END makes. */
static ALWAYS_INLINE struct live_block *pairing_run_realloc(struct pairing_run *r,
							    const struct event_compact *begin,
							    const struct replay_release *release,
							    struct live_block *old)
{
	size_t slot = live_find_slot(&r->live, begin->addr);

	*old = *live_at(&r->live, slot);
	pairing_run_count_end(r, old, release);
	if (begin[1].addr == begin->addr)
		return live_at(&r->live, slot);
	live_remove_slot(&r->live, slot);
	return live_put(&r->live, live_find_slot(&r->live, begin[1].addr), begin[1].addr);
}

#endif
