/* record/address_owner.h - the blocks that no other lane had in its hands lately.
 *
 * Where several threads make events, what is recorded of a block that comes from another one must be
 * recorded with care (clock.h), and its time must be read; that costs more than all the rest. Of a block
 * that was in this lane's hands last it need not, and its time may be carried on (estimated_time.h): the
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
 *   the birth (ADDRESS_OWNER_MARGIN_TICKS is for the clocks of different CPUs).
 * A lane whose events were lost has forgotten all its blocks.
 *
 * A lane looks into the table only at addresses that it knows to be its own otherwise. Of those that go
 * from hand to hand the lines of the table stay with whoever releases them.
 */
#ifndef RECORD_ADDRESS_OWNER_H
#define RECORD_ADDRESS_OWNER_H

#include <stdatomic.h>

#include "format/event_encode.h"

#define ADDRESS_OWNER_N_STAMPS 4096
#define ADDRESS_OWNER_MARGIN_TICKS 64 /* ticks */

extern HIDDEN _Atomic uint64_t address_owner_free_stamps[ADDRESS_OWNER_N_STAMPS];

/* What a lane notes in the place of an address (event_encoder_place.note): one of these, and what may stand
 * in the table, times four. 0: it knows nothing. */
enum address_owner_state {
	ADDRESS_OWNER_RELEASED = 1,
	ADDRESS_OWNER_ALLOC_FOREIGN =
		2, /* the address was in other hands before: its release must be told */
	ADDRESS_OWNER_ALLOC_OWN = 3,
};

/* Neighbours are far from each other, so that the lines of one thread's blocks stay its own. */
static ALWAYS_INLINE _Atomic uint64_t *address_owner_stamp_slot(const void *block)
{
	uint32_t h = (uint32_t)((uintptr_t)block / 16) * 0x9e3779b1u;

	return &address_owner_free_stamps[h / (uint32_t)(0x100000000ull / ADDRESS_OWNER_N_STAMPS)];
}

/* ticks: 0 if no lane can have noted the time of this block's birth but this one. Returns what to note with
 * the release. */
static ALWAYS_INLINE uint64_t address_owner_publish_free(const void *block, uint64_t ticks)
{
	_Atomic uint64_t *told = address_owner_stamp_slot(block);
	uint64_t last = atomic_load_explicit(told, memory_order_relaxed), next;

	do
		next = last < ticks ? ticks : last + 1;
	while (!atomic_compare_exchange_weak_explicit(told, &last, next, memory_order_relaxed,
						      memory_order_relaxed));
	return next * 4 | ADDRESS_OWNER_RELEASED;
}

/* What to note with a birth whose time was read. */
static ALWAYS_INLINE uint64_t address_owner_alloc_tag(uint64_t ticks)
{
	return (ticks - ADDRESS_OWNER_MARGIN_TICKS - 1) * 4 | ADDRESS_OWNER_ALLOC_FOREIGN;
}

/* Was nothing told since? note: not 0. */
static ALWAYS_INLINE bool address_owner_is_current(const void *block, uint64_t tag)
{
	return atomic_load_explicit(address_owner_stamp_slot(block), memory_order_relaxed) <=
	       tag / 4;
}

/* What the lane noted of the block. */
static ALWAYS_INLINE uint64_t address_owner_find_tag(const struct event_encoder *e,
						     const void *block)
{
	const struct event_encoder_place *place = &e->place[event_place((uintptr_t)block)];

	return place->addr == (uintptr_t)block ? place->owner_tag : 0;
}

/* A block was born: was its address in this lane's hands last? If so, returns what to note with the
 * birth; else 0. */
static ALWAYS_INLINE uint64_t address_owner_on_alloc(const struct event_encoder *e,
						     const void *block)
{
	uint64_t tag = address_owner_find_tag(e, block);

	return tag % 4 == ADDRESS_OWNER_RELEASED && address_owner_is_current(block, tag)
		       ? tag | ADDRESS_OWNER_ALLOC_OWN
		       : 0;
}

/* A block is to be released: was it in this lane's hands since it was born here? If so, returns what to
 * note with the release, after it was told if it must be; else 0. */
static ALWAYS_INLINE uint64_t address_owner_on_release(const struct event_encoder *e,
						       const void *block)
{
	uint64_t tag = address_owner_find_tag(e, block);

	if (!(tag & ADDRESS_OWNER_ALLOC_FOREIGN) || !address_owner_is_current(block, tag))
		return 0;
	return tag % 4 == ADDRESS_OWNER_ALLOC_FOREIGN
		       ? address_owner_publish_free(block, 0)
		       : tag - ADDRESS_OWNER_ALLOC_OWN + ADDRESS_OWNER_RELEASED;
}

/* A block whose release was the last event did not go away: it was made smaller or larger where it is. */
static ALWAYS_INLINE void address_owner_on_resize_in_place(struct event_encoder *e,
							   const void *block)
{
	struct event_encoder_place *place = &e->place[event_place((uintptr_t)block)];

	if (address_owner_find_tag(e, block))
		place->owner_tag |= ADDRESS_OWNER_ALLOC_OWN;
}

#endif
