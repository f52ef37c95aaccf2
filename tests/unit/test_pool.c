/* The hand-over of blocks between threads and the writer, with real threads: every block that is
 * given comes back exactly once, with what its owner wrote. Run under TSan as well. */
#include "record/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "record/sys.h"

#define N_THREADS 6
#define N_ROUNDS 20000

static struct recorder *rec;
static struct session *session;
static _Atomic uint64_t n_written, sum_written;
static _Atomic bool is_done;

/* The recorder's own wakes a sleeping writer; ours polls. */
void record_wake_writer(struct recorder *r)
{
	atomic_fetch_add(&r->work, 1);
}

static void nothing_to_ensure(struct recorder *r)
{
	(void)r;
}

static void set_up(uint32_t n_areas, uint32_t n_blocks)
{
	rec = calloc(1, sizeof(*rec));
	rec->ensure_writer = nothing_to_ensure;
	session = calloc(1, sizeof(*session));
	for (uint32_t i = 0; i < n_areas; i++) {
		session->area[i].blocks = calloc(n_blocks, sizeof(struct block));
		session->area[i].n_blocks = n_blocks;
		atomic_store(&session->area[i].free_bits, (1ull << n_blocks) - 1);
	}
	atomic_store(&session->n_areas, n_areas);
	atomic_store(&n_written, 0);
	atomic_store(&sum_written, 0);
	atomic_store(&is_done, false);
}

static void tear_down(void)
{
	for (uint32_t i = 0; i < atomic_load(&session->n_areas); i++)
		free(session->area[i].blocks);
	free(session);
	free(rec);
}

static void *producer(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg << 32;

	for (uint64_t i = 0; i < N_ROUNDS; i++) {
		struct area *area;
		uint32_t slot;

		if (!pool_take(rec, session, &area, &slot))
			return (void *)1;
		area->blocks[slot].sequence = base + i;
		memcpy(area->blocks[slot].data, &i, sizeof(i));
		atomic_store_explicit(&area->blocks[slot].used_bytes, 8, memory_order_release);
		pool_give_full(rec, area, slot);
	}
	return NULL;
}

static bool drain(void)
{
	bool any = false;

	for (uint32_t i = 0; i < atomic_load(&session->n_areas); i++) {
		struct area *area = &session->area[i];
		uint64_t bits = pool_take_full(area);

		for (; bits; bits &= bits - 1) {
			uint32_t slot = (uint32_t)__builtin_ctzll(bits);
			uint64_t low;

			memcpy(&low, area->blocks[slot].data, sizeof(low));
			atomic_fetch_add(&sum_written, area->blocks[slot].sequence);
			atomic_fetch_add(&n_written, low == (uint32_t)area->blocks[slot].sequence);
			pool_give_free(rec, area, slot);
			any = true;
		}
	}
	return any;
}

static void *consumer(void *arg)
{
	while (!atomic_load(&is_done))
		drain();
	while (drain())
		;
	return arg;
}

TEST(pool_gives_every_block_back_once_with_its_contents)
{
	pthread_t producers[N_THREADS], writer;
	uint64_t expected = 0;

	set_up(2, 4); /* fewer blocks than would be comfortable: threads must wait */
	CHECK_EQ(pthread_create(&writer, NULL, consumer, NULL), 0);
	for (uintptr_t i = 0; i < N_THREADS; i++)
		CHECK_EQ(pthread_create(&producers[i], NULL, producer, (void *)i), 0);
	for (unsigned i = 0; i < N_THREADS; i++) {
		void *failed;

		pthread_join(producers[i], &failed);
		CHECK_NULL(failed);
	}
	atomic_store(&is_done, true);
	pthread_join(writer, NULL);
	for (uint64_t i = 0; i < N_THREADS; i++)
		expected += (i << 32) * N_ROUNDS + (uint64_t)N_ROUNDS * (N_ROUNDS - 1) / 2;
	CHECK_EQ(atomic_load(&n_written), (uint64_t)N_THREADS * N_ROUNDS);
	CHECK_EQ(atomic_load(&sum_written), expected);
	CHECK_EQ(atomic_load(&session->area[0].free_bits), 15);
	CHECK_EQ(atomic_load(&session->area[1].free_bits), 15);
	tear_down();
}

/* What the writer has just read is the last to be used again. */
TEST(pool_gives_blocks_in_turn)
{
	static const uint32_t next[] = {3, 0, 1};
	struct area *area;
	uint32_t slot;

	set_up(1, 4);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(pool_try_take(session, &area, &slot));
		CHECK_EQ(slot, i);
	}
	pool_give_free(rec, area, 0);
	pool_give_free(rec, area, 1);
	for (uint32_t i = 0; i < ARRAY_LEN(next); i++) {
		CHECK(pool_try_take(session, &area, &slot));
		CHECK_EQ(slot, next[i]);
	}
	CHECK(!pool_try_take(session, &area, &slot));
	tear_down();
}

TEST(pool_without_areas_refuses_at_once)
{
	struct area *area;
	uint32_t slot;

	set_up(0, 1);
	CHECK(!pool_take(rec, session, &area, &slot));
	tear_down();
}

TEST(pool_hands_out_all_blocks_and_then_none)
{
	struct area *area;
	uint32_t slot;

	set_up(1, 16);
	for (unsigned i = 0; i < 16; i++)
		CHECK(pool_try_take(session, &area, &slot));
	CHECK(!pool_try_take(session, &area, &slot));
	pool_give_free(rec, &session->area[0], 5);
	CHECK(pool_try_take(session, &area, &slot));
	CHECK_EQ(slot, 5);
	tear_down();
}

TEST(pool_waits_for_a_writer_that_is_missed_only_once)
{
	struct area *area;
	uint32_t slot;
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC);

	set_up(1, 1);
	CHECK(pool_take(rec, session, &area, &slot));
	atomic_store(&rec->is_writer_missed, 1); /* as after 30 s */
	CHECK(!pool_take(rec, session, &area, &slot));
	CHECK(sys_clock_ns(CLOCK_MONOTONIC) - began_ns < 10 * NS_PER_S);
	pool_give_free(rec, area, slot);
	CHECK_EQ(atomic_load(&rec->is_writer_missed), 0);
	CHECK(pool_take(rec, session, &area, &slot));
	tear_down();
}
