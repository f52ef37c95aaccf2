/* When the time of an event is estimated. */
#include "record/estimated_time.h"

#include "harness/test.h"

_Atomic uint64_t clock_heartbeat;

/* Makes n events, apart_ticks apart. Returns how many read the counter. *late_ticks: by how much a
 * time was too early, at most. */
static unsigned count_readings(struct estimated_time *c, unsigned n, uint64_t apart_ticks,
			       uint64_t *late_ticks)
{
	static uint64_t now_ticks = 1000000;
	static uint64_t last_ticks = 1000000;
	unsigned n_readings = 0;

	*late_ticks = 0;
	for (unsigned i = 0; i < n; i++) {
		now_ticks += apart_ticks;
		if (estimated_time_use(c)) {
			last_ticks++;
			CHECK(last_ticks <= now_ticks);
			if (now_ticks - last_ticks > *late_ticks)
				*late_ticks = now_ticks - last_ticks;
			continue;
		}
		estimated_time_on_reading(c, last_ticks, now_ticks);
		last_ticks = now_ticks;
		n_readings++;
	}
	return n_readings;
}

TEST(estimated_time_needs_a_heartbeat)
{
	struct estimated_time c = {0};
	uint64_t late_ticks;

	atomic_store(&clock_heartbeat, 0);
	CHECK_EQ(count_readings(&c, 1000, 3, &late_ticks), 1000);
	CHECK_EQ(c.n_estimated, 0);
}

TEST(estimated_time_replaces_most_readings_of_dense_events)
{
	struct estimated_time c = {0};
	uint64_t late_ticks;
	unsigned n;

	atomic_store(&clock_heartbeat, 1);
	n = count_readings(&c, 16000, 4, &late_ticks);
	CHECK(n >= 1000 && n <= 1010);
	CHECK(c.n_estimated >= 16000 - n - ESTIMATED_TIME_MAX_EVENTS && c.n_estimated <= 16000 - n);
	CHECK(late_ticks <= ESTIMATED_TIME_NEAR_TICKS);
}

/* However far apart the events are, an estimate is not much further from the truth than
 * ESTIMATED_TIME_NEAR_TICKS. */
TEST(estimated_time_is_near)
{
	uint64_t late_ticks;

	atomic_store(&clock_heartbeat, 1);
	for (uint64_t apart = 1; apart < 4 * ESTIMATED_TIME_NEAR_TICKS; apart++) {
		struct estimated_time c = {0};

		count_readings(&c, 10, apart, &late_ticks); /* the first ones may be further off */
		count_readings(&c, 1000, apart, &late_ticks);
		CHECK(late_ticks <= 2 * ESTIMATED_TIME_NEAR_TICKS);
		if (apart > ESTIMATED_TIME_NEAR_TICKS)
			CHECK_EQ(late_ticks, 0);
	}
}

TEST(estimated_time_ends_with_the_heartbeat)
{
	struct estimated_time c = {0};
	uint64_t late_ticks;

	atomic_store(&clock_heartbeat, 1);
	count_readings(&c, 100, 4, &late_ticks);
	while (c.n_left < 5)
		count_readings(&c, 1, 4, &late_ticks);
	CHECK(estimated_time_use(&c));
	atomic_store(&clock_heartbeat, 2);
	CHECK(!estimated_time_use(&c));
	CHECK_EQ(count_readings(&c, 1, 1000000, &late_ticks), 1); /* a pause ... */
	CHECK(!estimated_time_use(&c)); /* ... after which nothing is known */
	atomic_store(&clock_heartbeat, 0);
	CHECK_EQ(count_readings(&c, 10, 4, &late_ticks), 10);
}

/* A reading that is needed anyway (an allocation, where there are several lanes) does not use up
 * what is left. */
TEST(estimated_time_goes_on_after_a_reading_that_was_not_due)
{
	struct estimated_time c = {.heartbeat = 1, .n_group = 7, .n_left = 5};

	atomic_store(&clock_heartbeat, 1);
	estimated_time_on_reading(&c, 1000, 1010);
	CHECK_EQ(c.n_left, 5);
	estimated_time_on_reading(&c, 1000, 1000 + 10 * ESTIMATED_TIME_NEAR_TICKS);
	CHECK_EQ(c.n_left, 0);
	CHECK_EQ(c.n_estimated, 2);
}
