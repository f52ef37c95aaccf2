/* The hash map. */
#include "harness/test.h"

#include "util/map.h"

TEST(values_stay_with_their_keys_while_it_grows)
{
	struct map m = {0};
	struct err err = {0};
	uint64_t *value;
	bool is_new;

	CHECK_NULL(map_find(&m, 0));
	for (uint64_t i = 0; i < 100000; i++) {
		CHECK_OK(map_add(&m, i * 4096, &value, &is_new, &err));
		CHECK(is_new);
		*value = ~i;
	}
	CHECK_EQ(m.n, 100000);
	for (uint64_t i = 0; i < 100000; i++) {
		CHECK_OK(map_add(&m, i * 4096, &value, &is_new, &err));
		CHECK(!is_new);
		CHECK_EQ(*value, ~i);
		CHECK_PTR_EQ(map_find(&m, i * 4096), value);
	}
	CHECK_NULL(map_find(&m, 1));
	map_fini(&m);
}

TEST(every_key_is_allowed)
{
	static const uint64_t key[] = {0, 1, UINT64_MAX, 1ull << 63};
	struct map m = {0};
	struct err err = {0};
	uint64_t *value;

	for (size_t i = 0; i < 4; i++) {
		CHECK_OK(map_add(&m, key[i], &value, NULL, &err));
		*value = i;
	}
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(*map_find(&m, key[i]), i);
	map_fini(&m);
}
