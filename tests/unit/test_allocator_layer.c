/* A layer is an allocator, or passes its calls on: the first allocations tell. */
#include "record/allocator_layer.h"

#include "harness/test.h"
#include "record/allocator_numbers.h"

/* An allocation of the layer that enters the allocator with this number; -1: none. */
static uint32_t alloc(struct allocator_layer *layer, int below)
{
	allocator_layer_begin();
	if (below >= 0)
		allocator_layer_note((uint32_t)below);
	allocator_layer_note(7); /* inside the one below: does not count */
	if (below < 0)
		allocator_layer_begin();
	return allocator_layer_on_alloc(layer);
}

static struct allocator_layer *create(const char *module)
{
	uint32_t number = allocator_numbers_reserve("rust", "__rust_", module);
	struct allocator_layer *layer = allocator_layer_create(number);

	CHECK(layer);
	layer->n_functions = 4;
	CHECK_EQ(allocator_layer_number(layer), number);
	return layer;
}

TEST(a_layer_that_passes_everything_on_steps_aside)
{
	struct allocator_layer *layer = create("a");

	for (unsigned i = 0; i < ALLOCATOR_LAYER_TRIALS; i++) {
		CHECK(!allocator_layer_is_aside(layer));
		CHECK_EQ(alloc(layer, 3), 3u);
		CHECK_EQ(allocator_layer_number(layer), 3u);
	}
	CHECK(allocator_layer_is_aside(layer));
	CHECK_EQ(alloc(layer, -1), 3u); /* a call that was under way */
	CHECK(allocator_layer_is_aside(layer));
	CHECK(!allocator_numbers_get(layer->number));
}

TEST(a_layer_with_blocks_of_its_own_is_an_allocator)
{
	struct allocator_layer *layer = create("b");

	CHECK(!allocator_numbers_get(layer->number));
	CHECK_EQ(alloc(layer, -1), layer->number);
	CHECK_EQ(allocator_numbers_get(layer->number)->n_functions, 4u);
	for (unsigned i = 0; i < 2 * ALLOCATOR_LAYER_TRIALS; i++)
		CHECK_EQ(alloc(layer, 0), layer->number);
	CHECK(!allocator_layer_is_aside(layer));
}

TEST(all_blocks_of_a_layer_that_begins_late_have_one_number)
{
	struct allocator_layer *layer = create("c");

	CHECK_EQ(alloc(layer, 0), 0u);
	CHECK_EQ(alloc(layer, -1), 0u);
	CHECK_EQ(alloc(layer, 2), 0u);
	CHECK_EQ(allocator_layer_number(layer), 0u);
	CHECK(!allocator_layer_is_aside(layer));
	CHECK(!allocator_numbers_get(layer->number));
}

TEST(a_layer_above_two_allocators_stays)
{
	struct allocator_layer *layer = create("d");

	CHECK_EQ(alloc(layer, 2), 2u);
	for (unsigned i = 0; i < 2 * ALLOCATOR_LAYER_TRIALS; i++)
		CHECK_EQ(alloc(layer, 3), 2u);
	CHECK(!allocator_layer_is_aside(layer));
}

TEST(there_is_a_limit_of_layers)
{
	unsigned n = 0;

	while (allocator_layer_create(1))
		n++;
	CHECK(n < 100);
}
