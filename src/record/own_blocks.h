/* record/own_blocks.h - the blocks that a lane made last.
 *
 * Where several threads make events, the release of a block that came from another one must be recorded
 * with care (clock.h): that costs more than all the rest of a release. Of a block that the releasing lane
 * made itself it need not, and its time need not even be read (carried_time.h). So a lane knows
 * its last blocks by their addresses, with the time of their birth, one for each of a few places.
 *
 * The lane must not be wrong: another one may have released the block, got the address again and handed it
 * back. So whoever releases a block that is not his tells the time in a table for all
 * (own_blocks_tell()), in the address' place, and a lane believes that a block is its own only if nobody
 * told anything there since its birth. Why that is exact: if the block that the lane made was released
 * by another lane, that one told, since it did not make it; it read the time behind the hand-over, so
 * after the birth; and the lane, which got the address from somebody who got it after that, sees what was
 * told, or something later. OWN_BLOCKS_MARGIN is for the clocks of different CPUs. That a block is not
 * found, or that something was told of another one with the same place, costs time only.
 */
#ifndef RECORD_OWN_BLOCKS_H
#define RECORD_OWN_BLOCKS_H

#include <stdatomic.h>

#include "base/compiler.h"

#define OWN_BLOCKS 32
#define OWN_BLOCKS_TOLD 4096
#define OWN_BLOCKS_MARGIN 64 /* ticks */

struct own_blocks {
	struct {
		uintptr_t addr; /* 0: none */
		uint64_t born_ticks;
	} at[OWN_BLOCKS];
};

extern HIDDEN _Atomic uint64_t own_blocks_told[OWN_BLOCKS_TOLD]; /* ticks */

static ALWAYS_INLINE void own_blocks_add(struct own_blocks *o, const void *block, uint64_t ticks)
{
	unsigned i = (uintptr_t)block / 16 % OWN_BLOCKS;

	o->at[i].addr = (uintptr_t)block;
	o->at[i].born_ticks = ticks;
}

/* Neighbours are far from each other, so that the lines of one thread's blocks stay its own. */
static ALWAYS_INLINE _Atomic uint64_t *own_blocks_told_at(const void *block)
{
	uint32_t h = (uint32_t)((uintptr_t)block / 16) * 0x9e3779b1u;

	return &own_blocks_told[h / (uint32_t)(0x100000000ull / OWN_BLOCKS_TOLD)];
}

/* A block is released: is it one of them? It is not any more. */
static ALWAYS_INLINE bool own_blocks_take(struct own_blocks *o, const void *block)
{
	unsigned i = (uintptr_t)block / 16 % OWN_BLOCKS;

	if (o->at[i].addr != (uintptr_t)block)
		return false;
	o->at[i].addr = 0;
	return atomic_load_explicit(own_blocks_told_at(block), memory_order_relaxed) +
		       OWN_BLOCKS_MARGIN <
	       o->at[i].born_ticks;
}

/* A block that is not the lane's own is released at this time, which was read behind a fence. */
static ALWAYS_INLINE void own_blocks_tell(const void *block, uint64_t ticks)
{
	_Atomic uint64_t *told = own_blocks_told_at(block);
	uint64_t last_ticks = atomic_load_explicit(told, memory_order_relaxed);

	while (last_ticks < ticks &&
	       !atomic_compare_exchange_weak_explicit(told, &last_ticks, ticks,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

#endif
