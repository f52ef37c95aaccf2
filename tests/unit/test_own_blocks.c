/* A lane's last blocks: a block that was not added, or was taken before, is never taken for one of them. */
#include "record/own_blocks.h"

#include "harness/random.h"
#include "harness/test.h"

static const void *block_at(uintptr_t addr)
{
	return (const void *)addr;
}

TEST(own_blocks_are_taken_once)
{
	struct own_blocks o = {0};

	own_blocks_add(&o, block_at(0x1000));
	own_blocks_add(&o, block_at(0x1010));
	CHECK(own_blocks_take(&o, block_at(0x1010)));
	CHECK(!own_blocks_take(&o, block_at(0x1010)));
	CHECK(own_blocks_take(&o, block_at(0x1000)));
}

TEST(own_blocks_knows_the_newest_of_each_place)
{
	const uintptr_t same_place = OWN_BLOCKS * 16;
	struct own_blocks o = {0};

	own_blocks_add(&o, block_at(0x1000));
	CHECK(!own_blocks_take(&o, block_at(0x1000 + same_place)));
	own_blocks_add(&o, block_at(0x1000 + same_place));
	CHECK(!own_blocks_take(&o, block_at(0x1000)));
	CHECK(own_blocks_take(&o, block_at(0x1000 + same_place)));
}

/* Whatever is taken is live, against a model of all blocks. */
TEST(own_blocks_takes_only_what_is_live)
{
	enum {
		N = 200
	};
	struct own_blocks o = {0};
	bool is_live[N] = {0};
	uint64_t random = RANDOM_SEED;
	unsigned n_taken = 0;

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t r = random_next(&random);
		unsigned k = (unsigned)(r % N);
		const void *block = block_at(0x10000 + 16 * k);

		if (!is_live[k]) {
			CHECK(!own_blocks_take(&o, block));
			own_blocks_add(&o, block);
		} else {
			n_taken += own_blocks_take(&o, block);
		}
		is_live[k] = !is_live[k];
	}
	CHECK(n_taken > 1000);
}
