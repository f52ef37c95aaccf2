/* checkpoint_layout.h: which changes of a struct make a build refuse the checkpoints of another. */
#include "harness/test.h"

#include <string.h>

#include "ingest/checkpoint_layout.h"

static const struct checkpoint_layout_field before[] = {
	{"struct a.first_ns", 0, 8},
	{"struct a.last_ns", 8, 8},
	{"struct a.n", 16, 4},
};

static uint64_t hash(const struct checkpoint_layout_field field[3])
{
	return checkpoint_layout_hash(field, 3);
}

TEST(equal_fields_give_equal_fingerprints)
{
	struct checkpoint_layout_field same[3];

	memcpy(same, before, sizeof(same));
	CHECK_EQ(hash(same), hash(before));
	CHECK_EQ(checkpoint_layout(), checkpoint_layout());
}

TEST(fields_of_one_size_that_are_swapped_change_the_fingerprint)
{
	const struct checkpoint_layout_field swapped[] = {
		{"struct a.last_ns", 0, 8}, {"struct a.first_ns", 8, 8}, {"struct a.n", 16, 4}};
	const struct checkpoint_layout_field listed_as_before[] = {
		{"struct a.first_ns", 8, 8}, {"struct a.last_ns", 0, 8}, {"struct a.n", 16, 4}};

	CHECK(hash(swapped) != hash(before));
	CHECK(hash(listed_as_before) != hash(before));
}

TEST(a_new_name_another_size_and_another_number_of_fields_change_it)
{
	const struct checkpoint_layout_field renamed[] = {
		{"struct a.first_ns", 0, 8}, {"struct a.end_ns", 8, 8}, {"struct a.n", 16, 4}};
	const struct checkpoint_layout_field wider[] = {
		{"struct a.first_ns", 0, 8}, {"struct a.last_ns", 8, 8}, {"struct a.n", 16, 8}};

	CHECK(hash(renamed) != hash(before));
	CHECK(hash(wider) != hash(before));
	CHECK(checkpoint_layout_hash(before, 2) != hash(before));
}
