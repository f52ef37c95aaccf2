/* The table of live blocks, against a plain array. */
#include "harness/random.h"
#include "harness/test.h"

#include "ingest/live.h"

#define N_ADDRESSES 20000

static uint64_t random_state = RANDOM_SEED;

TEST(adding_finding_and_taking_agree_with_an_array)
{
	static uint64_t expected[N_ADDRESSES]; /* ordinal + 1; 0 not live */
	struct live l = {0};
	struct live_block out;
	struct err err = {0};

	CHECK_NULL(live_find(&l, 16));
	CHECK(!live_take(&l, 16, &out));
	for (uint64_t i = 1; i < 400000; i++) {
		size_t k = random_next(&random_state) % N_ADDRESSES;
		/* partly dense, partly far apart, as heaps are */
		uint64_t addr = 0x7f0000000010 + k * 16 + (k % 13 == 0 ? k << 26 : 0);
		struct live_block b = {.addr = addr, .ordinal = i};

		if (random_next(&random_state) % 2) {
			CHECK_OK(live_reserve(&l, &err));
			CHECK_EQ(live_add(&l, &b) != NULL, expected[k] == 0);
			if (!expected[k])
				expected[k] = i + 1;
			CHECK_EQ(live_find(&l, addr)->ordinal + 1, expected[k]);
		} else {
			CHECK_EQ(live_take(&l, addr, &out), expected[k] != 0);
			CHECK(!expected[k] || out.ordinal + 1 == expected[k]);
			expected[k] = 0;
			CHECK_NULL(live_find(&l, addr));
		}
	}
	for (size_t k = 0; k < N_ADDRESSES; k++) {
		uint64_t addr = 0x7f0000000010 + k * 16 + (k % 13 == 0 ? k << 26 : 0);
		const struct live_block *b = live_find(&l, addr);

		CHECK_EQ(b ? b->ordinal + 1 : 0, expected[k]);
	}
	live_fini(&l);
}

static void grow_and_shrink(size_t budget_bytes)
{
	struct live l = {.budget_bytes = budget_bytes};
	struct live_block b = {0}, out;
	struct err err = {0};
	uint64_t n = 300000;

	for (uint64_t i = 1; i <= n; i++) {
		b.addr = i * 64;
		b.size_bytes = i;
		CHECK_OK(live_reserve(&l, &err));
		CHECK(live_add(&l, &b) != NULL);
	}
	CHECK_EQ(l.n, n);
	CHECK_EQ(l.is_file, budget_bytes != 0);
	spill_trim(l.block_memory);
	for (uint64_t i = 1; i <= n; i++) {
		CHECK(live_take(&l, i * 64, &out));
		CHECK_EQ(out.size_bytes, i);
	}
	CHECK_EQ(l.n, 0);
	live_fini(&l);
}

TEST(it_grows_far_beyond_its_first_size)
{
	grow_and_shrink(0);
}

TEST(beyond_its_budget_it_lies_in_a_file)
{
	grow_and_shrink(1 << 20);
}
