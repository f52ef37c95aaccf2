/* The times of calls: when they are read, and when they are estimated. */
#include "harness/test.h"
#include "record/capture_fast.h"

#define BEGAN 12345 /* earlier than any clock reading */

static struct thread thread;

static uint64_t end_ticks(size_t size_bytes)
{
	thread.first.enc.ticks = BEGAN;
	return capture_end_fast(&thread.first, size_bytes).ticks;
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
	atomic_store(&clock_many_lanes, 1); /* another thread, or a handler of a signal */
	CHECK(end_ticks(1) > BEGAN);
	atomic_store(&clock_many_lanes, 0);
	CHECK_EQ(end_ticks(1), BEGAN);
}

/* Was the time of an allocation estimated? */
static bool is_estimated(uint64_t ticks)
{
	return ticks == BEGAN + 1;
}

static void allow_estimates(void)
{
	thread.first.enc.ticks = BEGAN;
	thread.first.time = (struct estimated_time){.heartbeat = 1, .n_group = 7, .n_left = 7};
	atomic_store(&clock_heartbeat, 1);
}

static uint64_t alloc_ticks(const void *block)
{
	allow_estimates();
	return capture_alloc_moment_fast(&thread.first, block).ticks;
}

TEST(capture_estimates_all_times_of_a_program_with_one_lane)
{
	static _Alignas(16) int block[4];

	CHECK(is_estimated(alloc_ticks(block)));
	CHECK_EQ(capture_publish_release(&thread.first, block).ticks, 0);
	CHECK_EQ(capture_publish_release(&thread.first, block).owner_tag, 0);
}

/* Puts an event, so that the lane has its tag. */
static void put(unsigned kind, const void *block, struct capture_moment when)
{
	struct event_call call = {
		.ticks = when.ticks, .addr = (uintptr_t)block, .owner_tag = when.owner_tag};

	event_remember_call(&thread.first.enc, kind, &call);
}

TEST(capture_estimates_times_only_of_what_no_other_lane_touched)
{
	static _Alignas(16) int mine[4], other[4];
	struct capture_moment when;

	clock_init();
	atomic_store(&clock_many_lanes, 1);
	allow_estimates();
	when = capture_alloc_moment_fast(&thread.first, mine);
	CHECK(when.ticks > BEGAN + 1); /* another lane may have used the address */
	put(EVENT_MALLOC, mine, when);
	when = capture_publish_release(&thread.first, mine);
	CHECK_EQ(when.ticks, 0);
	put(EVENT_FREE, mine, when);
	CHECK(is_estimated(alloc_ticks(mine)));
	when = capture_publish_release(&thread.first, other);
	CHECK(when.ticks > BEGAN);
	CHECK_EQ(atomic_load(address_owner_stamp_slot(other)), when.ticks);
	CHECK(capture_publish_release(&thread.first, mine).ticks); /* the last event was a free */
	address_owner_publish_free(mine, 1);
	CHECK(!is_estimated(alloc_ticks(mine)));
	atomic_store(&clock_many_lanes, 0);
}

/* The time of a free that was read as ticks, when the last event of the lane is at last_ticks. */
static uint64_t free_ticks(uint64_t ticks, uint64_t last_ticks)
{
	static struct block block;
	struct lane *lane = &thread.first;

	lane->block = &block;
	event_encoder_begin(&lane->enc, block.data, block.data + sizeof(block.data), last_ticks);
	CHECK(capture_put_long(lane, EVENT_FREE, &block, 0, 1,
			       (struct capture_moment){.ticks = ticks}));
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
