/* Text without stdio: numbers, cutting, parsing. */
#include "base/text.h"

#include "harness/test.h"

TEST(text_writes_numbers)
{
	char out[128];
	struct text t = text_make(out, sizeof(out));

	text_put_u64(&t, 0);
	text_put_char(&t, ' ');
	text_put_u64(&t, UINT64_MAX);
	text_put_char(&t, ' ');
	text_put_i64(&t, INT64_MIN);
	text_put_char(&t, ' ');
	text_put_hex(&t, 0xbeef, 8);
	CHECK_STR_EQ(out, "0 18446744073709551615 -9223372036854775808 0000beef");
	CHECK(!t.was_cut);
}

TEST(text_that_does_not_fit_is_cut_and_terminated)
{
	char out[4];
	struct text t = text_make(out, sizeof(out));

	text_put(&t, "abcdef");
	CHECK_STR_EQ(out, "abc");
	CHECK(t.was_cut);
	text_put(&t, "g");
	CHECK_STR_EQ(out, "abc");
}

TEST(text_parses_whole_decimal_numbers_only)
{
	uint64_t v = 7;

	CHECK(text_parse_u64("0", &v) && v == 0);
	CHECK(text_parse_u64("1234567890123456789", &v) && v == 1234567890123456789ull);
	CHECK(!text_parse_u64("", &v));
	CHECK(!text_parse_u64("12 ", &v));
	CHECK(!text_parse_u64("-1", &v));
	CHECK_EQ(v, 1234567890123456789ull);
}
