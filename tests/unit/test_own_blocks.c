/* A lane's last blocks: what is taken for one of them is one, whatever other lanes do meanwhile. */
#include "record/own_blocks.h"

#include "harness/random.h"
#include "harness/test.h"

_Atomic uint64_t own_blocks_told[OWN_BLOCKS_TOLD];

#define LATER (OWN_BLOCKS_MARGIN + 1)

static const void *block_at(uintptr_t addr)
{
	return (const void *)addr;
}

static void forget_told(void)
{
	for (unsigned i = 0; i < OWN_BLOCKS_TOLD; i++)
		atomic_store(&own_blocks_told[i], 0);
}

TEST(own_blocks_are_taken_once)
{
	struct own_blocks o = {0};

	own_blocks_add(&o, block_at(0x1000), 100);
	own_blocks_add(&o, block_at(0x1010), 100);
	CHECK(own_blocks_take(&o, block_at(0x1010)));
	CHECK(!own_blocks_take(&o, block_at(0x1010)));
	CHECK(own_blocks_take(&o, block_at(0x1000)));
}

TEST(own_blocks_knows_the_newest_of_each_place)
{
	const uintptr_t same_place = OWN_BLOCKS * 16;
	struct own_blocks o = {0};

	own_blocks_add(&o, block_at(0x1000), 100);
	CHECK(!own_blocks_take(&o, block_at(0x1000 + same_place)));
	own_blocks_add(&o, block_at(0x1000 + same_place), 100);
	CHECK(!own_blocks_take(&o, block_at(0x1000)));
	CHECK(own_blocks_take(&o, block_at(0x1000 + same_place)));
}

TEST(own_blocks_hears_of_a_release_by_others)
{
	const void *block = block_at(0x1000);
	struct own_blocks o = {0};

	forget_told();
	own_blocks_tell(block, 1000);
	own_blocks_add(&o, block, 1000 + LATER); /* that was before its birth */
	CHECK(own_blocks_take(&o, block));
	own_blocks_add(&o, block, 1000 + OWN_BLOCKS_MARGIN); /* and that may have been after it */
	CHECK(!own_blocks_take(&o, block));
	own_blocks_add(&o, block, 2000);
	own_blocks_tell(block, 2001);
	CHECK(!own_blocks_take(&o, block));
}

/* A thread may be late with what it has to tell. */
TEST(own_blocks_remembers_the_latest_that_was_told)
{
	const void *block = block_at(0x1000);
	struct own_blocks o = {0};

	forget_told();
	own_blocks_add(&o, block, 2000);
	own_blocks_tell(block, 3000);
	own_blocks_tell(block, 1000);
	CHECK(!own_blocks_take(&o, block));
}

/* Several lanes make and release blocks of few addresses in any order: a lane takes only those whose
 * maker it is, against a model that knows. */
TEST(own_blocks_takes_only_what_the_lane_made)
{
	enum {
		N = 40,
		N_LANES = 3
	};
	struct own_blocks o[N_LANES] = {0};
	int maker[N]; /* of a live block; -1: none */
	uint64_t random = RANDOM_SEED, ticks = 1000;
	unsigned n_taken = 0, n_others = 0;

	forget_told();
	for (unsigned k = 0; k < N; k++)
		maker[k] = -1;
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t r = random_next(&random);
		unsigned k = (unsigned)(r % N), lane = (unsigned)(r >> 32) % N_LANES;
		const void *block = block_at(0x10000 + 16 * k);

		ticks += r >> 60;
		if (maker[k] < 0) {
			own_blocks_add(&o[lane], block, ticks);
			maker[k] = (int)lane;
			continue;
		}
		if (own_blocks_take(&o[lane], block)) {
			CHECK_EQ(maker[k], (int)lane);
			n_taken++;
		} else {
			own_blocks_tell(block, ticks);
			n_others++;
		}
		maker[k] = -1;
	}
	CHECK(n_taken > 1000);
	CHECK(n_others > 1000);
}
