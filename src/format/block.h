/* format/block.h - blocks of events: a thread fills a block, the writer moves it, a reader decodes
 * it. docs/FORMAT.md section 4 describes the fields.
 */
#ifndef FORMAT_BLOCK_H
#define FORMAT_BLOCK_H

#include <stdatomic.h>

#include "base/compiler.h"
#include "format/format.h"

#define BLOCK_MAGIC 0x4b42504du /* MPBK */
#define BLOCK_HEADER_BYTES 64
#define BLOCK_DATA_BYTES (FORMAT_BLOCK_BYTES - BLOCK_HEADER_BYTES)
#define BLOCK_N_LANES 4

/* Added to lane_index in a block whose events are still to be culled (docs/FORMAT.md 10). */
#define BLOCK_INDEX_TO_CULL 0x80000000u

enum block_state {
	BLOCK_FREE = 0, /* no thread has it; in an EVENTS chunk all blocks have this state */
	BLOCK_OPEN = 1, /* a lane writes events into it */
	BLOCK_FULL = 2, /* the writer will move it */
};

/* A block as it lies in a mapped AREA. Its thread writes data, and then used_bytes with release
 * order; nobody else writes to an open block. Little-endian machines only (a port to a big-endian
 * CPU must convert here). */
struct block {
	uint32_t magic;
	_Atomic uint32_t state;
	uint64_t sequence; /* unique in the recording, from 1 */
	uint32_t thread; /* number of the thread in this recording, from 1 */
	uint32_t lane; /* of the thread, below BLOCK_N_LANES */
	uint32_t tid;
	uint32_t lane_index; /* counts the blocks of the lane; a gap is a lost block */
	uint64_t start_ticks;
	uint32_t first_stack; /* id of the first stack that the block defines */
	uint32_t generation; /* of the loaded code, at the start of the block */
	uint64_t lost_before; /* events that the lane could not record so far */
	_Atomic uint32_t used_bytes; /* of data, published */
	uint32_t checksum; /* block_checksum() */
	uint8_t data[BLOCK_DATA_BYTES];
};

_Static_assert(sizeof(struct block) == FORMAT_BLOCK_BYTES, "block size");
_Static_assert(offsetof(struct block, sequence) == 8, "block layout");
_Static_assert(offsetof(struct block, used_bytes) == 56, "block layout");
_Static_assert(offsetof(struct block, data) == BLOCK_HEADER_BYTES, "block layout");

/* The header of a block as read from a file; fields as in struct block. */
struct block_header {
	uint32_t state;
	uint64_t sequence;
	uint32_t thread;
	uint32_t lane;
	uint32_t tid;
	uint32_t lane_index;
	uint64_t start_ticks;
	uint32_t first_stack;
	uint32_t generation;
	uint64_t lost_before;
	uint32_t used_bytes;
};

/* Checksum of the fields that do not change while the block is open. header is
 * BLOCK_HEADER_BYTES. */
uint32_t block_checksum(const uint8_t *header);

/* Reads BLOCK_HEADER_BYTES. False: not a block, damaged, or with values that the format forbids. */
bool block_decode(const uint8_t *data, struct block_header *ret);

#endif
