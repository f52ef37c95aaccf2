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
	atomic_store(&clock_is_shared, 1); /* another thread, or a handler of a signal */
	CHECK(end_ticks(1) > BEGAN);
	atomic_store(&clock_is_shared, 0);
	CHECK_EQ(end_ticks(1), BEGAN);
}

/* The time of a birth and of a release, when the lane may carry one. */
static bool is_carried(uint64_t ticks)
{
	return ticks == BEGAN + 1;
}

static void let_carry(void)
{
	thread.first.enc.ticks = BEGAN;
	thread.first.time = (struct carried_time){.beat = 1, .n_group = 7, .n_left = 7};
	atomic_store(&clock_beat, 1);
}

TEST(capture_carries_all_times_of_a_program_with_one_lane)
{
	int block;

	let_carry();
	CHECK(is_carried(capture_birth_ticks_quick(&thread.first)));
	CHECK_EQ(capture_wait_for_block(&thread.first, &block), 0);
	let_carry();
	CHECK(is_carried(capture_ticks_quick(&thread.first, true)));
}

TEST(capture_reads_the_time_of_births_where_others_make_events)
{
	let_carry();
	atomic_store(&clock_is_shared, 1);
	CHECK(!is_carried(capture_birth_ticks_quick(&thread.first)));
	atomic_store(&clock_is_shared, 0);
}

TEST(capture_reads_the_time_of_releases_of_blocks_that_others_made)
{
	static _Alignas(16) int mine[4], other[4];
	uint64_t ticks;

	clock_init();
	let_carry();
	atomic_store(&clock_is_shared, 1);
	capture_note_birth(&thread.first, mine);
	CHECK_EQ(capture_wait_for_block(&thread.first, mine), 0);
	ticks = capture_wait_for_block(&thread.first, other);
	CHECK(ticks > BEGAN);
	CHECK_EQ(atomic_load(own_blocks_told_at(other)), ticks);
	CHECK(capture_wait_for_block(&thread.first, mine)); /* it is not any more */
	atomic_store(&clock_is_shared, 0);
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
