/* Images are listed once, found again by what a lane remembers of them, and looked at again when code has
 * changed. */
#include "harness/test.h"
#include "record/module_list.h"

#include <stdlib.h>

#include "unwind/unwind.h"

static struct module_list list;
static struct module_list_range range[MODULE_LIST_N_RANGES];

static bool add(uintptr_t addr, uint32_t generation)
{
	return module_list_add(&list, range, addr, generation);
}

static uintptr_t own_code(void)
{
	return (uintptr_t)own_code + 4;
}

static uintptr_t libc_code(void)
{
	return (uintptr_t)qsort + 4; /* of an image, by whatever way it is reached */
}

static bool is_remembered(uintptr_t addr, uint32_t generation)
{
	const struct module_list_range *here = &range[(addr >> 16) % MODULE_LIST_N_RANGES];

	return addr - 1 - here->start < here->n_bytes && here->generation == generation;
}

TEST(module_list_notes_an_image_once)
{
	unwind_init();
	CHECK(add(own_code(), 2));
	CHECK_EQ(list.n, 1);
	CHECK(is_remembered(own_code(), 2));
	CHECK(!add(own_code(), 2));
	CHECK(!add(own_code() + 1, 2));
	add(libc_code(), 2);
	CHECK(!add(own_code(), 2));
	CHECK(!add(libc_code(), 2));
	CHECK(list.n <= 2);
}

/* A lane that knows nothing finds it in the list. */
TEST(module_list_is_shared_by_lanes)
{
	uint32_t n = list.n;

	for (unsigned i = 0; i < MODULE_LIST_N_RANGES; i++)
		range[i] = (struct module_list_range){0};
	CHECK(!add(own_code(), 2));
	CHECK(is_remembered(own_code(), 2));
	CHECK_EQ(list.n, n);
}

TEST(module_list_looks_again_when_code_has_changed)
{
	CHECK(!is_remembered(own_code(), 4));
	CHECK(!add(own_code(), 4)); /* still the same image */
	CHECK(is_remembered(own_code(), 4));
	CHECK(!add(own_code(), 5)); /* is changing */
	CHECK(!is_remembered(own_code(), 5));
}

TEST(module_list_remembers_a_page_that_is_no_image)
{
	void *block = malloc(64);
	uintptr_t addr = (uintptr_t)block + 4;
	uint32_t n = list.n;

	CHECK(add(addr, 4)); /* the first of this kind is news for the writer */
	CHECK(list.has_code_outside);
	CHECK(is_remembered(addr, 4));
	CHECK(!add(addr, 6));
	CHECK(!is_remembered(addr + 4096, 4));
	CHECK(!is_remembered(addr, 8));
	CHECK_EQ(list.n, n);
	free(block);
}
