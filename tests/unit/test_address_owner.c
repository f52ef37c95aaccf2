/* A lane takes an address for its own only if no other lane used it since.
 * test_address_owner_model.c runs all interleavings; here are the single steps, and long random
 * runs. */
#include "record/address_owner.h"

#include "harness/random.h"
#include "harness/test.h"

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
	for (unsigned i = 0; i < ADDRESS_OWNER_N_STAMPS; i++)
		atomic_store(&address_owner_free_stamps[i], 0);
	for (unsigned i = 0; i < N_LANES; i++)
		event_encoder_begin(&lane[i], NULL, NULL, 0);
	now_ticks = 1000;
}

static void put(struct event_encoder *e, unsigned kind, const void *block, uint64_t tag)
{
	struct event_call call = {.ticks = now_ticks, .addr = (uintptr_t)block, .owner_tag = tag};

	event_remember_call(e, kind, &call);
}

/* As the hooks do it. True: the lane took the address for its own. */
static bool allocate(struct event_encoder *e, const void *block)
{
	uint64_t own = address_owner_on_alloc(e, block);

	put(e, EVENT_MALLOC, block, own ? own : address_owner_alloc_tag(now_ticks));
	return own;
}

static bool release(struct event_encoder *e, const void *block)
{
	uint64_t own = address_owner_on_release(e, block);

	put(e, EVENT_FREE, block, own ? own : address_owner_publish_free(block, now_ticks));
	return own;
}

TEST(address_owner_owns_a_block_until_it_is_released)
{
	forget_all();
	CHECK(!allocate(lane, block_at(0x1000)));
	CHECK(!allocate(lane, block_at(0x1010)));
	CHECK(release(lane, block_at(0x1010)));
	CHECK(!release(lane, block_at(0x1010)));
	CHECK(release(lane, block_at(0x1000)));
}

TEST(address_owner_owns_an_address_that_is_reused)
{
	void *block = block_at(0x1000);

	forget_all();
	allocate(lane, block);
	for (unsigned i = 0; i < 3;
	     i++) { /* all at one time: the rule does not need the clock here */
		CHECK(release(lane, block));
		CHECK(allocate(lane, block));
	}
	CHECK(!allocate(lane, block)); /* so another lane released it */
}

TEST(address_owner_knows_the_newest_address_of_each_slot)
{
	const uintptr_t same_slot = EVENT_N_RECENT * 16;

	forget_all();
	allocate(lane, block_at(0x1000));
	CHECK(!release(lane, block_at(0x1000 + same_slot)));
	allocate(lane, block_at(0x1000 + same_slot));
	CHECK(!release(lane, block_at(0x1000)));
	now_ticks += ADDRESS_OWNER_MARGIN_TICKS + 1;
	allocate(lane, block_at(0x1000 + same_slot));
	CHECK(release(lane, block_at(0x1000 + same_slot)));
}

TEST(address_owner_sees_a_release_by_another_lane)
{
	void *block = block_at(0x1000);

	forget_all();
	allocate(&lane[0], block);
	CHECK(!release(&lane[1], block));
	CHECK(!allocate(&lane[1], block_at(0x5550)));
	CHECK(allocate(&lane[1], block));
	CHECK(!release(&lane[0], block)); /* the block of lane 1 was handed to lane 0 */
}

TEST(address_owner_sees_a_lifetime_in_another_lane)
{
	void *block = block_at(0x1000);

	forget_all();
	allocate(&lane[0], block);
	release(&lane[0], block);
	CHECK(!allocate(&lane[1], block));
	CHECK(release(&lane[1], block));
	CHECK(!allocate(&lane[0], block));
	release(&lane[0], block);
	CHECK(!allocate(&lane[1], block));
}

TEST(address_owner_keeps_a_block_resized_in_place)
{
	void *block = block_at(0x1000);

	forget_all();
	allocate(lane, block);
	release(lane, block);
	address_owner_on_resize_in_place(lane, block);
	CHECK(release(lane, block));
	put(lane, EVENT_FREE, block, 0); /* in a program with one lane */
	address_owner_on_resize_in_place(lane, block);
	CHECK(!release(lane, block));
}

/* The clocks of two CPUs differ a little: by the clock of another lane a release may be earlier
 * than the allocation. */
TEST(address_owner_allows_for_clocks_that_differ)
{
	void *block = block_at(0x1000);

	forget_all();
	allocate(&lane[0], block);
	now_ticks -= ADDRESS_OWNER_MARGIN_TICKS;
	release(&lane[1], block);
	CHECK(allocate(&lane[1], block));
	CHECK(!release(&lane[0], block));
}

/* Several lanes allocate and release at few addresses in any order. The test knows which lane used
 * an address last. */
TEST(address_owner_is_never_wrong)
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
		is_own = is_live[k] ? release(e, block) : allocate(e, block);
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
