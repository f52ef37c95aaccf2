/* Ranges of a recording that could not be read. */
#include "harness/test.h"

#include "recording/damage.h"

TEST(ranges_are_kept_and_their_bytes_counted)
{
	struct damage d = {.n_ranges = 0};

	damage_add(&d, 100, 10, "block %d", 7);
	damage_add(&d, 300, 5, "chunk");
	CHECK_EQ(d.n_ranges, 2u);
	CHECK_EQ(d.n_bytes, 15u);
	CHECK_EQ(d.range[0].offset, 100u);
	CHECK_STR_EQ(d.range[0].text, "block 7");
}

TEST(a_byte_in_several_ranges_counts_once)
{
	struct damage d = {.n_ranges = 0};

	damage_add(&d, 100, 50, "a");
	damage_add(&d, 120, 10, "inside");
	CHECK_EQ(d.n_bytes, 50u);
	damage_add(&d, 140, 40, "overlaps the end");
	CHECK_EQ(d.n_bytes, 80u);
	damage_add(&d, 300, 10, "apart");
	damage_add(&d, 90, 300, "around all");
	CHECK_EQ(d.n_bytes, 300u);
	CHECK_EQ(d.n_ranges, 5u);
}

TEST(lengths_beyond_all_files_do_not_wrap_around)
{
	struct damage d = {.n_ranges = 0};

	damage_add(&d, 100, UINT64_MAX, "damaged length");
	damage_add(&d, 0, 100, "before");
	CHECK_EQ(d.n_bytes, UINT64_MAX);
}

TEST(more_ranges_than_are_kept_are_counted)
{
	struct damage d = {.n_ranges = 0};

	for (unsigned i = 0; i < 1000; i++)
		damage_add(&d, 100ull * i, 10, "block");
	CHECK_EQ(d.n_ranges, 1000u);
	CHECK_EQ(d.n_bytes, 10000u);
	CHECK_EQ(d.n_kept, (size_t)DAMAGE_MAX_RANGES);
}
