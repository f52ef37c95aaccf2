/* Block headers: layout, checksum, values that the format forbids. */
#include "harness/test.h"

#include <string.h>

#include "base/bytes.h"
#include "format/block.h"

/* A valid header at the end of readable memory. */
static uint8_t *make(void)
{
	uint8_t *h = guard_buf_create(NULL, BLOCK_HEADER_BYTES);

	store_le32(h, BLOCK_MAGIC);
	store_le32(h + 4, BLOCK_OPEN);
	store_le64(h + 8, 9); /* sequence */
	store_le32(h + 16, 2); /* thread */
	store_le32(h + 20, 1); /* lane */
	store_le32(h + 24, 4242); /* tid */
	store_le32(h + 28, 6); /* lane_index */
	store_le64(h + 32, 123456789); /* start_ticks */
	store_le32(h + 40, 17); /* first_stack */
	store_le32(h + 44, 4); /* generation */
	store_le64(h + 48, 3); /* lost_before */
	store_le32(h + 56, 1000); /* used_bytes */
	store_le32(h + 60, block_checksum(h));
	return h;
}

TEST(header_fields_are_where_the_format_says)
{
	uint8_t *data = make();
	struct block_header h;

	CHECK(block_decode(data, &h));
	CHECK_EQ(h.state, BLOCK_OPEN);
	CHECK_EQ(h.sequence, 9);
	CHECK_EQ(h.thread, 2);
	CHECK_EQ(h.lane, 1);
	CHECK_EQ(h.tid, 4242);
	CHECK_EQ(h.lane_index, 6);
	CHECK_EQ(h.start_ticks, 123456789);
	CHECK_EQ(h.first_stack, 17);
	CHECK_EQ(h.generation, 4);
	CHECK_EQ(h.lost_before, 3);
	CHECK_EQ(h.used_bytes, 1000);
	guard_buf_destroy(data, BLOCK_HEADER_BYTES);
}

TEST(a_mapped_block_has_the_same_layout)
{
	static struct block b;
	struct block_header h;

	b.magic = BLOCK_MAGIC;
	b.sequence = 1;
	b.thread = 5;
	b.lane = 3;
	b.first_stack = 1;
	b.generation = 8;
	b.lost_before = 7;
	atomic_store(&b.state, BLOCK_FULL);
	atomic_store(&b.used_bytes, BLOCK_DATA_BYTES);
	b.checksum = block_checksum((const uint8_t *)&b);
	CHECK(block_decode((const uint8_t *)&b, &h));
	CHECK_EQ(h.state, BLOCK_FULL);
	CHECK_EQ(h.lost_before, 7);
	CHECK_EQ(h.generation, 8);
}

TEST(state_and_used_bytes_are_not_in_the_checksum)
{
	uint8_t *data = make();
	struct block_header h;

	store_le32(data + 4, BLOCK_FULL);
	store_le32(data + 56, BLOCK_DATA_BYTES);
	CHECK(block_decode(data, &h));
	guard_buf_destroy(data, BLOCK_HEADER_BYTES);
}

TEST(every_flipped_bit_elsewhere_is_noticed)
{
	uint8_t *data = make();
	struct block_header h;

	for (unsigned bit = 0; bit < 8 * BLOCK_HEADER_BYTES; bit++) {
		unsigned byte = bit / 8;

		if ((byte >= 4 && byte < 8) || (byte >= 56 && byte < 60))
			continue;
		data[byte] ^= (uint8_t)(1 << bit % 8);
		CHECK(!block_decode(data, &h));
		data[byte] ^= (uint8_t)(1 << bit % 8);
	}
	guard_buf_destroy(data, BLOCK_HEADER_BYTES);
}

/* Is a header refused in which one u32 has this value? */
static bool is_refused_with(unsigned offset, uint32_t value)
{
	uint8_t *data = make();
	struct block_header h = {.thread = 77};
	bool ok;

	store_le32(data + offset, value);
	if (offset == 8)
		store_le32(data + 12, 0);
	store_le32(data + 60, block_checksum(data));
	ok = block_decode(data, &h);
	CHECK(ok || h.thread == 77);
	guard_buf_destroy(data, BLOCK_HEADER_BYTES);
	return !ok;
}

TEST(impossible_values_are_refused)
{
	CHECK(is_refused_with(4, 3)); /* state */
	CHECK(is_refused_with(8, 0)); /* sequence */
	CHECK(is_refused_with(16, 0)); /* thread */
	CHECK(is_refused_with(20, BLOCK_N_LANES));
	CHECK(is_refused_with(40, 0)); /* first_stack */
	CHECK(is_refused_with(56, BLOCK_DATA_BYTES + 1));
	CHECK(!is_refused_with(4, BLOCK_FREE));
}
