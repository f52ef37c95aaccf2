/* ingest/live_block.h - a block of the recorded program that is allocated now. */
#ifndef INGEST_LIVE_BLOCK_H
#define INGEST_LIVE_BLOCK_H

#include "base/compiler.h"

/* An allocation: its event, and where it stands in the order of its thread. */
struct live_block {
	uint64_t addr; /* never 0 */
	uint64_t size_bytes; /* requested */
	uint64_t at_ns; /* of the call, since the start */
	uint64_t ordinal; /* of this thread's allocations and reallocations, from 0 */
	uint64_t tag; /* the user's: see replay_callbacks.on_arrival */
	uint64_t chain; /* the user's: see replay_callbacks.on_alloc; 0 at first */
	uint32_t thread; /* number in the recording */
	uint32_t stack; /* number in struct stacks */
	uint32_t extra_bytes; /* usable beyond size_bytes; UINT32_MAX: so many or more */
	uint8_t kind; /* enum event_kind */
	uint8_t allocator; /* its number: format/event.h */
};

_Static_assert(sizeof(struct live_block) == 64, "one cache line");

#endif
