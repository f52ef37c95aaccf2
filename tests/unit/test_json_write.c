/* JSON as every parser takes it. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/json_write.h"

static char *text;
static size_t len;
static struct json j;

static void begin(void)
{
	json_init(&j, open_memstream(&text, &len));
}

static void check(const char *expected)
{
	fclose(j.out);
	CHECK_STR_EQ(text, expected);
	free(text);
}

TEST(objects_and_arrays_nest)
{
	begin();
	json_object(&j, NULL);
	json_u64(&j, "a", UINT64_MAX);
	json_array(&j, "b");
	json_i64(&j, NULL, -1);
	json_object(&j, NULL);
	json_end_object(&j);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_end_array(&j);
	json_hex(&j, "c", 0xdead);
	json_end_object(&j);
	json_line(&j);
	check("{\"a\":18446744073709551615,\"b\":[-1,{},true,null],\"c\":\"0xdead\"}\n");
}

TEST(text_is_escaped)
{
	begin();
	json_bytes(&j, NULL, "q\"b\\n\nt\t0\0d\x7f", 12);
	check("\"q\\\"b\\\\n\\nt\\u00090\\u0000d\\u007f\"");
}

TEST(utf8_stays_and_other_bytes_become_fffd)
{
	begin();
	json_text(&j, NULL,
		  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \xff \xc3( \xed\xa0\x80 \xc0\xaf");
	check("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \\ufffd \\ufffd( \\ufffd\\ufffd\\ufffd "
	      "\\ufffd\\ufffd\"");
}

TEST(a_character_cut_by_the_end_is_not_read_past_it)
{
	unsigned char *buf = guard_buf_create("a\xe2\x82", 3);

	begin();
	json_bytes(&j, NULL, (const char *)buf, 3);
	check("\"a\\ufffd\\ufffd\"");
	guard_buf_destroy(buf, 3);
}

TEST(odd_values_are_valid_json)
{
	begin();
	json_array(&j, NULL);
	json_double(&j, NULL, NAN, 2);
	json_double(&j, NULL, 6.275, 2);
	json_text(&j, NULL, NULL);
	json_hex_bytes(&j, NULL, (const uint8_t *)"\x01\xff", 2);
	json_hex_bytes(&j, NULL, NULL, 0);
	json_end_array(&j);
	check("[null,6.28,null,\"01ff\",\"\"]");
}
