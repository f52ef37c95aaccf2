/* Ticks to nanoseconds. */
#include "harness/test.h"

#include "recording/timebase.h"

TEST(two_readings_give_the_length_of_a_tick)
{
	struct timebase t;

	timebase_init(&t, 1000, 50, false);
	CHECK(!timebase_is_known(&t));
	timebase_add(&t, 2000, 50 + 5300);
	CHECK(timebase_is_known(&t));
	CHECK_EQ(timebase_ns(&t, 1000), 0);
	CHECK_EQ(timebase_ns(&t, 1010), 53);
	CHECK_EQ(timebase_ns(&t, 3000), 10600);
	CHECK_EQ(timebase_ns(&t, 0), 0); /* before the start */
}

TEST(the_latest_reading_counts_and_odd_ones_do_not)
{
	struct timebase t;

	timebase_init(&t, 1000, 0, false);
	timebase_add(&t, 3000, 4000);
	timebase_add(&t, 2000, 9000); /* earlier in ticks */
	timebase_add(&t, 4000, 100); /* earlier in ns */
	timebase_add(&t, 0, 0);
	CHECK_EQ(timebase_ns(&t, 2000), 2000);
}

TEST(a_clock_in_nanoseconds_needs_no_second_reading)
{
	struct timebase t;

	timebase_init(&t, 500, 500, true);
	CHECK(timebase_is_known(&t));
	CHECK_EQ(timebase_ns(&t, 700), 200);
}

TEST(large_numbers_do_not_overflow)
{
	struct timebase t;
	uint64_t year_ns = 31536000ull * 1000000000ull;

	timebase_init(&t, 0, 0, false);
	timebase_add(&t, 1ull << 50, 6ull << 50);
	CHECK_EQ(timebase_ns(&t, year_ns), year_ns * 6);
	CHECK_EQ(timebase_ns(&t, UINT64_MAX), UINT64_MAX);
}

TEST(a_steady_reading_counts_until_the_time_has_doubled)
{
	struct timebase t;

	timebase_init(&t, 0, 1000, false);
	timebase_add_steadily(&t, 100, 1000 + 999999999); /* too near */
	CHECK(!timebase_is_steady(&t));
	timebase_add_steadily(&t, 1000000000, 1000 + 1500000000);
	CHECK(timebase_is_steady(&t));
	timebase_add_steadily(&t, 1100000000, 1000 + 1999999999); /* not yet twice as long */
	CHECK_EQ(timebase_ns(&t, 1000), 1500);
	timebase_add_steadily(&t, 1000000000, 1000 + 9000000000); /* no later tick */
	CHECK_EQ(timebase_ns(&t, 1000), 1500);
	timebase_add_steadily(&t, 10000000000, 1000 + 20000000000);
	CHECK_EQ(timebase_ns(&t, 1000), 2000);
	timebase_add_steadily(&t, 20000000000, 1000 + 31000000000);
	CHECK_EQ(timebase_ns(&t, 1000), 2000);
}
