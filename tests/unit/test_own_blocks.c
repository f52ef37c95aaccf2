/* What a lane takes for its own was in no other hands, whatever other lanes do meanwhile. */
#include "record/own_blocks.h"

#include "harness/random.h"
#include "harness/test.h"

_Atomic uint64_t own_blocks_told[OWN_BLOCKS_TOLD];

enum {
	N_LANES = 3
};

static struct event_encoder lane[N_LANES];
static uint64_t now_ticks;

static void *block_at(uintptr_t addr)
{
	return (void *)addr;
}

static void forget_all(void)
{
	for (unsigned i = 0; i < OWN_BLOCKS_TOLD; i++)
		atomic_store(&own_blocks_told[i], 0);
	for (unsigned i = 0; i < N_LANES; i++)
		event_encoder_begin(&lane[i], NULL, NULL, 0);
	now_ticks = 1000;
}

static void put(struct event_encoder *e, unsigned kind, const void *block, uint64_t note)
{
	struct event_call call = {.ticks = now_ticks, .addr = (uintptr_t)block, .note = note};

	event_note_call(e, kind, &call);
}

/* As the hooks do it. True: it was taken for the lane's own. */
static bool give_birth(struct event_encoder *e, const void *block)
{
	uint64_t own = own_blocks_born_again(e, block);

	put(e, EVENT_MALLOC, block, own ? own : own_blocks_note_birth(now_ticks));
	return own;
}

static bool release(struct event_encoder *e, const void *block)
{
	uint64_t own = own_blocks_released(e, block);

	put(e, EVENT_FREE, block, own ? own : own_blocks_tell(block, now_ticks));
	return own;
}

TEST(own_blocks_are_released_once)
{
	forget_all();
	CHECK(!give_birth(lane, block_at(0x1000)));
	CHECK(!give_birth(lane, block_at(0x1010)));
	CHECK(release(lane, block_at(0x1010)));
	CHECK(!release(lane, block_at(0x1010)));
	CHECK(release(lane, block_at(0x1000)));
}

TEST(own_blocks_are_born_again)
{
	void *block = block_at(0x1000);

	forget_all();
	give_birth(lane, block);
	for (unsigned i = 0; i < 3; i++) { /* at the same time: it does not depend on clocks */
		CHECK(release(lane, block));
		CHECK(give_birth(lane, block));
	}
	CHECK(!give_birth(lane, block)); /* so somebody else released it */
}

TEST(own_blocks_knows_the_newest_of_each_place)
{
	const uintptr_t same_place = EVENT_N_RECENT * 16;

	forget_all();
	give_birth(lane, block_at(0x1000));
	CHECK(!release(lane, block_at(0x1000 + same_place)));
	give_birth(lane, block_at(0x1000 + same_place));
	CHECK(!release(lane, block_at(0x1000)));
	now_ticks += OWN_BLOCKS_MARGIN + 1;
	give_birth(lane, block_at(0x1000 + same_place));
	CHECK(release(lane, block_at(0x1000 + same_place)));
}

TEST(own_blocks_hears_of_a_release_by_others)
{
	void *block = block_at(0x1000);

	forget_all();
	give_birth(&lane[0], block);
	CHECK(!release(&lane[1], block));
	CHECK(!give_birth(&lane[1], block_at(0x5550)));
	CHECK(give_birth(&lane[1], block));
	CHECK(!release(&lane[0], block)); /* it was handed back */
}

TEST(own_blocks_hears_of_a_life_in_other_hands)
{
	void *block = block_at(0x1000);

	forget_all();
	give_birth(&lane[0], block);
	release(&lane[0], block);
	CHECK(!give_birth(&lane[1], block));
	CHECK(release(&lane[1], block));
	CHECK(!give_birth(&lane[0], block));
	release(&lane[0], block);
	CHECK(!give_birth(&lane[1], block));
}

TEST(own_blocks_stay_in_place)
{
	void *block = block_at(0x1000);

	forget_all();
	give_birth(lane, block);
	release(lane, block);
	own_blocks_stay(lane, block);
	CHECK(release(lane, block));
	put(lane, EVENT_FREE, block, 0); /* before there were others */
	own_blocks_stay(lane, block);
	CHECK(!release(lane, block));
}

/* Clocks of CPUs are not quite the same: a block that was released elsewhere may have been born later, by
 * the clock there. */
TEST(own_blocks_allows_for_clocks_that_differ)
{
	void *block = block_at(0x1000);

	forget_all();
	give_birth(&lane[0], block);
	now_ticks -= OWN_BLOCKS_MARGIN;
	release(&lane[1], block);
	CHECK(give_birth(&lane[1], block));
	CHECK(!release(&lane[0], block));
}

/* Several lanes make and release blocks of few addresses in any order: a lane takes for its own only what
 * was in its hands last, against a model that knows. */
TEST(own_blocks_is_never_wrong)
{
	enum {
		N = 40
	};
	bool is_live[N] = {0};
	struct event_encoder *last[N] = {0};
	uint64_t random = RANDOM_SEED;
	unsigned n_own[2] = {0}, n_others[2] = {0};

	forget_all();
	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t r = random_next(&random);
		unsigned k = (unsigned)(r % N);
		struct event_encoder *e = &lane[(r >> 32) % N_LANES];
		void *block = block_at(0x10000 + 16 * k);
		bool is_own;

		if (r >> 40 & 3 && last[k])
			e = last[k]; /* most stay where they are */
		now_ticks += r >> 63;
		is_own = is_live[k] ? release(e, block) : give_birth(e, block);
		CHECK(!is_own || last[k] == e);
		n_own[is_live[k]] += is_own;
		n_others[is_live[k]] += !is_own;
		last[k] = e;
		is_live[k] = !is_live[k];
	}
	for (unsigned i = 0; i < 2; i++) {
		CHECK(n_own[i] > 100000);
		CHECK(n_others[i] > 50000);
	}
}
