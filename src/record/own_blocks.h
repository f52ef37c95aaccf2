/* record/own_blocks.h - the blocks that no other lane had in its hands lately.
 *
 * Where several threads make events, what is recorded of a block that comes from another one must be
 * recorded with care (clock.h), and its time must be read; that costs more than all the rest. Of a block
 * that was in this lane's hands last it need not, and its time may be carried on (carried_time.h): the
 * order of the lane's own events is the order of the events of its address. So a lane knows
 * its last blocks, from the places of its encoder, and must not be wrong about them: another one may have
 * released such a block, or got and released one of this address, before it came back.
 *
 * Therefore some releases are told to all: what stands in a table, in the place of the address (and of
 * others; that something was told of one of these costs time only), becomes the time of the release, or
 * one more than what stood there if that is not less. So it grows each time. A lane notes with each birth
 * and release what can stand there at most if nothing is told from now on, and believes that an
 * address was in its own hands since if
 * - there is no more than that in the table, and
 * - births and releases take turns: it released what is born now, or gave birth to what is released now.
 * Told are, before the block is given back,
 * - the releases of blocks that are not, by this, the lane's own;
 * - the releases of blocks whose addresses were not the lane's own when they were born.
 *
 * Why that is exact. Let a lane be wrong for the first time, about an address that was in other hands
 * since its last event there.
 * - That was a release, and now it is born. The first of the others' events was a birth, and its lane, which
 *   is not wrong, knew that the address was not its own. So the release of that block was told,
 *   by whoever did it: by its own lane because of how it was born, by any other because
 *   it was not its own.
 * - That was a birth, and now it is released. The first of the others' events was a release of this block,
 *   which its lane, which is not wrong, knew not to be its own. So it was told.
 * - In both cases it was told after the lane's last event and before the block was given back, and the lane
 *   looks after it got the address from somebody who got it after that. So it sees what was told, or more;
 *   and that is more than it noted, which is what it saw or wrote there then, or the time of
 *   the birth (OWN_BLOCKS_MARGIN is for the clocks of different CPUs).
 * A lane whose events were lost has forgotten all its blocks.
 *
 * A lane looks into the table only at addresses that it knows to be its own otherwise. Of those that go
 * from hand to hand the lines of the table stay with whoever releases them.
 */
#ifndef RECORD_OWN_BLOCKS_H
#define RECORD_OWN_BLOCKS_H

#include <stdatomic.h>

#include "format/event_encode.h"

#define OWN_BLOCKS_TOLD 4096
#define OWN_BLOCKS_MARGIN 64 /* ticks */

extern HIDDEN _Atomic uint64_t own_blocks_told[OWN_BLOCKS_TOLD];

/* What a lane notes in the place of an address (event_recent.note): one of these, and what may stand
 * in the table, times four. 0: it knows nothing. */
enum own_blocks_state {
	OWN_BLOCKS_RELEASED = 1,
	OWN_BLOCKS_BORN = 2, /* the address was in other hands before: its release must be told */
	OWN_BLOCKS_BORN_AGAIN = 3,
};

/* Neighbours are far from each other, so that the lines of one thread's blocks stay its own. */
static ALWAYS_INLINE _Atomic uint64_t *own_blocks_told_at(const void *block)
{
	uint32_t h = (uint32_t)((uintptr_t)block / 16) * 0x9e3779b1u;

	return &own_blocks_told[h / (uint32_t)(0x100000000ull / OWN_BLOCKS_TOLD)];
}

/* ticks: 0 if no lane can have noted the time of this block's birth but this one. Returns what to note with
 * the release. */
static ALWAYS_INLINE uint64_t own_blocks_tell(const void *block, uint64_t ticks)
{
	_Atomic uint64_t *told = own_blocks_told_at(block);
	uint64_t last = atomic_load_explicit(told, memory_order_relaxed), next;

	do
		next = last < ticks ? ticks : last + 1;
	while (!atomic_compare_exchange_weak_explicit(told, &last, next, memory_order_relaxed,
						      memory_order_relaxed));
	return next * 4 | OWN_BLOCKS_RELEASED;
}

/* What to note with a birth whose time was read. */
static ALWAYS_INLINE uint64_t own_blocks_note_birth(uint64_t ticks)
{
	return (ticks - OWN_BLOCKS_MARGIN - 1) * 4 | OWN_BLOCKS_BORN;
}

/* Was nothing told since? note: not 0. */
static ALWAYS_INLINE bool own_blocks_is_quiet(const void *block, uint64_t note)
{
	return atomic_load_explicit(own_blocks_told_at(block), memory_order_relaxed) <= note / 4;
}

/* What the lane noted of the block. */
static ALWAYS_INLINE uint64_t own_blocks_note(const struct event_encoder *e, const void *block)
{
	const struct event_recent *place = &e->recent[event_recent_slot((uintptr_t)block)];

	return place->addr == (uintptr_t)block ? place->note : 0;
}

/* A block was born: was its address in this lane's hands last? If so, returns what to note with the
 * birth; else 0. */
static ALWAYS_INLINE uint64_t own_blocks_born_again(const struct event_encoder *e,
						    const void *block)
{
	uint64_t note = own_blocks_note(e, block);

	return note % 4 == OWN_BLOCKS_RELEASED && own_blocks_is_quiet(block, note)
		       ? note | OWN_BLOCKS_BORN_AGAIN
		       : 0;
}

/* A block is to be released: was it in this lane's hands since it was born here? If so, returns what to
 * note with the release, after it was told if it must be; else 0. */
static ALWAYS_INLINE uint64_t own_blocks_released(const struct event_encoder *e, const void *block)
{
	uint64_t note = own_blocks_note(e, block);

	if (!(note & OWN_BLOCKS_BORN) || !own_blocks_is_quiet(block, note))
		return 0;
	return note % 4 == OWN_BLOCKS_BORN ? own_blocks_tell(block, 0)
					   : note - OWN_BLOCKS_BORN_AGAIN + OWN_BLOCKS_RELEASED;
}

/* A block whose release was the last event did not go away: it was made smaller or larger where it is. */
static ALWAYS_INLINE void own_blocks_stay(struct event_encoder *e, const void *block)
{
	struct event_recent *place = &e->recent[event_recent_slot((uintptr_t)block)];

	if (own_blocks_note(e, block))
		place->note |= OWN_BLOCKS_BORN_AGAIN;
}

#endif
