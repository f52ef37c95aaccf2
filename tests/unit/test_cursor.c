/* The bounds-checked reader, on buffers that end at a guard page. */
#include "harness/test.h"

#include "base/cursor.h"
#include "base/varint.h"

TEST(reads_are_little_endian_and_move_on)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t *buf = guard_buf_create(bytes, sizeof(bytes));
	struct cursor c = cursor_make(buf, sizeof(bytes));

	CHECK_EQ(cursor_u8(&c), 1);
	CHECK_EQ(cursor_u16(&c), 0x0302);
	CHECK_EQ(cursor_u32(&c), 0x07060504);
	CHECK_EQ(cursor_u64(&c), 0x0f0e0d0c0b0a0908);
	CHECK_EQ(cursor_left(&c), 0);
	CHECK(!c.failed);
	guard_buf_destroy(buf, sizeof(bytes));
}

TEST(a_read_past_the_end_gives_0_and_sticks)
{
	uint8_t *buf = guard_buf_create("\1\2\3", 3);
	struct cursor c = cursor_make(buf, 3);

	CHECK_EQ(cursor_u32(&c), 0);
	CHECK(c.failed);
	CHECK_EQ(cursor_u8(&c), 0); /* although there are bytes */
	CHECK_NULL(cursor_take(&c, 0));
	guard_buf_destroy(buf, 3);
}

TEST(taking_more_than_there_is_never_wraps)
{
	struct cursor c = cursor_make("abc", 3);

	CHECK_NOT_NULL(cursor_take(&c, 2));
	CHECK_NULL(cursor_take(&c, SIZE_MAX));
	CHECK_EQ(c.pos, 2);
}

TEST(uleb_round_trip_at_the_edges)
{
	static const uint64_t value[] = {0, 1, 127, 128, 16383, 16384, 1ull << 63, UINT64_MAX};

	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		uint8_t bytes[ULEB_MAX_BYTES];
		size_t len = (size_t)(uleb_put(bytes, value[i]) - bytes);
		uint8_t *buf = guard_buf_create(bytes, len);
		struct cursor c = cursor_make(buf, len);

		CHECK_EQ(cursor_uleb(&c), value[i]);
		CHECK(!c.failed);
		CHECK_EQ(cursor_left(&c), 0);
		c = cursor_make(buf, len - 1);
		CHECK_EQ(cursor_uleb(&c), 0);
		CHECK(c.failed);
		guard_buf_destroy(buf, len);
	}
}

TEST(uleb_of_more_than_64_bits_fails)
{
	struct cursor c = cursor_make("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);

	CHECK_EQ(cursor_uleb(&c), 0);
	CHECK(c.failed);
	c = cursor_make("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
	CHECK_EQ(cursor_uleb(&c), 0);
	CHECK(c.failed);
}

TEST(sleb_extends_the_sign)
{
	struct cursor c = cursor_make("\x7f\x3f\x40\x80\x7f", 5);

	CHECK_EQ(cursor_sleb(&c), (int64_t)-1);
	CHECK_EQ(cursor_sleb(&c), 63);
	CHECK_EQ(cursor_sleb(&c), (int64_t)-64);
	CHECK_EQ(cursor_sleb(&c), (int64_t)-128);
	CHECK(!c.failed);
}

TEST(zigzag_maps_small_numbers_to_small_numbers)
{
	static const int64_t value[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(zigzag(value[i]), i);
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++)
		CHECK_EQ(unzigzag(zigzag(value[i])), value[i]);
}
