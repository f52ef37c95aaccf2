/* format/block.h - blocks of events: the unit that a thread fills, the writer moves and a reader
 * decodes. docs/FORMAT.md section 4.
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

enum block_state {
	BLOCK_FREE = 0,
	BLOCK_OPEN = 1,
	BLOCK_FULL = 2,
};

/* A block as it lies in a mapped AREA. The owning thread writes data and then used_bytes with
 * release order; nobody else writes a block that is open. Little-endian machines only (a port to
 * a big-endian CPU must convert here). */
struct block {
	uint32_t magic;
	_Atomic uint32_t state;
	uint64_t sequence;
	uint32_t thread;
	uint32_t lane;
	uint32_t tid;
	uint32_t lane_index;
	uint64_t start_ticks;
	uint32_t first_stack;
	uint32_t generation;
	uint64_t lost_before;
	_Atomic uint32_t used_bytes;
	uint32_t checksum;
	uint8_t data[BLOCK_DATA_BYTES];
};

_Static_assert(sizeof(struct block) == FORMAT_BLOCK_BYTES, "block size");
_Static_assert(offsetof(struct block, sequence) == 8, "block layout");
_Static_assert(offsetof(struct block, used_bytes) == 56, "block layout");
_Static_assert(offsetof(struct block, data) == BLOCK_HEADER_BYTES, "block layout");

/* A block header as read from a file. */
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

/* Checksum of the fields that do not change while the block is open. */
uint32_t block_checksum(const uint8_t *header);

/* Reads BLOCK_HEADER_BYTES. False: not a block, damaged, or with values the format forbids. */
bool block_decode(const uint8_t *data, struct block_header *ret);

#endif
