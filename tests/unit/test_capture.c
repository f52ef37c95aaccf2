/* The time of a realloc's end: that of its beginning, unless something else may have made events since. */
#include "harness/test.h"
#include "record/capture.h"

#define BEGAN 12345 /* no clock tells so little */

static struct thread thread;

static uint64_t end_ticks(size_t size_bytes)
{
	thread.first.enc.ticks = BEGAN;
	return capture_end_ticks_quick(&thread.first, size_bytes);
}

TEST(capture_gives_a_realloc_one_time)
{
	CHECK_EQ(end_ticks(1), BEGAN);
	CHECK_EQ(end_ticks(CAPTURE_SMALL_BYTES), BEGAN);
}

TEST(capture_reads_the_time_again_after_a_large_copy)
{
	CHECK(end_ticks(CAPTURE_SMALL_BYTES + 1) > BEGAN);
}

TEST(capture_reads_the_time_again_where_others_make_events)
{
	thread.lane[1] = &thread.first; /* a handler of a signal did, once */
	CHECK(end_ticks(1) > BEGAN);
	thread.lane[1] = NULL;
	atomic_store(&clock_is_shared, 1); /* another thread */
	CHECK(end_ticks(1) > BEGAN);
	atomic_store(&clock_is_shared, 0);
	CHECK_EQ(end_ticks(1), BEGAN);
}
