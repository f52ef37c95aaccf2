/* Which image an address belonged to, as code comes and goes. */
#include "harness/test.h"

#include "recording/module_map.h"

static char path_a[] = "/a.so", path_b[] = "/b.so";

#define IMAGE(path_, start_, end_, generation_)                                                    \
	{                                                                                          \
		.base = start_, .start = start_, .end = end_, .generation = generation_, .path = { \
			path_,                                                                     \
			5                                                                          \
		}                                                                                  \
	}

static struct module_map *create(struct metadata_module *module, size_t n)
{
	static struct metadata metadata;
	struct module_map *m = NULL;
	struct err err = {0};

	metadata = (struct metadata){.module = module, .n_modules = n};
	CHECK_OK(module_map_create(&metadata, &m, &err));
	return m;
}

TEST(the_address_before_the_return_address_decides)
{
	struct metadata_module module[] = {IMAGE(path_a, 0x1000, 0x2000, 0)};
	struct module_map *m = create(module, 1);

	CHECK_EQ(module_map_find(m, 0x1000, 0), MODULE_MAP_NONE);
	CHECK_EQ(module_map_find(m, 0x1001, 0), 0);
	CHECK_EQ(module_map_find(m, 0x2000, 0), 0);
	CHECK_EQ(module_map_find(m, 0x2001, 0), MODULE_MAP_NONE);
	CHECK_EQ(module_map_find(m, 0, 0), MODULE_MAP_NONE);
	module_map_destroy(m);
}

TEST(the_newest_image_that_is_not_too_new_counts)
{
	struct metadata_module module[] = {
		IMAGE(path_a, 0x1000, 0x2000, 4), IMAGE(path_b, 0x1800, 0x2800, 2),
		IMAGE(path_b, 0x0000, 0x9000, 0), /* around all of them */
	};
	struct module_map *m = create(module, 3);

	CHECK_EQ(module_map_find(m, 0x1900, 0), 2);
	CHECK_EQ(module_map_find(m, 0x1900, 2), 1);
	CHECK_EQ(module_map_find(m, 0x1900, 3), 1);
	CHECK_EQ(module_map_find(m, 0x1900, 4), 0);
	CHECK_EQ(module_map_find(m, 0x2100, 9), 1);
	CHECK_EQ(module_map_find(m, 0x8000, 9), 2);
	module_map_destroy(m);
}

TEST(an_image_that_came_back_is_the_same_one)
{
	struct metadata_module module[] = {
		IMAGE(path_a, 0x1000, 0x2000, 0),
		IMAGE(path_b, 0x1000, 0x2000, 2),
		IMAGE(path_a, 0x1000, 0x2000, 4),
	};
	struct module_map *m = create(module, 3);

	CHECK_EQ(module_map_find(m, 0x1100, 0), 0);
	CHECK_EQ(module_map_find(m, 0x1100, 2), 1);
	CHECK_EQ(module_map_find(m, 0x1100, 4), 0);
	CHECK_EQ(module_map_count(m), 2);
	module_map_destroy(m);
}

TEST(no_images_is_fine)
{
	struct module_map *m = create(NULL, 0);

	CHECK_EQ(module_map_find(m, 0x1000, 0), MODULE_MAP_NONE);
	CHECK_EQ(module_map_count(m), 0);
	module_map_destroy(m);
}
