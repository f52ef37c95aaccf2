/* Memos that join another stack than before. */
#include "stack_cache_world.h"

#include <string.h>

#include "unwind/join_cache.h"

/* Two suffixes inside an outer part that changes: the one puts it into the cache, the other
 * joins. */
NOINLINE static void visit_a(void)
{
	stack_cache_world_hook();
	STAY("visit_a");
}

NOINLINE static void visit_b(void)
{
	stack_cache_world_hook();
	STAY("visit_b");
}

static bool is_a_first;

NOINLINE static void visit_both(void)
{
	if (is_a_first)
		visit_a();
	visit_b();
	if (!is_a_first)
		visit_a();
	__asm__ volatile("");
}

NOINLINE static void visit_from_c(void)
{
	visit_both();
	STAY("visit_from_c");
}

NOINLINE static void visit_from_d(void)
{
	visit_both();
	STAY("visit_from_d");
}

NOINLINE static void visit_from_e(void)
{
	visit_both();
	STAY("visit_from_e");
}

/* Three outer parts, since each start has two memos. */
static void visit(unsigned n_turns, bool a_first)
{
	is_a_first = a_first;
	world.ut->stack_cache.uses_selectors = false;
	world.ut->stack_cache.n_walks = 0; /* the window does not end while this goes on */
	for (volatile unsigned turn = 0; turn < n_turns; turn++) {
		if (turn % 3 == 0)
			visit_from_c();
		else if (turn % 3 == 1)
			visit_from_d();
		else
			visit_from_e();
	}
}

TEST(join_cache_joins_a_suffix_to_an_outer_part_that_it_did_not_have)
{
	stack_cache_world_start();
	visit(256, true);
	CHECK_EQ(world.n_checked, 512);
	CHECK(world.n_joined > 100);
	CHECK(world.n_rejoined > 100 && world.n_rejoined < world.n_joined);
}

/* Gives every join of a suffix to another suffix or another outer stack, which is wrong here. */
static void falsify_joins(uint32_t suffix_off, uint32_t outer_off)
{
	for (size_t i = 0; i < ARRAY_LEN(world.ut->stack_cache.join); i++) {
		struct join_cache_entry *j = &world.ut->stack_cache.join[i];

		if (j->suffix_id)
			*j = (struct join_cache_entry){j->suffix_id + suffix_off,
						       j->outer + outer_off, 1};
	}
}

TEST(join_cache_compares_suffix_and_stack_before_it_takes_what_they_made)
{
	stack_cache_world_start();
	for (volatile unsigned phase = 0; phase < 3; phase++) { /* one caller: the same stacks */
		if (phase > 0)
			falsify_joins(phase == 1 ? 1000 : 0, phase == 2 ? 1000 : 0);
		world.n_rejoined = 0;
		visit(64, true); /* stack_cache_world_hook() compares */
		CHECK(world.n_rejoined > 0);
	}
}

/* Ids begin anew and are given to other stacks than before. */
TEST(join_cache_joins_nothing_by_ids_of_another_epoch)
{
	for (unsigned shift = 0; shift < 16; shift++) {
		stack_cache_world_start();
		stack_cache_world_forget_ids(shift);
		visit(64, true);
		CHECK(world.n_rejoined > 0);
	}
}

TEST(join_cache_forgets_what_suffixes_made_before_it_gives_their_ids_again)
{
	uint32_t epoch;

	stack_cache_world_start();
	falsify_joins(0, 0);
	epoch = world.ut->stack_cache.epoch;
	world.ut->stack_cache.last_suffix_id = MEMO_SUFFIX_MAX_ID;
	visit(64, false);
	CHECK_NE(world.ut->stack_cache.epoch, epoch); /* memos have numbers */
	CHECK(world.n_rejoined > 0);
	for (size_t i = 0; i < ARRAY_LEN(world.ut->stack_cache.join); i++) {
		CHECK_NE(world.ut->stack_cache.join[i].id, 1);
		CHECK(world.ut->stack_cache.join[i].suffix_id <=
		      world.ut->stack_cache.last_suffix_id);
	}
}

/* A memo that joined a stack of return addresses alone comes to join one that depends on other
 * words. */
TEST(join_cache_asks_for_all_words_of_a_stack_that_a_memo_has_come_to_join)
{
	struct walk_memo m = {.join_n = 1, .suffix_id = 1};
	struct stack_cache_cold kept;
	struct stack_cache *p;

	stack_cache_world_start();
	p = &world.ut->stack_cache;
	kept = p->cold[0];
	for (unsigned i = 0; i < 4; i++) {
		p->cold[0] = (struct stack_cache_cold){.n_extra = i & 1, .uses_fp = i >> 1};
		join_cache_add(world.ut, &m, 7);
		CHECK_EQ(m.has_rest, i > 0);
	}
	m.uses_fp = true;
	p->cold[0] = (struct stack_cache_cold){0};
	join_cache_add(world.ut, &m, 7);
	CHECK(m.has_rest);
	p->cold[0] = kept;
	stack_cache_forget_ids(world.ut);
}
