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
 * Each function says false, and has done nothing, when the long way must be taken.
 */
#ifndef INGEST_PAIRING_FAST_H
#define INGEST_PAIRING_FAST_H

#include "ingest/pairing.h"

static inline unsigned pairing_bucket(uint64_t addr)
{
	return (unsigned)((addr >> 4) * 0x9e3779b97f4a7c15ull >> 56) % PAIRING_N_BUCKETS;
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
	to->extra_bytes = block->extra_bytes;
	to->flags = REPLAY_STEP_RELEASE | (is_temporary ? REPLAY_STEP_TEMPORARY : 0);
}

/* The step in p->step[p->n_steps] is the next in time: all before it are counted. */
static inline void pairing_count(struct pairing *p)
{
	struct replay_totals *t = p->totals;
	struct replay_step *step = &p->step[p->n_steps];

	if (step->flags & REPLAY_STEP_RELEASE) {
		t->live_count--;
		t->live_bytes -= step->size_bytes;
	} else {
		t->live_count++;
		t->live_bytes += step->size_bytes;
		if (t->live_bytes > t->peak_bytes) {
			t->peak_bytes = t->live_bytes;
			t->peak_ns = step->at_ns;
			step->flags |= REPLAY_STEP_PEAK;
		}
	}
	if (unlikely(++p->n_steps == PAIRING_N_STEPS))
		pairing_pass_steps(p);
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

/* The place in the table for the block that call i makes (at an address that is not 0), to be filled in and then told to
 * pairing_fast_alloc(). NULL: the long way. */
static ALWAYS_INLINE struct live_block *pairing_fast_place(struct pairing *p,
							   const struct stream_batch *b, size_t i)
{
	const struct event_plain *c = &b->call[i];
	size_t slot;

	if (!pairing_is_quiet(p) || pairing_has_rival(b, i) || !live_has_room(&p->live))
		return NULL;
	slot = live_find_slot(&p->live, c->addr);
	if (unlikely(p->live.slot[slot].addr != 0))
		return NULL;
	return live_put(&p->live, slot, c->addr);
}

/* The block is in its place; old: the one that a realloc replaced by it, or NULL. */
static ALWAYS_INLINE void pairing_fast_alloc(struct pairing *p, struct live_block *place,
					     const struct live_block *old)
{
	struct replay_step *to = &p->step[p->n_steps];

	to->at_ns = place->at_ns;
	to->size_bytes = place->size_bytes;
	to->lifetime_ns = 0;
	to->stack = place->stack;
	to->release_stack = 0;
	to->thread = place->thread;
	to->release_thread = 0;
	to->extra_bytes = place->extra_bytes;
	to->flags = 0;
	pairing_count(p);
	if (p->callbacks->on_alloc)
		p->callbacks->on_alloc(p->callbacks->user, place, old);
}

/* The release is that of call i. */
static ALWAYS_INLINE bool pairing_fast_free(struct pairing *p, const struct stream_batch *b,
					    size_t i, const struct replay_release *release)
{
	const struct live_block *block;
	size_t slot;

	if (!pairing_is_quiet(p) || p->live.n == 0)
		return false;
	slot = live_find_slot(&p->live, b->call[i].addr);
	block = live_at(&p->live, slot);
	if (unlikely(p->live.slot[slot].addr == 0 || block->at_ns >= release->at_ns))
		return false;
	if (block->thread != release->thread && unlikely(!pairing_is_decided(p, i)))
		return false;
	pairing_make_end(&p->step[p->n_steps], block, release);
	pairing_count(p);
	if (p->callbacks->on_free)
		p->callbacks->on_free(p->callbacks->user, block, release);
	live_remove_slot(&p->live, slot);
	return true;
}

/* Can the realloc that begins with call i be taken whole? */
static ALWAYS_INLINE bool pairing_is_fast_realloc(struct pairing *p, const struct stream_batch *b,
						  size_t i)
{
	const struct event_plain *begin = &b->call[i], *end = begin + 1;
	size_t slot;

	if (!pairing_is_quiet(p) || i + 1 >= b->n || end->kind != EVENT_REALLOC_END ||
	    end->lane != begin->lane || end->flags & STREAM_AFTER_GAP || end->addr == 0 ||
	    pairing_has_rival(b, i + 1) || p->live.n == 0 || !live_has_room(&p->live))
		return false;
	slot = live_find_slot(&p->live, begin->addr);
	if (p->live.slot[slot].addr == 0 || live_at(&p->live, slot)->at_ns >= end->at_ns)
		return false;
	return end->addr == begin->addr ||
	       p->live.slot[live_find_slot(&p->live, end->addr)].addr == 0;
}

/* pairing_is_fast_realloc() said so. Ends the block of begin, which is copied to old, and gives the
 * place of the one that its END makes. */
static ALWAYS_INLINE struct live_block *pairing_fast_realloc(struct pairing *p,
							     const struct event_plain *begin,
							     const struct replay_release *release,
							     struct live_block *old)
{
	size_t slot = live_find_slot(&p->live, begin->addr);

	*old = *live_at(&p->live, slot);
	pairing_make_end(&p->step[p->n_steps], live_at(&p->live, slot), release);
	pairing_count(p);
	if (p->callbacks->on_free)
		p->callbacks->on_free(p->callbacks->user, old, release);
	if (begin[1].addr == begin->addr)
		return live_at(&p->live, slot);
	live_remove_slot(&p->live, slot);
	slot = live_find_slot(&p->live, begin[1].addr);
	return live_put(&p->live, slot, begin[1].addr);
}

#endif
