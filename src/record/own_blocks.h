/* record/own_blocks.h - the blocks that a lane made last.
 *
 * The time of a release must not be earlier than that of the block's birth (clock.h). Of a block that the
 * releasing thread made itself it never is, and waiting costs more than all the rest of a release:
 * so a lane knows its last blocks by their addresses, one for each of a few places.
 *
 * It may be wrong in one way: somebody else released the block, somebody else got the address again,
 * handed it over, and this lane has made no block since that belongs into the same place. Then the
 * stamp of the release may be early, as that of a birth may be, and the reader puts the two in
 * order (ingest/replay.h).
 */
#ifndef RECORD_OWN_BLOCKS_H
#define RECORD_OWN_BLOCKS_H

#include "base/compiler.h"

#define OWN_BLOCKS 32

struct own_blocks {
	uintptr_t addr[OWN_BLOCKS]; /* 0: none */
};

static ALWAYS_INLINE uintptr_t *own_blocks_place(struct own_blocks *o, const void *block)
{
	return &o->addr[((uintptr_t)block >> 4) % OWN_BLOCKS];
}

static ALWAYS_INLINE void own_blocks_add(struct own_blocks *o, const void *block)
{
	*own_blocks_place(o, block) = (uintptr_t)block;
}

/* A block is released: is it one of them? It is not any more. */
static ALWAYS_INLINE bool own_blocks_take(struct own_blocks *o, const void *block)
{
	uintptr_t *place = own_blocks_place(o, block);

	if (*place != (uintptr_t)block)
		return false;
	*place = 0;
	return true;
}

#endif
