/* Scratch memory: zeroes each time, used again, never more than its share of the budget. */
#include "harness/test.h"

#include <stdint.h>
#include <string.h>

#include "util/memory_budget.h"
#include "util/scratch.h"

#define LARGE ((size_t)1 << 20)

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return false;
	}
	return true;
}

TEST(what_was_given_back_is_taken_again_as_zeroes)
{
	uint8_t *first = scratch_take(LARGE), *second;

	CHECK_NOT_NULL(first);
	CHECK_EQ((uintptr_t)first % 64, 0u);
	CHECK(is_zero(first, LARGE));
	memset(first, 0xff, LARGE);
	scratch_give(first);
	second = scratch_take(LARGE - 100);
	CHECK(second == first);
	CHECK(is_zero(second, LARGE - 100));
	scratch_give(second);
}

TEST(small_needs_take_no_large_array)
{
	uint8_t *large = scratch_take(8 * LARGE), *small;

	scratch_give(large);
	small = scratch_take(LARGE / 2);
	CHECK_NOT_NULL(small);
	CHECK(small != large);
	scratch_give(small);
	CHECK(scratch_take(8 * LARGE) == large);
	scratch_give(large);
}

TEST(no_more_is_kept_than_a_share_of_the_budget)
{
	size_t most = memory_budget_share(1);
	uint8_t *all = scratch_take(most - LARGE), *more = scratch_take(2 * LARGE);
	uint8_t *too_large = scratch_take(most + LARGE);

	CHECK_NOT_NULL(all);
	CHECK_NOT_NULL(more);
	CHECK_NOT_NULL(too_large);
	scratch_give(too_large); /* is freed at once */
	scratch_give(all);
	scratch_give(more); /* takes the place of the other one */
	CHECK(scratch_take(2 * LARGE) == more);
	scratch_give(more);
	scratch_give(NULL);
}
