/* Numbers and texts for people. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "util/human.h"

TEST(counts_are_grouped)
{
	char buf[HUMAN_BYTES];

	CHECK_STR_EQ(human_count(0, buf), "0");
	CHECK_STR_EQ(human_count(999, buf), "999");
	CHECK_STR_EQ(human_count(1000, buf), "1 000");
	CHECK_STR_EQ(human_count(UINT64_MAX, buf), "18 446 744 073 709 551 615");
}

TEST(sizes_and_durations_have_three_digits)
{
	char buf[HUMAN_BYTES];

	CHECK_STR_EQ(human_size(1023, buf), "1023 B");
	CHECK_STR_EQ(human_size(1024, buf), "1.00 KiB");
	CHECK_STR_EQ(human_size(1536 * 1024, buf), "1.50 MiB");
	CHECK_STR_EQ(human_size(UINT64_MAX, buf), "16.0 EiB");
	CHECK_STR_EQ(human_duration(999, buf), "999 ns");
	CHECK_STR_EQ(human_duration(1500, buf), "1.50 us");
	CHECK_STR_EQ(human_duration(12345678, buf), "12.3 ms");
	CHECK_STR_EQ(human_duration(5000000000, buf), "5.00 s");
	CHECK_STR_EQ(human_duration(3725000000000, buf), "1h 02m 05s");
}

TEST(rough_counts_are_exact_while_short)
{
	char buf[HUMAN_BYTES];

	CHECK_STR_EQ(human_rough(0, buf), "0");
	CHECK_STR_EQ(human_rough(99999, buf), "99 999");
	CHECK_STR_EQ(human_rough(100000, buf), "100 k");
	CHECK_STR_EQ(human_rough(1240000, buf), "1.24 M");
	CHECK_STR_EQ(human_rough(124000000, buf), "124 M");
	CHECK_STR_EQ(human_rough(UINT64_MAX, buf), "18.4 E");
}

TEST(shares_are_whole_only_where_that_is_exact)
{
	char buf[HUMAN_BYTES];

	CHECK_STR_EQ(human_share(0, 10, buf), "0 %");
	CHECK_STR_EQ(human_share(0, 0, buf), "0 %");
	CHECK_STR_EQ(human_share(10, 10, buf), "100 %");
	CHECK_STR_EQ(human_share(1, 100000, buf), "<0.1 %");
	CHECK_STR_EQ(human_share(99999, 100000, buf), ">99.9 %");
	CHECK_STR_EQ(human_share(82, 100, buf), "82.0 %");
	CHECK_STR_EQ(human_share(1, 3, buf), "33.3 %");
	CHECK_STR_EQ(human_share(20, 10, buf), "200.0 %");
}

TEST(times_are_rfc_3339)
{
	char buf[HUMAN_BYTES];

	CHECK_STR_EQ(human_time(0, buf), "1970-01-01T00:00:00.000000000Z");
	CHECK_STR_EQ(human_time(1700000000000000001, buf), "2023-11-14T22:13:20.000000001Z");
	CHECK(human_time(UINT64_MAX, buf)[0]);
}

TEST(text_from_files_cannot_steer_the_terminal)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	human_print_text(f, "a\033[2J\xc2\x9b\xff\xc3\xa4\n", 10);
	fclose(f);
	CHECK_STR_EQ(text, "a\\x1b[2J\\xc2\\x9b\\xff\xc3\xa4");
	free(text);
}
