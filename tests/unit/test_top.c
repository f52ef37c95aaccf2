/* The first so many of many items. */
#include "harness/test.h"

#include <stdlib.h>

#include "harness/random.h"
#include "util/top.h"

static int compare(const void *a, const void *b, void *user)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	++*(size_t *)user;
	return x < y ? -1 : x > y;
}

static int compare_all(const void *a, const void *b)
{
	size_t unused = 0;

	return compare(a, b, &unused);
}

TEST(the_first_ones_are_those_of_a_full_sort)
{
	static const size_t max[] = {0, 1, 7, 511, 512, 513, 4000, 20000, 30000};
	size_t n = 20000, n_compared = 0;
	uint64_t *all = malloc(n * sizeof(*all)), seed = 3;
	struct err err = {0};

	for (size_t k = 0; k < sizeof(max) / sizeof(max[0]); k++) {
		struct top t = {.max = max[k],
				.item_bytes = sizeof(*all),
				.compare = compare,
				.user = &n_compared};
		size_t want = max[k] < n ? max[k] : n;

		for (size_t i = 0; i < n; i++) {
			all[i] = random_next(&seed) << 20 | i;
			CHECK_OK(top_add(&t, &all[i], &err));
			CHECK(t.n <= 2 * (max[k] > TOP_LEAST ? max[k] : TOP_LEAST));
		}
		top_finish(&t);
		qsort(all, n, sizeof(*all), compare_all);
		CHECK_EQ(t.n, want);
		if (want)
			CHECK_MEM_EQ(t.item, all, want * sizeof(*all));
		top_fini(&t);
	}
	free(all);
}
