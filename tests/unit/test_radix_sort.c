/* Sorting by digits, against what a sorted array must be. */
#include "harness/test.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "harness/random.h"
#include "util/radix_sort.h"

/* The values are the places before: equal keys must keep their order. */
static void sort_and_check(size_t n, uint64_t first_key, uint64_t mask)
{
	struct radix_item *item = malloc((n + 1) * sizeof(*item)), *sorted;
	struct radix_item *other = malloc((n + 1) * sizeof(*other));
	uint64_t *key = malloc((n + 1) * sizeof(*key)), state = RANDOM_SEED;
	size_t n_wrong = 0;

	CHECK(item && other && key);
	for (size_t i = 0; i < n; i++) {
		key[i] = first_key + (random_next(&state) & mask);
		item[i] = (struct radix_item){key[i], i};
	}
	sorted = radix_sort(item, other, n);
	for (size_t i = 0; i < n; i++) {
		n_wrong += sorted[i].value >= n || key[sorted[i].value] != sorted[i].key;
		if (i > 0)
			n_wrong += sorted[i - 1].key > sorted[i].key ||
				   (sorted[i - 1].key == sorted[i].key &&
				    sorted[i - 1].value >= sorted[i].value);
	}
	CHECK_EQ(n_wrong, 0);
	free(item);
	free(other);
	free(key);
}

TEST(items_are_in_order_and_equal_ones_as_before)
{
	static const size_t size[] = {0, 1, 2, 3, 100, 2047, 2048, 50000};
	static const uint64_t mask[] = {0, 1, 0xff, 0x1fff, 0xfffff0, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(size); i++) {
		for (size_t k = 0; k < ARRAY_LEN(mask); k++) {
			sort_and_check(size[i], 0, mask[k]);
			sort_and_check(size[i], 0x7fffffffff00, mask[k]);
		}
	}
}
