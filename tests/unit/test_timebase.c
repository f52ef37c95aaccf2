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

TEST(a_steady_reading_counts_for_later_ticks_until_the_time_has_doubled)
{
	struct timebase t;
	uint64_t there_ns;

	timebase_init(&t, 0, 1000, false);
	timebase_add_steadily(&t, 100, 1000 + 999999999); /* too near */
	CHECK(!timebase_is_steady(&t));
	timebase_add_steadily(&t, 1000000000, 1000 + 1500000000);
	CHECK(timebase_is_steady(&t));
	CHECK_EQ(timebase_ns(&t, 1000), 1500); /* also before the reading */
	timebase_add_steadily(&t, 1100000000, 1000 + 1999999999); /* not yet twice as long */
	CHECK_EQ(timebase_ns(&t, 2000000000), 3000000000);
	timebase_add_steadily(&t, 1000000000, 1000 + 9000000000); /* no later tick */
	CHECK_EQ(timebase_ns(&t, 2000000000), 3000000000);
	there_ns = timebase_ns(&t, 10000000000);
	timebase_add_steadily(&t, 10000000000, 1000 + 20000000000);
	CHECK_EQ(timebase_ns(&t, 1000), 1500); /* what was read before stays */
	CHECK_EQ(timebase_ns(&t, 9999999999), there_ns - 2);
	CHECK_EQ(timebase_ns(&t, 10000000000), there_ns);
	CHECK_EQ(timebase_ns(&t, 10000001000), there_ns + 2000); /* and later ticks are longer */
	timebase_add_steadily(&t, 20000000000, 1000 + 31000000000);
	CHECK_EQ(timebase_ns(&t, 10000001000), there_ns + 2000);
	CHECK_EQ(t.n_pieces, 2);
}

TEST(times_never_go_back_from_piece_to_piece)
{
	struct timebase t;
	uint64_t last_ns = 0;

	timebase_init(&t, 0, 0, false);
	for (uint64_t s = 1; s <= 1u << 20; s *= 2) /* a clock that becomes slower and faster */
		timebase_add_steadily(&t, s * 3000000000 + (s & 0x55555 ? 1000000 : 0),
				      s * 1000000000 + 1);
	CHECK(t.n_pieces > 15);
	for (uint64_t s = 0; s <= 1u << 20; s += 1 + s / 64) {
		for (uint64_t ticks = s * 3000000000; ticks < s * 3000000000 + 2000000;
		     ticks += 999983) {
			uint64_t ns = timebase_ns(&t, ticks);

			CHECK(ns >= last_ns);
			CHECK_EQ(ns, timebase_ns_plain(timebase_piece_of(&t, ticks), ticks));
			last_ns = ns;
		}
	}
}

TEST(more_readings_than_pieces_are_taken)
{
	struct timebase t;

	timebase_init(&t, 0, 0, false);
	for (unsigned i = 0; i < 64; i++)
		timebase_add_steadily(&t, 1ull << i, (1ull << i) + (1ull << 30));
	CHECK(t.n_pieces <= TIMEBASE_MAX_PIECES);
}
