/* What the cache finds is right, whatever it has lost; it keeps everything while it may grow; the
 * tables of all lanes together stay within their budget. */
#include "record/stack_id_cache.h"
#include "unwind/stack_hash.h"

#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "record/own_memory.h"

static size_t mapped_bytes;
static bool is_refusing;

void *own_memory_map(size_t bytes)
{
	void *memory = is_refusing ? NULL : aligned_alloc(4096, bytes);

	if (memory) {
		memset(memory, 0, bytes);
		mapped_bytes += bytes;
	}
	return memory;
}

void own_memory_unmap(void *memory, size_t bytes)
{
	free(memory);
	mapped_bytes -= bytes;
}

void own_memory_touch(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

static _Atomic uint64_t shared_bytes;

static void set_up(struct stack_id_cache *c)
{
	is_refusing = false;
	stack_id_cache_init(c, own_memory_map(STACK_ID_CACHE_FIRST_BYTES), &shared_bytes);
}

static void tear_down(struct stack_id_cache *c)
{
	is_refusing = false;
	stack_id_cache_reset(c);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	own_memory_unmap(c->first, STACK_ID_CACHE_FIRST_BYTES);
	CHECK_EQ(mapped_bytes, 0u);
}

/* Entry i of a tree in which each node has a few children: a function of i alone. */
static uint32_t parent_of(uint32_t id)
{
	return id / 3;
}

static uint64_t edge_key_of(uint32_t id)
{
	uintptr_t addr = 0x7f0000000000ull + (id % 3 + id % 1000) * 16;

	return stack_hash_edge_key(stack_hash_add(0, parent_of(id) * 16), addr);
}

static void add(struct stack_id_cache *c, uint32_t id)
{
	stack_id_cache_add(c, parent_of(id), edge_key_of(id), id);
}

/* Of the ids [from, to), how many are found; each under its own id. */
static uint32_t count_found(struct stack_id_cache *c, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t id = from; id < to; id++) {
		uint32_t found = stack_id_cache_find(c, parent_of(id), edge_key_of(id));

		n += found != 0;
		if (found && found != id) /* the same entry may have been added again later */
			CHECK(parent_of(found) == parent_of(id) &&
			      edge_key_of(found) == edge_key_of(id));
	}
	return n;
}

TEST(stack_id_cache_keeps_all_while_it_may_grow)
{
	struct stack_id_cache c;
	uint32_t n = STACK_ID_CACHE_FAST_BYTES / sizeof(struct stack_id_cache_entry) / 8 * 7;

	set_up(&c);
	for (uint32_t id = 1; id <= n; id++)
		add(&c, id);
	CHECK_EQ(stack_id_cache_capacity(&c) * sizeof(struct stack_id_cache_entry),
		 STACK_ID_CACHE_FAST_BYTES);
	CHECK(count_found(&c, 1, n + 1) >= n - n / 1000);
	CHECK_EQ(stack_id_cache_find(&c, 5, 0x1234), 0u);
	tear_down(&c);
}

TEST(stack_id_cache_becomes_small_and_then_large)
{
	struct stack_id_cache c;
	uint32_t id = 1;

	set_up(&c);
	for (; id < STACK_ID_CACHE_MANY_IDS / 2; id++)
		add(&c, id);
	CHECK(c.is_lossy);
	CHECK_EQ(stack_id_cache_capacity(&c) * sizeof(struct stack_id_cache_entry),
		 STACK_ID_CACHE_OWN_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	count_found(&c, 1, id);
	for (; id < 3 * STACK_ID_CACHE_MANY_IDS; id++)
		add(&c, id);
	CHECK_EQ(stack_id_cache_capacity(&c) * sizeof(struct stack_id_cache_entry),
		 STACK_ID_CACHE_LARGEST_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), STACK_ID_CACHE_LARGEST_BYTES);
	CHECK(count_found(&c, 1, id) > STACK_ID_CACHE_MANY_IDS / 8);
	tear_down(&c);
}

TEST(stack_id_cache_finds_nothing_that_was_forgotten)
{
	struct stack_id_cache c;
	uint32_t n = 5000;

	set_up(&c);
	for (uint32_t id = 1; id <= n; id++)
		add(&c, id);
	stack_id_cache_forget(&c, n + 1);
	CHECK_EQ(count_found(&c, 1, n + 1), 0u);
	stack_id_cache_add(&c, 0, edge_key_of(1), n + 1);
	CHECK_EQ(stack_id_cache_find(&c, 0, edge_key_of(1)), n + 1);
	stack_id_cache_reset(&c);
	CHECK_EQ(stack_id_cache_find(&c, 0, edge_key_of(1)), 0u);
	add(&c, 1);
	CHECK_EQ(count_found(&c, 1, n + 1), 1u);
	tear_down(&c);
}

TEST(stack_id_cache_share_a_limit)
{
	struct stack_id_cache c[40];
	uint64_t n_fast = 0;

	for (size_t k = 0; k < 40; k++) {
		set_up(&c[k]);
		for (uint32_t id = 1; id <= 40000; id++)
			add(&c[k], id);
		CHECK(atomic_load(&shared_bytes) <= STACK_ID_CACHE_SHARED_BYTES);
		n_fast += stack_id_cache_capacity(&c[k]) * sizeof(struct stack_id_cache_entry) ==
			  STACK_ID_CACHE_FAST_BYTES;
	}
	CHECK_EQ(n_fast, STACK_ID_CACHE_SHARED_BYTES / STACK_ID_CACHE_FAST_BYTES);
	for (size_t k = 0; k < 40; k++) {
		count_found(&c[k], 1, 40001);
		stack_id_cache_reset(&c[k]);
		own_memory_unmap(c[k].first, STACK_ID_CACHE_FIRST_BYTES);
	}
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	CHECK_EQ(mapped_bytes, 0u);
}

TEST(stack_id_cache_goes_on_without_memory)
{
	struct stack_id_cache c;

	set_up(&c);
	is_refusing = true;
	for (uint32_t id = 1; id <= 100000; id++)
		add(&c, id);
	CHECK_EQ(stack_id_cache_capacity(&c) * sizeof(struct stack_id_cache_entry),
		 STACK_ID_CACHE_FIRST_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	CHECK(count_found(&c, 1, 100001) > 1000);
	tear_down(&c);
}
