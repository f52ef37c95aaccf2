/* The table of live blocks, against a plain array. */
#include <string.h>

#include "harness/random.h"
#include "harness/test.h"

#include "ingest/live.h"

#define N_ADDRESSES 20000

static uint64_t random_state = RANDOM_SEED;

static bool count_and_compare(void *user, const struct live_block *block)
{
	++*(uint64_t *)user;
	return block->size_bytes == ~block->ordinal;
}

static void agree_with_an_array(size_t budget_bytes)
{
	static uint64_t expected[N_ADDRESSES]; /* ordinal + 1; 0 not live */
	struct live l = {.budget_bytes = budget_bytes};
	uint64_t n_live = 0, n_visited = 0;
	struct live_block out;
	struct err err = {0};

	memset(expected, 0, sizeof(expected));
	CHECK_NULL(live_find(&l, 16));
	CHECK(!live_take(&l, 16, &out));
	for (uint64_t i = 1; i < 400000; i++) {
		size_t k = random_next(&random_state) % N_ADDRESSES;
		/* partly dense, partly far apart, as heaps are */
		uint64_t addr = 0x7f0000000010 + k * 16 + (k % 13 == 0 ? k << 26 : 0);
		struct live_block b = {
			.addr = addr,
			.ordinal = i,
			.size_bytes = ~i,
			.at_ns = i / 3,
			.tag = i * i,
			.chain = i % 50 ? 0 : i,
			.thread = (uint32_t)(i % 7),
			.stack = (uint32_t)(i / 5 * 2654435761u),
			.extra_bytes = i % 2 ? 0 : UINT32_MAX,
			.kind = (uint8_t)(i % 200),
			.allocator = (uint8_t)(i % 150),
		};

		if (random_next(&random_state) % 2) {
			CHECK_OK(live_reserve(&l, &err));
			CHECK_EQ(live_add(&l, &b) != NULL, expected[k] == 0);
			if (!expected[k])
				expected[k] = i + 1;
			CHECK_EQ(live_find(&l, addr)->ordinal + 1, expected[k]);
		} else {
			CHECK_EQ(live_take(&l, addr, &out), expected[k] != 0);
			CHECK(!expected[k] || out.ordinal + 1 == expected[k]);
			CHECK(!expected[k] ||
			      (out.addr == addr && out.tag == out.ordinal * out.ordinal &&
			       out.at_ns == out.ordinal / 3 && out.thread == out.ordinal % 7 &&
			       out.kind == out.ordinal % 200 &&
			       out.chain == (out.ordinal % 50 ? 0 : out.ordinal) &&
			       out.stack == (uint32_t)(out.ordinal / 5 * 2654435761u) &&
			       out.extra_bytes == (out.ordinal % 2 ? 0 : UINT32_MAX) &&
			       out.allocator == out.ordinal % 150));
			expected[k] = 0;
			CHECK_NULL(live_find(&l, addr));
		}
	}
	for (size_t k = 0; k < N_ADDRESSES; k++) {
		uint64_t addr = 0x7f0000000010 + k * 16 + (k % 13 == 0 ? k << 26 : 0);
		const struct live_block *b = live_find(&l, addr);

		CHECK_EQ(b ? b->ordinal + 1 : 0, expected[k]);
		n_live += expected[k] != 0;
	}
	live_each(&l, count_and_compare, &n_visited);
	CHECK_EQ(n_visited, n_live);
	CHECK_EQ(live_count(&l), n_live);
	live_fini(&l);
}

TEST(adding_finding_and_taking_agree_with_an_array)
{
	agree_with_an_array(0);
}

TEST(old_blocks_that_moved_out_are_found_and_taken)
{
	agree_with_an_array(1);
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
	CHECK_EQ(live_count(&l), n);
	CHECK_EQ(l.cold != NULL, budget_bytes != 0);
	for (uint64_t i = 1; i <= n; i++) {
		CHECK(live_take(&l, i * 64, &out));
		CHECK_EQ(out.size_bytes, i);
	}
	CHECK_EQ(live_count(&l), 0);
	live_fini(&l);
}

TEST(it_grows_far_beyond_its_first_size)
{
	grow_and_shrink(0);
}

TEST(beyond_its_budget_old_blocks_move_out)
{
	grow_and_shrink(1 << 20);
}
