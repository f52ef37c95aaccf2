#include "harness/test.h"
#include "unwind/generation.h"
#include "unwind/unwind.h"

TEST(generation_is_odd_while_code_changes_and_grows_after)
{
	uint32_t before = unwind_generation();

	CHECK_EQ(before & 1, 0);
	unwind_code_changing();
	CHECK_EQ(unwind_generation() & 1, 1);
	unwind_code_changed();
	CHECK_EQ(unwind_generation() & 1, 0);
	CHECK(unwind_generation() > before);
}

/* And each step is a generation of its own: what lay at an address may differ before and after. */
TEST(generation_stays_odd_until_the_last_change_is_over)
{
	uint32_t first;
	uint32_t second;
	uint32_t third;

	unwind_code_changing();
	first = unwind_generation();
	unwind_code_changing();
	second = unwind_generation();
	unwind_code_changed();
	third = unwind_generation();
	CHECK_EQ(first & second & third & 1, 1);
	CHECK(first < second && second < third);
	unwind_code_changed();
	CHECK_EQ(unwind_generation() & 1, 0);
	CHECK(unwind_generation() > third);
}

TEST(generation_of_a_forked_child_is_even)
{
	uint32_t before = unwind_generation();

	unwind_code_changing(); /* by a thread that the child does not have */
	generation_init();
	CHECK_EQ(unwind_generation() & 1, 0);
	CHECK(unwind_generation() > before);
	before = unwind_generation();
	unwind_code_changed(); /* by this one, which forked in the middle */
	CHECK_EQ(unwind_generation() & 1, 0);
	CHECK(unwind_generation() > before);
}
