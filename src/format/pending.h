/* format/pending.h - events that wait in the file while it is not decided whether they stay in the
 * recording (docs/FORMAT.md 10).
 *
 * The recorder that leaves out short-lived allocations (record/cull.h) moves events in steps: from a
 * block that a thread fills to a slot here, and from there to a block of its own, or away. A step
 * counts when `committed` has its number. So whenever the process is killed each event is in exactly
 * one place.
 */
#ifndef FORMAT_PENDING_H
#define FORMAT_PENDING_H

#include <stdatomic.h>

#include "base/compiler.h"

#define PENDING_MAX_BLOCKS 4096 /* that threads fill, and that steps have begun to take events of */
#define PENDING_COUNT_BITS 17 /* of the number of events that were taken of a block */
#define PENDING_N_VALUES 6
#define PENDING_MAX_RARE_BYTES (PENDING_N_VALUES * 8)

/* An event. Calls: value[0] is the address, [1] the size, [2] usable bytes beyond it, [3] the
 * alignment (0: not known), and n_bytes is 1 if a mark follows (EVENT_CULLED of 0 allocations). Sums
 * (EVENT_CULLED): the first six fields of the event. Other kinds: n_bytes bytes of fields as they are in
 * a recording. */
struct pending_slot {
	uint64_t from_step; /* that put the event here; 0: the slot is free */
	uint64_t gone_step; /* that found that the event is left out; 0: none */
	uint64_t out_block; /* sequence of the block that it was written to; 0: none */
	uint32_t out_bytes; /* event bytes of that block with the event */
	uint32_t thread;
	uint64_t number; /* order of the events of a lane */
	uint64_t ticks;
	uint32_t stack;
	uint8_t kind;
	uint8_t lane;
	uint8_t allocator;
	uint8_t n_bytes;
	uint64_t value[PENDING_N_VALUES];
};

_Static_assert(sizeof(struct pending_slot) == 104, "the layout of files");

/* The payload of a PENDING chunk. */
struct pending_area {
	_Atomic uint64_t committed; /* the last step that counts */
	uint64_t n_slots; /* that were in use so far; slot 0 stays free */
	/* [step & 1] says which events of blocks were taken up to a step: sequence of the block <<
	 * PENDING_COUNT_BITS | number of events. A 0 ends the list. */
	uint64_t taken[2][PENDING_MAX_BLOCKS];
	struct pending_slot slot[];
};

static inline size_t pending_area_bytes(uint64_t n_slots)
{
	return sizeof(struct pending_area) + n_slots * sizeof(struct pending_slot);
}

#endif
