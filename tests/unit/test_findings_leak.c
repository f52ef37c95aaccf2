/* Findings about memory that stays: leaks, growth, owners; that their conditions give their figures. */
#include "harness/test.h"

#include <string.h>

#include "findings_fixture.h"

/* ---- likely leak ---- */

TEST(growing_function_is_a_likely_leak)
{
	const struct finding *f;

	begin();
	add_base(20 * MIB);
	keep_evenly(STACK(&synth, "remember", "serve", "main"), 100, 40 * KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "remember", "replay", "main"), 100, 10 * KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "other", "serve", "main"), 10, KIB, 0, RUN_NS);
	ask(50);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->value, 100 * 50 * KIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK(f->share > 0.99 && f->share < 1);
	CHECK_STR_EQ(f->title, "remember keeps 4.88 MiB");
	/* 25 blocks of each in the last 250 seconds */
	CHECK_STR_EQ(f->text, "99.8 % of all leaked, +300 KiB per minute in the last quarter");
	CHECK_STR_EQ(f->blame->function, "remember");
	CHECK_STR_EQ(f->condition[0].name, "blame_regex");
	CHECK_STR_EQ(f->condition[0].value, "^remember$");
	CHECK_STR_EQ(finding_kind_name(f->kind), "leak");
	CHECK_STR_EQ(finding_cost_name(f->cost), "leaked");
	CHECK_EQ(f->n_points, 50);
	CHECK_EQ(f->timeline[49], f->value);
	CHECK_EQ(f->leaked_timeline[24], f->timeline[24]);
	CHECK(f->timeline[24] >= f->value / 2 - 100 * KIB && f->timeline[24] < f->value * 0.6);
	CHECK_NULL(find(FINDING_LEAK, 1));
	CHECK_NULL(find(FINDING_OWNER, 0));
	end();
}

/* Who keeps what, and is it a leak? */
static bool leaks(uint64_t n, uint64_t size, uint64_t from, uint64_t to, uint64_t base_bytes)
{
	bool is;

	begin();
	add_base(base_bytes);
	keep_evenly(STACK(&synth, "keep", "main"), n, size, from, to);
	ask(0);
	is = find(FINDING_LEAK, 0);
	end();
	return is;
}

TEST(leak_needs_a_mebibyte_and_a_hundredth_of_the_peak)
{
	CHECK(leaks(128, 8 * KIB, 0, RUN_NS, MIB));
	CHECK(!leaks(127, 8 * KIB, 0, RUN_NS, MIB));
	CHECK(leaks(128, 8 * KIB, 0, RUN_NS, 98 * MIB));
	CHECK(!leaks(128, 8 * KIB, 0, RUN_NS, 100 * MIB));
}

/* Each block is freed when the cache has room for no more: what is left at the end is new, and leaks as
 * far as anybody knows, but the cache does not grow. from_ns: of the first block. */
static void fill_cache(uint64_t from_ns)
{
	uint64_t step = (RUN_NS - from_ns) / 400;
	uint32_t stack;

	begin();
	add_base(20 * MIB);
	stack = STACK(&synth, "insert", "serve", "main");
	for (uint64_t i = 0; i < 400; i++) {
		if (i + 40 < 400)
			synth_add(&synth, stack, from_ns + i * step, from_ns + (i + 40) * step,
				  100 * KIB);
		else
			synth_keep(&synth, stack, from_ns + i * step, 100 * KIB);
	}
	ask(0);
	CHECK_NULL(find(FINDING_LEAK, 0));
	CHECK_NULL(find(FINDING_OWNER, 0));
	end();
}

TEST(full_cache_is_no_leak)
{
	fill_cache(0);
	fill_cache(RUN_NS * 11 / 20); /* full when the last quarter begins */
	fill_cache(RUN_NS * 7 / 10);
}

/* Growth on top of a full cache is a leak, and its rate is that of the growth. */
TEST(rate_of_a_leak_is_what_memory_grew_by)
{
	uint64_t step = RUN_NS / 400;
	const struct finding *f;
	uint32_t stack;

	begin();
	add_base(20 * MIB);
	stack = STACK(&synth, "insert", "serve", "main");
	for (uint64_t i = 0; i < 400; i++) {
		if (i + 40 < 400)
			synth_add(&synth, stack, i * step, (i + 40) * step, 100 * KIB);
		else
			synth_keep(&synth, stack, i * step, 100 * KIB);
		synth_keep(&synth, stack, i * step, 10 * KIB);
	}
	ask(0);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	/* 100 of 10 KiB in 250 seconds, give or take the step of a point */
	CHECK_NOT_NULL(strstr(f->text, "+2"));
	CHECK_NOT_NULL(strstr(f->text, " KiB per minute"));
	end();
}

/* ---- grows to the end ---- */

/* n blocks of a size from the start on, all freed near the end of the run. */
static void keep_until_end(uint32_t stack, uint64_t n, uint64_t size)
{
	uint64_t to = RUN_NS / 100 * 95;

	for (uint64_t i = 0; i < n; i++)
		synth_add(&synth, stack, to / n * i, RUN_NS / 100 * 96, size);
}

TEST(memory_freed_at_the_end_grew_until_then)
{
	const struct finding *f;

	begin();
	keep_until_end(STACK(&synth, "insert", "serve", "main"), 200, 100 * KIB);
	synth_add(&synth, STACK(&synth, "other", "main"), 0, RUN_NS - 1, MIB);
	ask(50);
	f = find(FINDING_GROWTH, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->title, "insert grew to 19.5 MiB");
	CHECK_STR_EQ(finding_kind_name(f->kind), "growth");
	CHECK_STR_EQ(finding_cost_name(f->cost), "peak");
	CHECK_EQ(f->value, 200 * 100 * KIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->condition[0].name, "blame_regex");
	CHECK_EQ(f->timeline[49], 0);
	CHECK_NULL(find(FINDING_LEAK, 0));
	CHECK_NULL(find(FINDING_PEAK, 0)); /* it would say the same */
	end();
}

TEST(owner_of_growth_is_named)
{
	const struct finding *f;
	uint32_t answer;

	begin();
	answer = STACK(&synth, "answer", "serve", "main");
	keep_until_end(STACK(&synth, "make_key", "get_or", "serve", "main"), 200, 30 * KIB);
	keep_until_end(STACK(&synth, "make_value", "get_or", "serve", "main"), 200, 40 * KIB);
	keep_until_end(STACK(&synth, "make_node", "get_or", "import", "main"), 200, 30 * KIB);
	for (uint64_t i = 0; i < 400; i++)
		synth_add(&synth, answer, RUN_NS / 400 * i, RUN_NS / 400 * i + 1, 100);
	ask(50);
	f = find(FINDING_GROWTH, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->title, "get_or grew to 19.5 MiB");
	CHECK_NOT_NULL(strstr(f->text, "allocated in 3 functions"));
	CHECK_STR_EQ(f->condition[0].name, "function_regex");
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_EQ(f->n_points, 50);
	CHECK_NULL(find(FINDING_GROWTH, 1));
	end();
}

TEST(memory_that_is_full_early_does_not_grow)
{
	begin();
	synth_add(&synth, STACK(&synth, "load", "main"), 0, RUN_NS / 100 * 96, 20 * MIB);
	synth_add(&synth, STACK(&synth, "last", "main"), RUN_NS / 100 * 90, RUN_NS / 100 * 91, KIB);
	ask(0);
	CHECK_NULL(find(FINDING_GROWTH, 0));
	end();
}

TEST(short_peak_is_in_the_timeline)
{
	const struct finding *f;

	begin();
	add_base(MIB);
	synth_add(&synth, STACK(&synth, "import", "main"), RUN_NS / 2 + 10, RUN_NS / 2 + 20,
		  9 * MIB);
	ask(50);
	f = find(FINDING_PEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->timeline[24], 9 * MIB);
	CHECK_EQ(f->timeline[23], 0);
	CHECK_EQ(f->timeline[25], 0);
	end();
}

TEST(what_is_kept_from_the_start_is_no_leak)
{
	CHECK(!leaks(128, 64 * KIB, 0, RUN_NS / 21, MIB));
	CHECK(!leaks(128, 64 * KIB, 0, RUN_NS / 2, MIB)); /* it stopped growing */
	CHECK(leaks(128, 64 * KIB, RUN_NS / 2, RUN_NS, MIB));
}

TEST(half_from_the_start_is_no_leak_even_if_the_rest_comes_late)
{
	uint32_t stack;

	begin();
	add_base(MIB);
	stack = STACK(&synth, "keep", "main");
	keep_evenly(stack, 64, 64 * KIB, 0, RUN_NS / 21);
	keep_evenly(stack, 64, 64 * KIB, RUN_NS - RUN_NS / 10, RUN_NS);
	ask(0);
	CHECK_NULL(find(FINDING_LEAK, 0));
	end();
}

TEST(one_block_is_no_leak)
{
	CHECK(!leaks(1, 64 * MIB, RUN_NS * 9 / 10, RUN_NS, MIB));
	CHECK(leaks(2, 64 * MIB, RUN_NS * 9 / 10, RUN_NS, MIB));
}

TEST(names_with_special_characters_are_quoted_in_conditions)
{
	const struct finding *f;

	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "Cache<int*>::add(int)", "main"), 100, 64 * KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "Cache<int*>::add(int) const", "main"), 100, 65 * KIB, 0, RUN_NS);
	ask(0);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->condition[0].value, "^\\QCache<int*>::add(int) const\\E$");
	CHECK_EQ(f->value, 100 * 65 * KIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	f = find(FINDING_LEAK, 1);
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->value, 100 * 64 * KIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->title, "Cache<..>::add keeps 6.25 MiB");
	end();
}

TEST(code_without_a_name_goes_by_its_address)
{
	const struct finding *f;

	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "?", "main"), 100, 64 * KIB, 0, RUN_NS);
	ask(0);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_NULL(f->blame->function);
	CHECK(strncmp(f->title, "server+0x", 9) == 0);
	CHECK_EQ(f->value, value_by_conditions(f));
	end();
}

TEST(wrappers_are_not_blamed)
{
	const struct finding *f;

	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "my_malloc", "remember", "main"), 100, 64 * KIB, 0, RUN_NS);
	ask(0);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->blame->function, "remember");
	end();
}

TEST(leaks_are_found_without_rows)
{
	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "remember", "main"), 100, 64 * KIB, 0, RUN_NS);
	synth_add(&synth, STACK(&synth, "burst", "main"), RUN_NS / 2, RUN_NS / 2 + 1, 64 * MIB);
	synth.without_rows = true;
	ask(100);
	CHECK(found.is_without_rows);
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	CHECK_EQ(find(FINDING_LEAK, 0)->value, 100 * 64 * KIB);
	CHECK_NULL(find(FINDING_LEAK, 0)->timeline);
	CHECK_NULL(find(FINDING_PEAK, 0)); /* there is no telling */
	end();
}

/* ---- owner ---- */

static const char *const maker[] = {"make_key", "make_value", "make_node"};

/* Allocations that are freed at once, evenly over the run. */
static void add_freed(uint32_t stack, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		synth_add(&synth, stack, RUN_NS / n * i, RUN_NS / n * i + 1, 100);
}

/* What a cache keeps is allocated by three functions; so many other allocations are freed. */
static void add_cache(const char *outer, uint64_t n_others)
{
	for (size_t i = 0; i < ARRAY_LEN(maker); i++)
		keep_evenly(STACK(&synth, maker[i], "cache_add", outer, "main"), 100, 64 * KIB, 0,
			    RUN_NS);
	add_freed(STACK(&synth, "answer", outer, "main"), n_others);
}

TEST(function_that_leaks_pass_through_is_the_owner)
{
	const struct finding *f;

	begin();
	add_base(MIB);
	add_cache("serve", 100);
	keep_evenly(STACK(&synth, "log_line", "serve", "main"), 10, 64 * KIB, 0, RUN_NS);
	ask(10);
	f = find(FINDING_OWNER, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->blame->function, "cache_add");
	CHECK_EQ(f->value, 300 * 64 * KIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->title, "96.8 % of what leaked passes through cache_add");
	CHECK(strstr(f->text, "allocated in 3 functions") != NULL);
	CHECK_STR_EQ(f->condition[0].value, "^cache_add$");
	CHECK_EQ(f->timeline[9], f->value);
	CHECK_EQ(f->leaked_timeline[9], f->value);
	/* beside it only the first of the three that allocate */
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	CHECK_NULL(find(FINDING_LEAK, 1));
	end();
}

TEST(function_that_everything_passes_through_owns_nothing)
{
	begin();
	add_base(MIB);
	add_cache("serve", 5); /* cache_add makes nearly all allocations */
	ask(0);
	CHECK_NULL(find(FINDING_OWNER, 0));
	end();
}

TEST(start_of_a_thread_owns_nothing)
{
	begin();
	add_base(MIB);
	for (size_t i = 0; i < ARRAY_LEN(maker); i++)
		keep_evenly(STACK(&synth, maker[i], "run_worker", "lib:start_thread"), 100,
			    64 * KIB, 0, RUN_NS);
	add_freed(1, 300);
	ask(0);
	CHECK_NULL(find(FINDING_OWNER, 0));
	CHECK_NOT_NULL(find(FINDING_LEAK, 2));
	end();
}

TEST(owner_is_not_named_when_one_function_allocates_it)
{
	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "make_value", "cache_add", "serve", "main"), 100, 64 * KIB, 0,
		    RUN_NS);
	keep_evenly(STACK(&synth, "make_key", "cache_add", "serve", "main"), 100, KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "make_node", "cache_add", "serve", "main"), 100, KIB, 0, RUN_NS);
	add_freed(1, 300);
	ask(0);
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	CHECK_NULL(find(FINDING_OWNER, 0));
	end();
}
