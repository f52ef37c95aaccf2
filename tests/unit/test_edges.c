/* The table of a lane's stacks: what it finds is right, whatever it lost; it keeps everything while it
 * may grow; all tables together stay within their limit. */
#include "record/edges.h"
#include "unwind/stack_hash.h"

#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "record/record.h"

static size_t mapped_bytes;
static bool is_refusing;

void *record_map(size_t bytes)
{
	void *memory = is_refusing ? NULL : aligned_alloc(4096, bytes);

	if (memory) {
		memset(memory, 0, bytes);
		mapped_bytes += bytes;
	}
	return memory;
}

void record_unmap(void *memory, size_t bytes)
{
	free(memory);
	mapped_bytes -= bytes;
}

void record_touch(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

static _Atomic uint64_t shared_bytes;

static void set_up(struct edges *e)
{
	is_refusing = false;
	edges_init(e, record_map(EDGES_FIRST_BYTES), &shared_bytes);
}

static void tear_down(struct edges *e)
{
	is_refusing = false;
	edges_reset(e);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	record_unmap(e->first, EDGES_FIRST_BYTES);
	CHECK_EQ(mapped_bytes, 0u);
}

/* Edge i of a tree in which each node has a few children: a function of i alone. */
static uint32_t parent_of(uint32_t id)
{
	return id / 3;
}

static uint64_t call_of(uint32_t id)
{
	uintptr_t addr = 0x7f0000000000ull + (id % 3 + id % 1000) * 16;

	return stack_hash_edge_key(stack_hash_add(0, parent_of(id) * 16), addr);
}

static void add(struct edges *e, uint32_t id)
{
	edges_add(e, parent_of(id), call_of(id), id);
}

/* Of the ids [from, to), how many are found; each under its own id. */
static uint32_t count_found(struct edges *e, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t id = from; id < to; id++) {
		uint32_t found = edges_find(e, parent_of(id), call_of(id));

		n += found != 0;
		if (found && found != id) /* the same edge may have been added again later */
			CHECK(parent_of(found) == parent_of(id) && call_of(found) == call_of(id));
	}
	return n;
}

TEST(edges_keeps_all_while_it_may_grow)
{
	struct edges e;
	uint32_t n = EDGES_FAST_BYTES / sizeof(struct edge) / 8 * 7;

	set_up(&e);
	for (uint32_t id = 1; id <= n; id++)
		add(&e, id);
	CHECK_EQ(edges_capacity(&e) * sizeof(struct edge), EDGES_FAST_BYTES);
	CHECK(count_found(&e, 1, n + 1) >= n - n / 1000);
	CHECK_EQ(edges_find(&e, 5, 0x1234), 0u);
	tear_down(&e);
}

TEST(edges_becomes_small_and_then_large)
{
	struct edges e;
	uint32_t id = 1;

	set_up(&e);
	for (; id < EDGES_MANY_IDS / 2; id++)
		add(&e, id);
	CHECK(e.is_lossy);
	CHECK_EQ(edges_capacity(&e) * sizeof(struct edge), EDGES_OWN_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	count_found(&e, 1, id);
	for (; id < 3 * EDGES_MANY_IDS; id++)
		add(&e, id);
	CHECK_EQ(edges_capacity(&e) * sizeof(struct edge), EDGES_LARGEST_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), EDGES_LARGEST_BYTES);
	CHECK(count_found(&e, 1, id) > EDGES_MANY_IDS / 8);
	tear_down(&e);
}

TEST(edges_finds_nothing_that_was_forgotten)
{
	struct edges e;
	uint32_t n = 5000;

	set_up(&e);
	for (uint32_t id = 1; id <= n; id++)
		add(&e, id);
	edges_forget(&e, n + 1);
	CHECK_EQ(count_found(&e, 1, n + 1), 0u);
	edges_add(&e, 0, call_of(1), n + 1);
	CHECK_EQ(edges_find(&e, 0, call_of(1)), n + 1);
	edges_reset(&e);
	CHECK_EQ(edges_find(&e, 0, call_of(1)), 0u);
	add(&e, 1);
	CHECK_EQ(count_found(&e, 1, n + 1), 1u);
	tear_down(&e);
}

TEST(edges_share_a_limit)
{
	struct edges e[40];
	uint64_t n_fast = 0;

	for (size_t k = 0; k < 40; k++) {
		set_up(&e[k]);
		for (uint32_t id = 1; id <= 40000; id++)
			add(&e[k], id);
		CHECK(atomic_load(&shared_bytes) <= EDGES_SHARED_BYTES);
		n_fast += edges_capacity(&e[k]) * sizeof(struct edge) == EDGES_FAST_BYTES;
	}
	CHECK_EQ(n_fast, EDGES_SHARED_BYTES / EDGES_FAST_BYTES);
	for (size_t k = 0; k < 40; k++) {
		count_found(&e[k], 1, 40001);
		edges_reset(&e[k]);
		record_unmap(e[k].first, EDGES_FIRST_BYTES);
	}
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	CHECK_EQ(mapped_bytes, 0u);
}

TEST(edges_goes_on_without_memory)
{
	struct edges e;

	set_up(&e);
	is_refusing = true;
	for (uint32_t id = 1; id <= 100000; id++)
		add(&e, id);
	CHECK_EQ(edges_capacity(&e) * sizeof(struct edge), EDGES_FIRST_BYTES);
	CHECK_EQ(atomic_load(&shared_bytes), 0u);
	CHECK(count_found(&e, 1, 100001) > 1000);
	tear_down(&e);
}
