/* Canonical stacks: what is equal is one, what is lost says so. */
#include "harness/random.h"
#include "harness/test.h"

#include <string.h>

#include "ingest/stacks.h"

static struct metadata_module images[] = {
	{.id = 1, .base = 0x1000, .start = 0x1000, .end = 0x2000, .generation = 0},
	{.id = 2, .base = 0x5000, .start = 0x5000, .end = 0x6000, .generation = 0},
	{.id = 3, .base = 0x5000, .start = 0x5000, .end = 0x6000, .generation = 2},
};
static char path_a[] = "/a.so", path_b[] = "/b.so";
static struct metadata metadata;

static struct stacks *create(void)
{
	struct stacks *s = NULL;
	struct err err = {0};

	images[1].path = (struct metadata_text){path_a, 5};
	images[2].path = (struct metadata_text){path_b, 5};
	metadata = (struct metadata){.module = images, .n_modules = 3};
	CHECK_OK(stacks_create(&metadata, 3, &s, &err));
	return s;
}

/* Defines id as a frame (addr != 0) or as what kind says, and gives the node. */
static uint32_t define(struct stacks *s, uint32_t lane, uint32_t id, uint64_t addr, uint32_t parent)
{
	const struct event ev = {.kind = EVENT_STACK, .addr = addr, .stack = id, .parent = parent};
	struct err err = {0};

	CHECK_OK(stacks_define(s, lane, &ev, 0, &err));
	return stacks_find(s, lane, id);
}

static uint32_t define_mark(struct stacks *s, uint32_t id, unsigned kind, uint64_t why,
			    uint32_t parent)
{
	const struct event ev = {
		.kind = (uint8_t)kind, .field = {why}, .stack = id, .parent = parent};
	struct err err = {0};

	CHECK_OK(stacks_define(s, 0, &ev, 0, &err));
	return stacks_find(s, 0, id);
}

/* The number of the stack of a call that names id. */
static uint32_t use(struct stacks *s, uint32_t lane, uint32_t id)
{
	struct event_compact call = {.stack = id};
	struct err err = {0};

	uint32_t bits = stacks_use(s, lane, &call, 1), number = 0;

	CHECK_EQ(call.stack & (STACKS_ODD | STACKS_NEW), bits);
	if (!(bits & STACKS_NEW))
		return call.stack;
	CHECK_OK(stacks_number(s, call.stack & ~(STACKS_ODD | STACKS_NEW), &number, &err));
	return number | (bits & STACKS_ODD);
}

TEST(equal_stacks_of_different_lanes_and_ids_are_one)
{
	struct stacks *s = create();
	uint32_t outer = define(s, 0, 1, 0x1100, 0);
	uint32_t inner = define(s, 0, 2, 0x1200, 1);

	CHECK_EQ(define(s, 1, 1, 0x1100, 0), outer);
	CHECK_EQ(define(s, 1, 2, 0x1200, 1), inner);
	CHECK_EQ(define(s, 0, 3, 0x1200, 1), inner); /* defined again */
	CHECK_NE(define(s, 0, 4, 0x1200, 0), inner); /* another caller */
	CHECK_EQ(stacks_get(s, inner)->n_frames, 2);
	CHECK_EQ(stacks_get(s, inner)->parent, outer);
	CHECK_EQ(stacks_get(s, inner)->module, 0);
	CHECK_EQ(stacks_find(s, 0, 0), STACKS_EMPTY);
	stacks_destroy(s);
}

TEST(code_loaded_later_at_the_same_place_makes_new_stacks)
{
	struct stacks *s = create();
	struct event ev = {.kind = EVENT_STACK, .addr = 0x5100, .stack = 1};
	struct event stays = {.kind = EVENT_STACK, .addr = 0x1100, .stack = 3};
	struct err err = {0};

	CHECK_OK(stacks_define(s, 0, &ev, 0, &err));
	ev.stack = 2;
	CHECK_OK(stacks_define(s, 0, &ev, 2, &err));
	CHECK_NE(stacks_find(s, 0, 1), stacks_find(s, 0, 2));
	CHECK_EQ(stacks_get(s, stacks_find(s, 0, 1))->module, 1);
	CHECK_EQ(stacks_get(s, stacks_find(s, 0, 2))->module, 2);
	CHECK_OK(stacks_define(s, 0, &stays, 0, &err));
	stays.stack = 4;
	CHECK_OK(stacks_define(s, 0, &stays, 2, &err));
	CHECK_EQ(stacks_find(s, 0, 3), stacks_find(s, 0, 4));
	stacks_destroy(s);
}

TEST(ends_and_guesses_are_inherited)
{
	struct stacks *s = create();
	uint32_t end, guess, inner;

	end = define_mark(s, 1, EVENT_STACK_END, STACK_END_BAD_MEMORY, 0);
	define(s, 0, 2, 0x1100, 1);
	guess = define_mark(s, 3, EVENT_STACK_GUESS, 0, 2);
	inner = define(s, 0, 4, 0x1200, 3);
	CHECK_EQ(stacks_get(s, end)->n_frames, 0);
	CHECK_EQ(stacks_get(s, guess)->n_frames, 1);
	CHECK_EQ(stacks_get(s, inner)->n_frames, 2);
	CHECK_EQ(stacks_get(s, inner)->end, STACK_END_BAD_MEMORY);
	CHECK(stacks_get(s, inner)->has_guess);
	CHECK(!stacks_get(s, end)->has_guess);
	CHECK_NE(define(s, 0, 5, 0x1100, 0), stacks_find(s, 0, 2)); /* a complete one differs */
	CHECK_EQ(define_mark(s, 6, EVENT_STACK_END, STACK_END_BAD_MEMORY, 0), end);
	CHECK_NE(define_mark(s, 7, EVENT_STACK_END, STACK_END_NO_INFO, 0), end);
	CHECK_EQ(stacks_get(s, define_mark(s, 8, EVENT_STACK_END, 99, 0))->end, STACK_END_BAD_INFO);
	CHECK_NE(define_mark(s, 9, EVENT_STACK_GUESS, 0, 0), STACKS_EMPTY); /* nothing is outside */
	stacks_destroy(s);
}

TEST(numbers_are_dense_and_of_the_stack_not_of_the_id)
{
	struct stacks *s = create();
	uint32_t outer = define(s, 0, 1, 0x1100, 0), inner = define(s, 0, 2, 0x1200, 1);

	define(s, 1, 1, 0x1100, 0);
	CHECK_EQ(stacks_count_used(s), 0);
	CHECK_EQ(use(s, 0, 2), 1);
	CHECK_EQ(use(s, 1, 1), 2);
	CHECK_EQ(use(s, 0, 1), 2);
	CHECK_EQ(use(s, 0, 2), 1); /* now from the table */
	CHECK_EQ(stacks_node(s, 1), inner);
	CHECK_EQ(stacks_node(s, 2), outer);
	CHECK_EQ(stacks_find(s, 0, 2), inner); /* what was numbered is still a node */
	CHECK_EQ(stacks_get(s, define(s, 0, 3, 0x1300, 2))->parent, inner);
	CHECK_EQ(use(s, 0, 99), 3 | STACKS_ODD); /* lost */
	CHECK_EQ(stacks_node(s, 3), STACKS_LOST);
	CHECK_EQ(stacks_count_used(s), 3);
	CHECK_EQ(use(s, 0, 0), 0);
	CHECK_EQ(stacks_count_used(s), 4); /* the empty one counts when it is named */
	stacks_destroy(s);
}

TEST(ids_without_definition_are_lost)
{
	struct stacks *s = create();
	uint32_t node = define(s, 0, 10, 0x1100, 4); /* ids below 10 were in a lost block */

	CHECK_EQ(stacks_find(s, 0, 4), STACKS_LOST);
	CHECK_EQ(stacks_find(s, 0, 11), STACKS_LOST);
	CHECK_EQ(stacks_find(s, 2, 1), STACKS_LOST);
	CHECK_EQ(stacks_get(s, node)->end, STACK_END_LOST);
	CHECK_EQ(stacks_get(s, node)->n_frames, 1);
	stacks_destroy(s);
}

TEST(ids_may_jump_far_without_taking_memory)
{
	struct stacks *s = create();
	uint32_t early = define(s, 0, 1, 0x1100, 0);
	uint32_t late = define(s, 0, 4000000000u, 0x1200, 0);

	CHECK_EQ(stacks_find(s, 0, 1), early);
	CHECK_EQ(stacks_find(s, 0, 4000000000u), late);
	CHECK_EQ(stacks_find(s, 0, 2000000000u), STACKS_LOST);
	stacks_destroy(s);
}

TEST(a_stack_of_ten_thousand_frames_is_kept_whole)
{
	struct stacks *s = create();
	uint32_t node = 0;

	for (uint32_t id = 1; id <= 10000; id++)
		node = define(s, 0, id, 0x1100 + id % 7, id - 1);
	CHECK_EQ(stacks_get(s, node)->n_frames, 10000);
	use(s, 0, 10000);
	use(s, 0, 10000);
	CHECK_EQ(stacks_count_used(s), 1);
	CHECK_EQ(stacks_deepest_used(s), 10000);
	stacks_destroy(s);
}

TEST(equal_stacks_that_are_cut_off_stay_one_when_the_table_grows)
{
	struct stacks *s = create();
	uint32_t end = define_mark(s, 1, EVENT_STACK_END, STACK_END_NO_INFO, 0), cut, id = 3;

	CHECK_NE(end, STACKS_LOST);
	cut = define(s, 0, 2, 0x1100, 1);
	for (; id < 5000; id++)
		define(s, 0, id, 0x1000 + id, 0);
	CHECK_EQ(define(s, 0, id, 0x1100, 1), cut);
	stacks_destroy(s);
}

TEST(what_is_forgotten_is_gone_and_the_rest_stays)
{
	struct stacks *s = create();
	uint32_t node[8];

	for (uint32_t id = 1; id < 5; id++)
		node[id] = define(s, 0, id, 0x1000 + id, 0);
	for (uint32_t id = 6; id < 8; id++) /* a gap: another run */
		node[id] = define(s, 0, id, 0x1000 + id, 0);
	define(s, 1, 1, 0x1001, 0);
	stacks_forget(s, 0, 4);
	CHECK_EQ(stacks_find(s, 0, 3), STACKS_LOST);
	CHECK_EQ(stacks_find(s, 0, 4), node[4]);
	CHECK_EQ(stacks_find(s, 0, 7), node[7]);
	CHECK_EQ(stacks_find(s, 1, 1), node[1]); /* of another lane */
	stacks_forget(s, 0, 8);
	CHECK_EQ(stacks_find(s, 0, 7), STACKS_LOST);
	CHECK_EQ(define(s, 0, 8, 0x1002, 0), node[2]); /* the stack itself is known */
	stacks_forget(s, 0, UINT64_MAX); /* nonsense does no harm */
	CHECK_EQ(define(s, 0, 9, 0x1003, 0), node[3]);
	stacks_forget(s, 2, 5); /* a lane without any */
	stacks_destroy(s);
}

/* ---- definitions that wait, against the same one by one ---- */

static uint64_t random_state = RANDOM_SEED;

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(random_next(&random_state) % n);
}

TEST(definitions_that_wait_give_what_they_give_one_by_one)
{
	struct stacks *pending = create(), *one = create();
	uint32_t next_id[3] = {1, 1, 1}, lane = 0, generation = 0;
	struct err err = {0};

	for (unsigned i = 0; i < 200000; i++) {
		struct event_stack def;
		struct event ev;

		if (pick(40) == 0)
			lane = pick(3);
		if (pick(500) == 0)
			generation = pick(2) * 2;
		if (pick(300) == 0)
			next_id[lane] += 1 + pick(3); /* a block is missing */
		def = (struct event_stack){
			.addr = (pick(2) ? 0x1000 : 0x5000) + pick(64),
			.stack = next_id[lane]++,
		};
		/* mostly one of the last, at times the empty stack, one long gone or not there */
		def.parent = pick(8) ? def.stack - 1 - pick(def.stack < 20 ? def.stack : 20)
				     : pick(def.stack);
		ev = (struct event){.kind = EVENT_STACK,
				    .addr = def.addr,
				    .stack = def.stack,
				    .parent = def.parent};
		CHECK_OK(stacks_define_pending(pending, lane, &def, generation, &err));
		CHECK_OK(stacks_define(one, lane, &ev, generation, &err));
		if (pick(50) != 0)
			continue;
		CHECK_OK(stacks_settle(pending, &err));
		CHECK_EQ(stacks_find(pending, lane, def.stack), stacks_find(one, lane, def.stack));
		CHECK_EQ(use(pending, lane, def.stack), use(one, lane, def.stack));
		if (pick(20) == 0) {
			uint32_t first_kept = def.stack - pick(def.stack);

			stacks_forget(pending, lane, first_kept);
			stacks_forget(one, lane, first_kept);
		}
	}
	CHECK_OK(stacks_settle(pending, &err));
	CHECK_EQ(stacks_count(pending), stacks_count(one));
	CHECK_EQ(stacks_count_used(pending), stacks_count_used(one));
	CHECK(stacks_count(pending) > 1000);
	stacks_destroy(pending);
	stacks_destroy(one);
}
