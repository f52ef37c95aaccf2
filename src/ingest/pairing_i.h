/* ingest/pairing_i.h - what pairing.c and pairing_fast.h share. */
#ifndef INGEST_PAIRING_I_H
#define INGEST_PAIRING_I_H

#include "ingest/pairing.h"

static inline unsigned pairing_bucket(uint64_t addr)
{
	return (unsigned)((addr >> 4) * 0x9e3779b97f4a7c15ull >> 56) % PAIRING_N_BUCKETS;
}

/* Call i releases a block that another thread made. Is it certain that the block which is live now
 * is meant? If the next call of the address is another release, this one may be for the block after
 * it. */
static inline bool pairing_is_decided(struct pairing *p, size_t i)
{
	return lookahead_find(p->lookahead, i, p->window_ns) != LOOKAHEAD_RELEASE;
}

/* An allocation made live_bytes of what is live: is that a new peak? The first moment of the
 * highest value is the peak, so an equal value is none. */
static ALWAYS_INLINE bool pairing_is_peak(uint64_t live_bytes, uint64_t peak_bytes)
{
	return live_bytes > peak_bytes;
}

/* Writes the step of a release, field by field: a copy of a struct that was just written would wait
 * for the writes. */
static inline void pairing_make_release_step(struct replay_step *to, const struct live_block *block,
					     const struct replay_release *release)
{
	bool is_temporary = replay_is_temporary(block, release);

	to->at_ns = release->at_ns;
	to->size_bytes = block->size_bytes;
	to->lifetime_ns = release->at_ns - block->at_ns;
	to->stack = block->stack;
	to->release_stack = release->stack;
	to->thread = block->thread;
	to->release_thread = release->thread;
	to->flags = REPLAY_STEP_RELEASE | (is_temporary ? REPLAY_STEP_TEMPORARY : 0);
}

#endif
