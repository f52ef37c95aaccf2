/* record/address_owner.h - which addresses only this lane has used lately.
 *
 * Reading the clock costs more than the rest of an event. An event needs a clock reading of its own
 * only if another lane may have used the same address since this lane's last event there. Otherwise
 * the order within the lane already says which release ends which allocation, and the time of the
 * event may be estimated (estimated_time.h). So each lane remembers which of the addresses that it
 * used last are its own. A needless clock reading does no harm. But a lane must never take an
 * address for its own wrongly.
 *
 * Words. A lane is one stream of events: of a thread, or of a signal handler that interrupted a
 * hook (lane.h). In a program with one lane nothing here is needed, and all tags are 0. An event at
 * an address is an allocation there (its event follows the return of malloc) or a release (a free,
 * or the realloc that replaces the block; its event comes before the call of the real function). A
 * lane owns an address if no other lane has had an event there since this lane's last event there.
 * Times are ticks (clock.h).
 *
 * Shared table. address_owner_free_stamps[hash(address)] holds a stamp that only grows. A lane
 * publishes a release, before it gives the block back, by raising the stamp. A lane publishes a
 * release in two cases:
 *   (a) The lane does not take the address for its own. The lane reads the clock, and the stamp
 *       becomes max(time of the release, stamp + 1).
 *   (b) The lane takes the address for its own now, but did not when the lane allocated the block.
 *       The lane need not read the clock, and the stamp becomes stamp + 1.
 * Two addresses that share a stamp cost a needless clock reading, never a wrong answer.
 *
 * Rule. With each event the lane stores an owner tag: a state, and a stamp that every later
 * publication about this address exceeds. The tag lies beside the address in the encoder's table of
 * recent addresses (struct event_recent). A lane without a tag of the address does not take the
 * address for its own. A lane with a tag does if
 *   1. the stamp in the table is not higher than the stamp in the tag, and
 *   2. the lane's last event there is the counterpart: a release before an allocation, an
 *      allocation before a release.
 *
 * The stamp in the tag:
 *   - after a release that was published: the stamp that the lane wrote;
 *   - after an allocation at an address that the lane did not take for its own: the time of the
 *     allocation, less the margin by which the clocks of two CPUs may differ, less one;
 *   - after any other event: the stamp of the tag before, because nothing was published.
 *
 * Example. Two lanes, one address. The stamp begins with 0, the margin is 64 ticks. Tags: F is
 * alloc foreign, O alloc own, R released (enum address_owner_state). An empty field: the tag is as
 * in the line above.
 *
 *	event               stamp   tag of 1   tag of 2   what the lane does
 *	1 allocates @1000       0   F 935                 has no tag: reads the clock
 *	1 frees                 1   R 1                   0 <= 935: owns; publishes by (b)
 *	1 allocates             1   O 1                   1 <= 1: owns; the time is estimated
 *	2 frees @3000        3000              R 3000     has no tag: reads the clock, publishes
 *	2 allocates          3000              O 3000     3000 <= 3000: owns; the time is estimated
 *	1 frees @4000        4000   R 4000                3000 > 1: reads the clock, publishes
 *
 * Without the stamp, lane 1 would have taken the last block for the block that lane 1 allocated
 * itself.
 *
 * Proof that the rule is never wrong. Allocations and releases at one address alternate: the
 * allocator gives an address away only after it was given back.
 *   1. Suppose a lane takes an address for its own wrongly. Let L be the first lane to do so, at
 *      address A. Let e0 be the last event of L at A, and e1, e2, ... the events of other lanes at
 *      A after e0. There is at least one. Every check before this one was right.
 *   2. Case e0 is a release, and L now allocates. Then e1 is an allocation by a lane M, and e2 the
 *      release of that block, also by a lane other than L. At e1, M did not own A, because e0 came
 *      directly before; M's check was right, so M's tag says "alloc foreign". If M makes e2, M
 *      publishes it, by (b) or by (a). If a third lane makes e2, that lane does not own A, because
 *      e1 came directly before; its check was right, so it publishes e2 by (a). So e2 was
 *      published.
 *   3. Case e0 is an allocation, and L now releases. Then e1 is the release of this block by a lane
 *      other than L. That lane does not own A, because e0 came directly before; its check was
 *      right, so it published e1 by (a).
 *   4. In all other cases e0 is not the counterpart of the new event, and part 2 of the rule
 *      forbids L to take A for its own. Two releases in a row need part 2: the allocation between
 *      them was not published. Two allocations in a row would fail part 1 as well, by step 3,
 *      unless the release between them was lost.
 *   5. What was published in step 2 or 3 raised the stamp above the stamp in L's tag:
 *      - The stamp in a tag "released" or "alloc own" was once in the table: L wrote it there.
 *        Stamps grow, and the publication came after e0, so it wrote more.
 *      - The tag "alloc foreign" belongs to step 3. The publication, by (a), wrote at least the
 *        time of e1. That time was read behind a fence after e0 (clock_fence()), so it is at most
 *        the margin earlier than the time of e0, and above the stamp in the tag.
 *   6. L sees the raised stamp: the lane published it before it gave the block back; the allocator
 *      gave the address away after that, to L or to a lane that handed the block to L; and L reads
 *      the table after that. Each of these steps happens before the next, so relaxed accesses are
 *      enough.
 *   7. By steps 5 and 6 the stamp is higher than the stamp in L's tag, so L does not take A for its
 *      own. This contradicts step 1.
 *
 * Outside of the proof:
 *   - Events that no lane recorded, which the recording counts as lost. A lane that finds no room
 *     for an event in the recording has forgotten all tags by then (lane_finish_block()).
 *   - A realloc that failed. The tag stays "released" although the block lives on. So by part 2 of
 *     the rule the lane does not own the address when it releases the block.
 * tests/unit/test_address_owner_model.c runs the rule through all interleavings of a few lanes and
 * addresses.
 *
 * Speed. A lane checks part 2 of the rule first, and reads the table only if part 2 holds. Say lane
 * 1 allocates and lane 2 releases, again and again. Lane 1 never has a tag "released", so lane 1
 * does not read the stamp, and the stamp's cache line stays with the CPU of lane 2.
 *
 * Threads: an encoder belongs to one lane; the table belongs to all.
 */
#ifndef RECORD_ADDRESS_OWNER_H
#define RECORD_ADDRESS_OWNER_H

#include <stdatomic.h>

#include "format/event_encode.h"

#define ADDRESS_OWNER_N_STAMPS 4096
#define ADDRESS_OWNER_MARGIN_TICKS 64 /* clocks of two CPUs differ by less */

extern HIDDEN _Atomic uint64_t address_owner_free_stamps[ADDRESS_OWNER_N_STAMPS];

/* An owner tag is stamp * 4 + state. 0: the lane knows nothing of the address. Both states of an
 * allocation have the bit of ADDRESS_OWNER_ALLOC_FOREIGN. */
enum address_owner_state {
	ADDRESS_OWNER_RELEASED = 1,
	ADDRESS_OWNER_ALLOC_FOREIGN = 2, /* the lane did not own the address: publish the release */
	ADDRESS_OWNER_ALLOC_OWN = 3, /* the lane owned the address */
};

/* The stamp of an address. Blocks side by side, which may belong to two threads, have their stamps
 * in different cache lines. */
static ALWAYS_INLINE _Atomic uint64_t *address_owner_stamp_slot(const void *block)
{
	uint32_t h = (uint32_t)((uintptr_t)block / 16) * 0x9e3779b1u;

	return &address_owner_free_stamps[h / (uint32_t)(0x100000000ull / ADDRESS_OWNER_N_STAMPS)];
}

/* Publishes a release. ticks: the time of the release in case (a); 0 in case (b). Returns the tag
 * of the release.
 *
 * Why 0 is enough in case (b): the stamp must become higher than the stamp in every lane's tag of
 * this address. Only the tag "alloc foreign" can be higher than the table, and only until the block
 * is released. Here the lane itself has this tag, and replaces it now. */
static ALWAYS_INLINE uint64_t address_owner_publish_free(const void *block, uint64_t ticks)
{
	_Atomic uint64_t *slot = address_owner_stamp_slot(block);
	uint64_t last = atomic_load_explicit(slot, memory_order_relaxed), next;

	do
		next = last < ticks ? ticks : last + 1;
	while (!atomic_compare_exchange_weak_explicit(slot, &last, next, memory_order_relaxed,
						      memory_order_relaxed));
	return next * 4 | ADDRESS_OWNER_RELEASED;
}

/* The tag of an allocation at an address that the lane did not own. ticks: the time of the
 * allocation, which was read from the clock, not estimated. */
static ALWAYS_INLINE uint64_t address_owner_alloc_tag(uint64_t ticks)
{
	return (ticks - ADDRESS_OWNER_MARGIN_TICKS - 1) * 4 | ADDRESS_OWNER_ALLOC_FOREIGN;
}

/* Part 1 of the rule: was nothing published since the tag was stored? tag: not 0. */
static ALWAYS_INLINE bool address_owner_is_current(const void *block, uint64_t tag)
{
	return atomic_load_explicit(address_owner_stamp_slot(block), memory_order_relaxed) <=
	       tag / 4;
}

/* The lane's tag of the address, or 0. */
static ALWAYS_INLINE uint64_t address_owner_find_tag(const struct event_encoder *e,
						     const void *block)
{
	const struct event_recent *recent = &e->recent[event_recent_slot((uintptr_t)block)];

	return recent->addr == (uintptr_t)block ? recent->owner_tag : 0;
}

/* The allocator gave this block. If the lane owns the address, returns the tag of the allocation;
 * else 0: the caller reads the clock and takes address_owner_alloc_tag(). The caller puts the tag
 * into the event (event_call.owner_tag), and the encoder stores the tag. */
static ALWAYS_INLINE uint64_t address_owner_on_alloc(const struct event_encoder *e,
						     const void *block)
{
	uint64_t tag = address_owner_find_tag(e, block);

	return tag % 4 == ADDRESS_OWNER_RELEASED && address_owner_is_current(block, tag)
		       ? tag | ADDRESS_OWNER_ALLOC_OWN
		       : 0;
}

/* This block is about to be released. If the lane owns the address, publishes the release where (b)
 * demands it and returns the tag of the release; else 0: the caller fences, reads the clock and
 * calls address_owner_publish_free() for the tag. */
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

/* The release of this block was the lane's last event, and realloc kept the block where it is: the
 * lane has allocated the address again, and nobody else can have used it in between. The tag is 0
 * if the program had one lane when the release was put; then the tag stays 0. */
static ALWAYS_INLINE void address_owner_on_resize_in_place(struct event_encoder *e,
							   const void *block)
{
	struct event_recent *recent = &e->recent[event_recent_slot((uintptr_t)block)];

	if (address_owner_find_tag(e, block))
		recent->owner_tag |= ADDRESS_OWNER_ALLOC_OWN;
}

#endif
