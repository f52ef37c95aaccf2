/* Allocators inside the program get numbers, and keep them. */
#include "record/allocator_numbers.h"

#include <stdio.h>
#include <string.h>

#include "harness/test.h"

TEST(an_allocator_is_known_when_it_is_published)
{
	uint32_t number = allocator_numbers_reserve("jemalloc", "_rjem_", "");

	CHECK_EQ(number, 1u);
	CHECK(!allocator_numbers_get(number));
	allocator_numbers_publish(number, 13);
	CHECK_STR_EQ(allocator_numbers_get(number)->name, "jemalloc");
	CHECK_STR_EQ(allocator_numbers_get(number)->prefix, "_rjem_");
	CHECK_STR_EQ(allocator_numbers_get(number)->module, "");
	CHECK_EQ(allocator_numbers_get(number)->n_functions, 13u);
	CHECK(!allocator_numbers_get(0));
	allocator_numbers_replace_libc("jemalloc", "", "/libjemalloc.so");
	CHECK(!allocator_numbers_get(0));
	allocator_numbers_publish(0, 30);
	CHECK_STR_EQ(allocator_numbers_get(0)->module, "/libjemalloc.so");
	CHECK(!allocator_numbers_get(2));
	CHECK(!allocator_numbers_get(ALLOCATOR_NUMBERS));
}

TEST(a_library_that_comes_again_keeps_its_number)
{
	char path[ALLOCATOR_MODULE_BYTES + 100];
	uint32_t number;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	number = allocator_numbers_reserve("mimalloc", "mi_", path);
	CHECK_EQ(allocator_numbers_reserve("mimalloc", "mi_", path), number);
	CHECK(allocator_numbers_reserve("mimalloc", "mi_", "/other.so") != number);
	allocator_numbers_publish(number, 1);
	CHECK_EQ(strlen(allocator_numbers_get(number)->module), ALLOCATOR_MODULE_BYTES - 1);
}

TEST(the_last_number_stands_for_the_rest)
{
	static char path[2 * ALLOCATOR_NUMBERS][32];
	uint32_t number = 0;

	for (unsigned i = 0; i < ARRAY_LEN(path); i++) {
		snprintf(path[i], sizeof(path[i]), "/lib%u.so", i);
		number = allocator_numbers_reserve("malloc", "", path[i]);
	}
	CHECK_EQ(number, ALLOCATOR_NUMBERS - 1);
	allocator_numbers_publish(number, 2);
	CHECK_STR_EQ(allocator_numbers_get(number)->name, "other allocators");
	CHECK_STR_EQ(allocator_numbers_get(number)->prefix, "");
}
