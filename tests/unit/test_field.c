/* Fields: tag, length, value. */
#include "harness/test.h"

#include <string.h>

#include "format/field.h"

TEST(numbers_take_the_fewest_bytes)
{
	static const uint8_t expected[] = {1, 0, /* 0 has none */
					   2, 1, 5, 3, 2, 0x00, 0x01, 0x81, 0x01, 1, 0xff};
	uint8_t buf[64];
	struct field_writer w = field_writer_make(buf, sizeof(buf));

	field_put_u64(&w, 1, 0);
	field_put_u64(&w, 2, 5);
	field_put_u64(&w, 3, 256);
	field_put_u64(&w, 129, 255);
	CHECK(!w.full);
	CHECK_EQ(w.len, sizeof(expected));
	CHECK_MEM_EQ(buf, expected, sizeof(expected));
}

TEST(fields_come_back_in_order)
{
	uint8_t buf[64];
	struct field_writer w = field_writer_make(buf, sizeof(buf));
	struct cursor c;
	struct field f;
	uint8_t *guarded;

	field_put_text(&w, 7, "name");
	field_put_u64(&w, 8, UINT64_MAX);
	field_put_bytes(&w, 9, NULL, 0);
	guarded = guard_buf_create(buf, w.len);
	c = cursor_make(guarded, w.len);
	CHECK(field_next(&c, &f));
	CHECK_EQ(f.tag, 7);
	CHECK_EQ(f.len, 4);
	CHECK_MEM_EQ(f.bytes, "name", 4);
	CHECK(field_next(&c, &f));
	CHECK_EQ(field_u64(&f), UINT64_MAX);
	CHECK(field_next(&c, &f));
	CHECK_EQ(f.len, 0);
	CHECK_EQ(field_u64(&f), 0);
	CHECK(!field_next(&c, &f));
	CHECK(!c.failed);
	guard_buf_destroy(guarded, w.len);
}

TEST(what_does_not_fit_sets_full_and_writes_nothing)
{
	uint8_t *buf = guard_buf_create(NULL, 6);
	struct field_writer w = field_writer_make(buf, 6);

	field_put_text(&w, 1, "1234");
	CHECK(!w.full);
	CHECK_EQ(w.len, 6);
	field_put_u64(&w, 2, 0);
	CHECK(w.full);
	CHECK_EQ(w.len, 6);
	field_put_bytes(&w, 3, NULL, 0);
	CHECK_EQ(w.len, 6);
	guard_buf_destroy(buf, 6);
}

TEST(malformed_payloads_end_with_failed)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
	} bad[] = {
		{{1}, 1}, /* no length */
		{{1, 2, 0}, 3}, /* shorter than its length */
		{{0x80}, 1}, /* a tag that does not end */
		{{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 11},
	};
	struct field f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t *buf = guard_buf_create(bad[i].bytes, bad[i].len);
		struct cursor c = cursor_make(buf, bad[i].len);

		CHECK(!field_next(&c, &f));
		CHECK(c.failed);
		CHECK(!field_next(&c, &f));
		guard_buf_destroy(buf, bad[i].len);
	}
}

TEST(numbers_longer_than_8_bytes_give_the_low_64_bits)
{
	const struct field f = {.bytes = (const uint8_t *)"\1\0\0\0\0\0\0\0\xff", .len = 9};

	CHECK_EQ(field_u64(&f), 1);
}
