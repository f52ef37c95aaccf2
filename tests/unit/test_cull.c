/* What culling leaves out, what stays, and that the sums are exact. */
#include "cull_world.h"

#include "record/pool.h"

#define BLOCK(n) (0x10000 + 64 * (uint64_t)(n))

TEST(short_lived_allocations_are_sums)
{
	int fd = cull_world_begin(10000, 100);

	for (unsigned i = 0; i < 100; i++) {
		cull_world_malloc(1, BLOCK(i % 7), 100 + i, 1 + i % 3);
		if (i % 2)
			cull_world_malloc(1, BLOCK(100), 8, 4);
		cull_world_free(1, BLOCK(i % 7));
		if (i % 2)
			cull_world_free(2, BLOCK(100));
		if (i % 10 == 0)
			cull_world_step();
	}
	cull_world_malloc(2, BLOCK(1), 5000, 2); /* stays */
	cull_world_finish();
	CHECK_EQ(cull_world_n_culled(), 150);
	cull_world_end(fd);
}

TEST(a_chain_is_left_out_or_stays_whole)
{
	int fd = cull_world_begin(10000, 100);

	cull_world_malloc(1, BLOCK(1), 10, 1);
	cull_world_realloc(1, BLOCK(1), BLOCK(2), 20, 2);
	cull_world_step();
	cull_world_realloc(2, BLOCK(2), BLOCK(2), 30, 2);
	cull_world_free(1, BLOCK(2)); /* young */
	cull_world_malloc(1, BLOCK(3), 10, 1);
	cull_world_sleep(60);
	cull_world_realloc(1, BLOCK(3), BLOCK(4), 20, 2);
	cull_world_step();
	cull_world_sleep(60);
	cull_world_free(1, BLOCK(4)); /* the block is young, the chain is old */
	cull_world_finish();
	CHECK_EQ(cull_world_n_culled(), 3);
	cull_world_end(fd);
}

/* Temporary: freed before its thread allocated again. Both allocations are made by one thread. */
TEST(what_is_left_out_between_an_allocation_and_its_free_counts)
{
	int fd = cull_world_begin(10000, 100);

	cull_world_malloc(1, BLOCK(1), 10, 1);
	cull_world_sleep(200);
	cull_world_step();
	cull_world_malloc(1, BLOCK(2), 20, 2); /* left out */
	cull_world_free(1, BLOCK(2));
	cull_world_free(1, BLOCK(1)); /* not temporary */
	cull_world_step();
	cull_world_finish();
	CHECK_EQ(cull_world_n_culled(), 1);
	cull_world_end(fd);
}

TEST(what_is_left_out_behind_the_free_counts_too)
{
	int fd = cull_world_begin(10000, 100);

	cull_world_malloc(1, BLOCK(1), 10, 1);
	cull_world_sleep(200);
	cull_world_step();
	cull_world_malloc(1, BLOCK(2), 20, 2); /* undecided when the other block is freed */
	cull_world_free(1, BLOCK(1)); /* not temporary */
	cull_world_step();
	cull_world_free(1, BLOCK(2));
	cull_world_finish();
	CHECK_EQ(cull_world_n_culled(), 1);
	cull_world_end(fd);
}

TEST(sums_between_an_allocation_and_its_free_do_not_count)
{
	int fd = cull_world_begin(10000, 100);

	cull_world_malloc(1, BLOCK(2), 20, 2);
	cull_world_free(1, BLOCK(2));
	cull_world_malloc(1, BLOCK(1), 10, 1);
	cull_world_step(); /* writes the sums */
	cull_world_sleep(200);
	cull_world_step();
	cull_world_free(1, BLOCK(1)); /* temporary, and stays */
	cull_world_finish();
	CHECK_EQ(cull_world_n_culled(), 1);
	cull_world_end(fd);
}

static void act_at_random(uint32_t seed, uint64_t max_pending)
{
	int fd = cull_world_begin(max_pending, 20);

	cull_world->seed = seed;
	for (unsigned i = 0; i < 10000; i++) {
		cull_world_act();
		if (cull_world->seed >> 9 & 1 && i % (1 + seed * 37) == 0)
			cull_world_step();
	}
	cull_world_finish();
	CHECK(max_pending < 100 || cull_world_n_culled() > 1000);
	cull_world_end(fd);
}

TEST(figures_are_exact_whatever_the_program_does)
{
	for (uint32_t seed = 1; seed < 20; seed++)
		act_at_random(seed, 10000);
}

TEST(figures_are_exact_when_too_much_is_pending)
{
	for (uint32_t seed = 1; seed < 20; seed++)
		act_at_random(seed, seed);
}

/* Many calls are decoded at once, and the last ones wait for their frees. */
TEST(figures_are_exact_when_much_is_taken_at_once)
{
	for (uint32_t seed = 1; seed < 20; seed++) {
		int fd = cull_world_begin(10000, 1000);

		cull_world->seed = seed;
		for (unsigned i = 0; i < 15000; i++) {
			cull_world->n_acting = i / 5000 + 1;
			cull_world->now -= CULL_WORLD_TICK / 2; /* closely */
			if (i % 50 == 0) { /* all other stacks are defined */
				cull_world_malloc(1, 0x800000, 1, CULL_WORLD_STACKS);
				cull_world_free(1, 0x800000);
			}
			cull_world_act();
		}
		cull_world_finish();
		CHECK(cull_world_n_culled() > 5000);
		cull_world_end(fd);
	}
}

TEST(no_area_is_added_for_output_when_there_are_enough_for_threads)
{
	int fd = cull_world_begin(10000, 20);
	struct area *area;
	uint32_t slot;

	for (unsigned i = 1; i < CULL_WORLD_THREADS; i++)
		cull_world_rare(i, EVENT_MARKER, i);
	cull_world_malloc(CULL_WORLD_THREADS, BLOCK(9), 10, 0);
	cull_world_step_soon(); /* the others have output blocks */
	while (pool_try_take(&cull_world->session, &area, &slot))
		; /* other threads */
	cull_world_sleep(30);
	cull_world_step_soon();
	CHECK_EQ(atomic_load(&cull_world->session.n_areas), 1);
	cull_world_finish();
	cull_world_end(fd);
}
