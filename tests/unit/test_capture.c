/* The times of calls: when they are read again. */
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

/* Of a free whose time was read as this, when the lane's last time is that. */
static uint64_t free_ticks(uint64_t ticks, uint64_t last_ticks)
{
	static struct block block;
	struct lane *lane = &thread.first;

	lane->block = &block;
	lane->enc = (struct event_encoder){
		.pos = block.data, .end = block.data + sizeof(block.data), .ticks = last_ticks};
	CHECK(capture_put_long(lane, EVENT_FREE, &block, 0, 1, ticks));
	return lane->enc.ticks;
}

TEST(capture_keeps_the_time_that_was_read_before_the_stack_was_looked_for)
{
	clock_init();
	CHECK_EQ(free_ticks(BEGAN, BEGAN - 1), BEGAN);
	CHECK_EQ(free_ticks(BEGAN, BEGAN), BEGAN);
}

TEST(capture_reads_the_time_again_when_the_block_is_younger)
{
	clock_init();
	CHECK(free_ticks(BEGAN, BEGAN + 1) > BEGAN + 1);
	CHECK(free_ticks(0, BEGAN) > BEGAN);
}
