/* Findings about peaks, churn, killed programs and the process, and the order of all; that their conditions
 * give their figures. */
#include "harness/test.h"

#include <string.h>

#include "findings_fixture.h"

/* ---- makes the peak ---- */

TEST(burst_makes_the_peak)
{
	const struct finding *f;

	begin();
	add_base(70 * MIB);
	synth_add(&synth, STACK(&synth, "import", "main"), RUN_NS / 10, RUN_NS, 10 * MIB);
	synth_add(&synth, 2, 500 * NS_PER_S, 600 * NS_PER_S, 20 * MIB);
	synth_add(&synth, STACK(&synth, "cache", "main"), RUN_NS / 10, RUN_NS, 60 * MIB);
	ask(100);
	f = find(FINDING_PEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_STR_EQ(f->blame->function, "import");
	CHECK_EQ(f->value, 30 * MIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->title, "import holds 30.0 MiB at the peak");
	CHECK(strstr(f->text, "18.8 % of the peak, 20.0 MiB more than its median, for about ") ==
	      f->text);
	CHECK(strstr(f->text, "; peak at 00:08:20") != NULL);
	CHECK_EQ(f->n_conditions, 2);
	CHECK_STR_EQ(f->condition[1].value, "500000000000ns");
	CHECK_EQ(f->timeline[55], 30 * MIB);
	CHECK_EQ(f->timeline[70], 10 * MIB);
	CHECK_EQ(f->leaked_timeline[70], 0);
	CHECK_NULL(find(FINDING_PEAK, 1)); /* the others have no more than always */
	end();
}

/* Is a burst of these bytes, beside a base, found? */
static bool bursts(uint64_t n_bytes, uint64_t base_bytes, uint64_t lasts_ns)
{
	bool is;

	begin();
	add_base(base_bytes);
	synth_add(&synth, STACK(&synth, "burst", "main"), RUN_NS / 4, RUN_NS / 4 + lasts_ns,
		  n_bytes);
	ask(0);
	is = find(FINDING_PEAK, 0);
	end();
	return is;
}

TEST(burst_must_be_a_tenth_of_the_peak_and_shorter_than_half_the_run)
{
	CHECK(bursts(10 * MIB, 90 * MIB, NS_PER_S));
	CHECK(!bursts(9 * MIB, 91 * MIB, NS_PER_S));
	CHECK(bursts(10 * MIB, 10 * MIB, RUN_NS * 2 / 5));
	CHECK(!bursts(10 * MIB, 10 * MIB, RUN_NS * 3 / 5)); /* that is its median */
	CHECK(bursts(10 * MIB, MIB, 10)); /* however short */
}

TEST(leak_is_not_found_twice)
{
	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "remember", "main"), 100, 64 * KIB, 0, RUN_NS);
	ask(0);
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	CHECK_NULL(find(FINDING_PEAK, 0));
	end();
}

/* ---- churn ---- */

static void add_temporary(uint32_t stack, uint64_t n, uint64_t life_ns)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = synth.facts.duration_ns / n * i;

		synth_add(&synth, stack, at, at + life_ns, 32)->flags = STORE_FLAG_TEMPORARY;
	}
}

TEST(many_temporary_allocations_are_churn)
{
	const struct finding *f;

	begin();
	synth.facts.duration_ns = 10 * NS_PER_S;
	add_temporary(STACK(&synth, "decode", "main"), 3000, 400);
	add_temporary(STACK(&synth, "parse", "main"), 1000, 50);
	ask(20);
	f = find(FINDING_CHURN, 0);
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->value, 3000);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->title, "decode: 3 000 temporary allocations");
	CHECK_STR_EQ(f->text,
		     "75.0 % of all temporary, 300 per second, each lives 400 ns (median)");
	CHECK_STR_EQ(f->page, "bottomup");
	CHECK_EQ(f->n_points, 20);
	f = find(FINDING_CHURN, 1); /* 100 per second */
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->value, 1000);
	end();
}

TEST(two_findings_about_one_function_have_the_same_timeline)
{
	const struct finding *leak, *churn;
	uint32_t stack;

	begin();
	synth.facts.duration_ns = 10 * NS_PER_S;
	stack = STACK(&synth, "both", "main");
	keep_evenly(stack, 64, 64 * KIB, 0, 10 * NS_PER_S);
	add_temporary(stack, 3000, 400);
	ask(50);
	leak = find(FINDING_LEAK, 0);
	churn = find(FINDING_CHURN, 0);
	CHECK_NOT_NULL(leak);
	CHECK_NOT_NULL(churn);
	CHECK_EQ(leak->timeline[49], leak->value);
	CHECK_EQ(churn->timeline[49], leak->value);
	end();
}

TEST(few_temporary_allocations_are_no_churn)
{
	begin();
	synth.facts.duration_ns = NS_PER_S;
	add_temporary(STACK(&synth, "decode", "main"), 11000, 10);
	add_temporary(STACK(&synth, "parse", "main"), 1200, 10); /* less than a tenth */
	ask(0);
	CHECK_NOT_NULL(find(FINDING_CHURN, 0));
	CHECK_NULL(find(FINDING_CHURN, 1));
	end();
	begin();
	synth.facts.duration_ns = 20 * NS_PER_S;
	add_temporary(STACK(&synth, "decode", "main"), 1999, 10); /* 99.95 per second */
	ask(0);
	CHECK_NULL(find(FINDING_CHURN, 0));
	end();
	begin();
	synth.facts.duration_ns = NS_PER_S;
	add_temporary(STACK(&synth, "decode", "main"), 999, 10); /* fast, but few */
	ask(0);
	CHECK_NULL(find(FINDING_CHURN, 0));
	end();
}

/* ---- killed ---- */

/* Tables of 60 MiB from the start, a cache that grows to 30 MiB, and little else. */
static void add_held(void)
{
	synth_keep(&synth, STACK(&synth, "load_tables", "main"), 1, 60 * MIB);
	keep_evenly(STACK(&synth, "remember", "serve", "main"), 100, 300 * KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "other", "serve", "main"), 10, KIB, 0, RUN_NS);
}

TEST(what_a_killed_program_held_comes_first_and_is_no_leak)
{
	const struct finding *f;

	begin();
	synth.ended = "killed by SIGKILL";
	add_held();
	ask(10);
	CHECK_NULL(find(FINDING_LEAK, 0));
	f = &found.finding[0];
	CHECK_EQ(f->kind, FINDING_HELD);
	CHECK_EQ(f->value, 60 * MIB);
	CHECK_EQ(f->value, value_by_conditions(f));
	CHECK_STR_EQ(f->title, "load_tables held 60.0 MiB at the end");
	CHECK_NOT_NULL(strstr(f->text, "no growth in the last quarter"));
	f = &found.finding[1];
	CHECK_EQ(f->kind, FINDING_HELD);
	CHECK_STR_EQ(f->blame->function, "remember");
	CHECK_NOT_NULL(strstr(f->text, "per minute in the last quarter"));
	CHECK_NULL(find(FINDING_HELD, 2)); /* less than a tenth */
	CHECK_NULL(find(FINDING_PEAK, 0)); /* the same again */
	end();
}

/* Out of memory the writer dies, too: nobody writes how it ended. */
TEST(a_recording_without_an_end_is_of_a_killed_program_unless_it_grows)
{
	begin();
	synth.ended = "killed or still running";
	add_held();
	ask(0);
	CHECK_NOT_NULL(find(FINDING_HELD, 0));
	end();
	begin();
	synth.ended = "killed or still running";
	synth.is_growing = true;
	add_held();
	ask(0);
	CHECK_NULL(find(FINDING_HELD, 0));
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	end();
}

TEST(memory_outside_the_heap_comes_first_where_it_is_most)
{
	const struct store_sample sample[] = {
		{.at_ns = RUN_NS / 2, .rss_bytes = 900 * MIB}, /* and was given back */
		{.at_ns = RUN_NS - 1, .rss_bytes = 400 * MIB},
	};
	struct err err = {0};

	for (unsigned is_range = 0; is_range < 2; is_range++) {
		begin();
		synth.ended = "killed by SIGKILL";
		synth.sample = sample;
		synth.n_samples = ARRAY_LEN(sample);
		add_held();
		if (is_range)
			CHECK_EQ(filter_set(&filter, "to", "900s", &err), 1);
		ask(0);
		if (is_range) {
			CHECK_NULL(find(FINDING_HELD, 0)); /* nobody killed it in the range */
		} else {
			CHECK_EQ(found.finding[0].kind, FINDING_OUTSIDE);
			CHECK(found.finding[0].value < 320 * MIB);
			CHECK_EQ(found.finding[1].kind, FINDING_HELD);
		}
		end();
	}
}

/* ---- the process ---- */

static bool is_outside(uint64_t rss_bytes, uint64_t heap_bytes, const char *condition)
{
	const struct store_sample sample[] = {
		{.at_ns = RUN_NS / 2, .rss_bytes = rss_bytes},
		{.at_ns = RUN_NS / 2 + NS_PER_S, .rss_bytes = rss_bytes / 2},
	};
	struct err err = {0};
	bool is;

	begin();
	synth.sample = sample;
	synth.n_samples = ARRAY_LEN(sample);
	add_base(heap_bytes);
	synth_add(&synth, 1, 0, 1, 1);
	if (condition)
		CHECK_EQ(filter_set(&filter, condition, "2", &err), 1);
	ask(0);
	is = find(FINDING_OUTSIDE, 0);
	CHECK(!is || find(FINDING_OUTSIDE, 0)->value == rss_bytes - heap_bytes);
	CHECK(!is || strcmp(find(FINDING_OUTSIDE, 0)->page, "map") == 0);
	end();
	return is;
}

TEST(memory_outside_the_heap_is_found)
{
	CHECK(is_outside(126 * MIB, 100 * MIB, NULL));
	CHECK(!is_outside(124 * MIB, 100 * MIB, NULL)); /* a quarter of the heap */
	CHECK(!is_outside(15 * MIB, MIB, NULL)); /* every process has that */
	CHECK(!is_outside(126 * MIB, 100 * MIB, "size_min")); /* of what is it outside? */
}

/* The text names what the allocators held at that moment beyond the blocks. */
static void check_held(const struct store_allocator_sample *said, size_t n, const char *expected)
{
	const struct store_sample sample = {.at_ns = RUN_NS / 2, .rss_bytes = 200 * MIB};

	begin();
	synth.sample = &sample;
	synth.n_samples = 1;
	synth.allocator_sample = said;
	synth.n_allocator_samples = n;
	add_base(100 * MIB);
	ask(0);
	CHECK_NOT_NULL(find(FINDING_OUTSIDE, 0));
	CHECK_NOT_NULL(strstr(find(FINDING_OUTSIDE, 0)->text, expected));
	end();
}

TEST(memory_outside_the_heap_that_an_allocator_holds_is_named)
{
	const struct store_allocator_sample said[] = {
		{.at_ns = 1, .resident_bytes = 900 * MIB},
		{.at_ns = RUN_NS / 4, .resident_bytes = 130 * MIB, .mapped_bytes = 900 * MIB},
		{.at_ns = RUN_NS / 4,
		 .resident_bytes = UINT64_MAX,
		 .mapped_bytes = 2 * MIB,
		 .number = 1},
		{.at_ns = RUN_NS / 4,
		 .resident_bytes = UINT64_MAX,
		 .mapped_bytes = UINT64_MAX,
		 .number = 2},
		{.at_ns = RUN_NS / 4 * 3, .resident_bytes = 900 * MIB},
		{.at_ns = 1,
		 .allocated_bytes = UINT64_MAX,
		 .resident_bytes = 50 * MIB,
		 .number = 3},
	};

	check_held(said, ARRAY_LEN(said), "; the allocator (libc) held 32.0 MiB of it: rounding");
	check_held(NULL, 0, "and memory that the allocator does not give back");
	check_held(&said[0], 1, "does not give back"); /* more than there is: swapped out */
	check_held(&said[2], 2, "does not give back");
}

/* Memory that the allocator keeps after the heap has shrunk is no finding. */
TEST(memory_that_was_heap_is_not_outside)
{
	const struct store_sample sample[] = {
		{.at_ns = RUN_NS / 4, .rss_bytes = 100 * MIB},
		{.at_ns = RUN_NS / 4 * 3, .rss_bytes = 101 * MIB},
	};

	begin();
	synth.sample = sample;
	synth.n_samples = ARRAY_LEN(sample);
	synth_add(&synth, STACK(&synth, "import", "main"), 0, RUN_NS / 2, 95 * MIB);
	ask(0);
	CHECK_NULL(find(FINDING_OUTSIDE, 0));
	end();
}

/* What a note says is missing comes before everything else, if there is memory that it can be about. */
static void check_unrecorded(const char *note, uint64_t rss_bytes, const char *title,
			     const char *text)
{
	const struct store_sample sample = {.at_ns = RUN_NS / 2, .rss_bytes = rss_bytes};
	const struct finding *f;

	begin();
	synth.sample = &sample;
	synth.n_samples = 1;
	synth.note[synth.n_notes++] = "recorder: something else: why";
	synth.note[synth.n_notes++] = note;
	add_base(MIB);
	keep_evenly(STACK(&synth, "keep", "main"), 128, 64 * KIB, RUN_NS / 2, RUN_NS);
	ask(0);
	f = find(FINDING_UNRECORDED, 0);
	CHECK_EQ(f != NULL, title != NULL);
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	if (f) {
		CHECK(f == &found.finding[0]);
		CHECK_STR_EQ(f->title, title);
		CHECK_NOT_NULL(strstr(f->text, text));
		CHECK_NULL(find(FINDING_OUTSIDE, 0));
	}
	end();
}

TEST(what_could_not_be_recorded_is_found_first)
{
	check_unrecorded("recorder: not recorded: jemalloc in the program: no symbols; keep them",
			 100 * MIB, "jemalloc in the program", ": no symbols; keep them");
	check_unrecorded("recorder: not recorded: something", 100 * MIB, "something",
			 "RSS 100 MiB");
	check_unrecorded("recorder: not recorded: a small library: why", 16 * MIB, NULL, NULL);
	check_unrecorded("recorder: recorded: jemalloc in the program", 100 * MIB, NULL, NULL);
}

/* A block that grows n times; every realloc moves it, or none does. */
static bool copies(unsigned n, bool is_moved, uint64_t other_bytes)
{
	uint32_t stack;
	bool is;

	begin();
	add_base(other_bytes);
	stack = STACK(&synth, "append", "main");
	synth.n_chains = 1;
	for (unsigned i = 0; i < n; i++) {
		struct synth_row *r = synth_add(&synth, stack, i + 1, i + 2, (i + 1) * 100 * KIB);

		r->chain = 1;
		r->position = i;
		r->addr = is_moved ? 0x1000000 * (i + 1) : 0x1000000;
		r->flags = (i ? STORE_KIND_REALLOC : STORE_KIND_MALLOC) |
			   (i + 1 < n ? STORE_FLAG_MOVED : 0);
	}
	ask(0);
	is = find(FINDING_COPYING, 0);
	if (is) {
		CHECK_EQ(find(FINDING_COPYING, 0)->value, n * (n - 1) / 2 * 100 * KIB);
		CHECK_STR_EQ(find(FINDING_COPYING, 0)->blame->function, "append");
		CHECK_STR_EQ(find(FINDING_COPYING, 0)->page, "chains");
	}
	end();
	return is;
}

TEST(realloc_that_copies_much_is_found)
{
	CHECK(copies(10, true, MIB));
	CHECK(!copies(10, false, MIB)); /* grown where it lies */
	CHECK(!copies(10, true, 64 * MIB)); /* less than a tenth of all bytes */
	CHECK(!copies(4, true, 1)); /* less than a mebibyte */
}

/* ---- all of them ---- */

TEST(first_of_each_kind_comes_before_the_second_of_any)
{
	begin();
	synth.facts.duration_ns = 10 * NS_PER_S;
	synth_add(&synth, STACK(&synth, "burst", "main"), NS_PER_S, NS_PER_S + 100, 64 * MIB);
	keep_evenly(STACK(&synth, "one", "main"), 100, 60 * KIB, 0, 10 * NS_PER_S);
	keep_evenly(STACK(&synth, "two", "main"), 100, 50 * KIB, 0, 10 * NS_PER_S);
	add_temporary(STACK(&synth, "decode", "main"), 2000, 100);
	ask(0);
	CHECK(found.n >= 4);
	CHECK_EQ(found.finding[0].kind, FINDING_LEAK);
	CHECK_STR_EQ(found.finding[0].blame->function, "one");
	CHECK_EQ(found.finding[1].kind, FINDING_PEAK);
	CHECK_EQ(found.finding[2].kind, FINDING_CHURN);
	CHECK_EQ(found.finding[3].kind, FINDING_LEAK);
	CHECK_STR_EQ(found.finding[3].blame->function, "two");
	end();
}

TEST(sound_program_has_remarks_only)
{
	begin();
	add_base(8 * MIB);
	synth_add(&synth, STACK(&synth, "open_log", "main"), 0, RUN_NS - 1, 4096);
	ask(0);
	CHECK_EQ(found.n, 1);
	CHECK_EQ(found.finding[0].kind, FINDING_REMARK);
	CHECK_STR_EQ(found.finding[0].title,
		     ">99.9 % of the peak (8.00 MiB) comes from one call site");
	CHECK_STR_EQ(found.finding[0].blame->function, "load_tables");
	end();
}

TEST(without_a_clock_there_are_remarks_only)
{
	begin();
	synth.facts.duration_ns = 0;
	for (uint64_t i = 0; i < 100; i++)
		synth_keep(&synth, 1, i, 64 * KIB);
	STACK(&synth, "remember", "main");
	ask(10);
	CHECK(found.n > 0);
	CHECK_EQ(found.finding[0].kind, FINDING_REMARK);
	end();
}

TEST(recording_without_allocations_has_nothing)
{
	begin();
	ask(10);
	CHECK_EQ(found.n, 0);
	end();
}

static void set_range(const char *from, const char *to)
{
	struct err err = {0};

	CHECK_EQ(filter_set(&filter, "from", from, &err), 1);
	CHECK_EQ(filter_set(&filter, "to", to, &err), 1);
}

/* What the range says is of the range: its last quarter, its seconds, its time. */
TEST(findings_of_a_range_are_about_the_range)
{
	const struct finding *f;

	begin();
	keep_evenly(STACK(&synth, "remember", "main"), 1000, 40 * KIB, 0, RUN_NS);
	set_range("+200s", "+400s");
	ask(10);
	f = find(FINDING_LEAK, 0);
	CHECK_NOT_NULL(f);
	CHECK_EQ(f->value, 201 * 40 * KIB);
	CHECK_STR_EQ(f->text,
		     "100 % of all leaked, +2.34 MiB per minute in the last quarter of the range");
	CHECK(f->timeline[0] > 0 && f->timeline[0] <= 25 * 40 * KIB);
	CHECK_EQ(f->timeline[9], f->value);
	end();
	begin(); /* it stopped growing in the middle of the range */
	keep_evenly(STACK(&synth, "remember", "main"), 100, 40 * KIB, 200 * NS_PER_S,
		    300 * NS_PER_S);
	set_range("+200s", "+400s");
	ask(0);
	CHECK_NULL(find(FINDING_LEAK, 0));
	end();
}

TEST(churn_of_a_range_is_per_second_of_the_range)
{
	begin();
	synth.facts.duration_ns = 100 * NS_PER_S;
	add_temporary(STACK(&synth, "decode", "main"), 30000, 400);
	set_range("+10s", "+19999999999ns"); /* both ends belong to it */
	ask(0);
	CHECK_NOT_NULL(find(FINDING_CHURN, 0));
	CHECK_STR_EQ(find(FINDING_CHURN, 0)->text,
		     "100 % of all temporary, 300 per second, each lives 400 ns (median)");
	end();
}

TEST(empty_range_has_no_finding)
{
	begin();
	keep_evenly(STACK(&synth, "remember", "main"), 100, 40 * KIB, 0, RUN_NS);
	set_range("+400s", "+200s");
	ask(10);
	CHECK_NULL(find(FINDING_LEAK, 0));
	end();
}

TEST(findings_go_by_the_filter)
{
	struct err err = {0};

	begin();
	add_base(MIB);
	keep_evenly(STACK(&synth, "one", "main"), 100, 60 * KIB, 0, RUN_NS);
	keep_evenly(STACK(&synth, "two", "main"), 100, 50 * KIB, 0, RUN_NS);
	CHECK_EQ(filter_set(&filter, "size_max", "51200", &err), 1);
	ask(10);
	CHECK_NOT_NULL(find(FINDING_LEAK, 0));
	CHECK_STR_EQ(find(FINDING_LEAK, 0)->blame->function, "two");
	CHECK_STR_EQ(find(FINDING_LEAK, 0)->title, "two keeps 4.88 MiB");
	CHECK(find(FINDING_LEAK, 0)->share == 1.0);
	CHECK_NULL(find(FINDING_LEAK, 1));
	end();
}
