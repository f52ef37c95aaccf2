/* format/block.c - see block.h. */
#include "format/block.h"

#include "base/bytes.h"
#include "format/checksum.h"

uint32_t block_checksum(const uint8_t *header)
{
	return checksum_bytes(header + 8, 48);
}

bool block_decode(const uint8_t *data, struct block_header *ret)
{
	struct block_header h;

	if (load_le32(data) != BLOCK_MAGIC || load_le32(data + 60) != block_checksum(data))
		return false;
	h.state = load_le32(data + 4);
	h.sequence = load_le64(data + 8);
	h.thread = load_le32(data + 16);
	h.lane = load_le32(data + 20);
	h.tid = load_le32(data + 24);
	h.lane_index = load_le32(data + 28);
	h.start_ticks = load_le64(data + 32);
	h.first_stack = load_le32(data + 40);
	h.generation = load_le32(data + 44);
	h.lost_before = load_le64(data + 48);
	h.used_bytes = load_le32(data + 56);
	if (h.state > BLOCK_FULL || h.lane >= BLOCK_N_LANES || h.thread == 0 || h.sequence == 0 ||
	    h.first_stack == 0 || h.used_bytes > BLOCK_DATA_BYTES)
		return false;
	*ret = h;
	return true;
}
