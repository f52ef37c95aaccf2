/* Threads, markers and the median lifetime of call sites: random filters, compared with a naive count. */
#include "harness/test.h"

#include <stdlib.h>

#include "query/site_facts.h"
#include "query_fixture.h"
#include "store/store.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 20u
#else
#define N_FILTERS 150u
#endif

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_threads(uint32_t stack, const struct site_facts *f)
{
	uint64_t *allocs = calloc(world.n_threads, sizeof(*allocs));
	uint64_t n_threads = 0, busiest = 0;

	CHECK(allocs != NULL);
	for (size_t i = 0; i < world.n_rows; i++) {
		if (chosen[i] && world.row[i].stack == stack)
			allocs[world.row[i].thread]++;
	}
	for (size_t i = 0; i < world.n_threads; i++) {
		n_threads += allocs[i] > 0;
		busiest = allocs[i] > allocs[busiest] ? i : busiest;
	}
	CHECK_EQ(f->n_threads, n_threads);
	if (n_threads)
		CHECK_EQ(f->busiest, busiest);
	free(allocs);
}

static void check_site(uint32_t stack, const struct site_facts *f)
{
	uint64_t *life = calloc(world.n_rows + 1, sizeof(*life));
	uint64_t min_marker = UINT64_MAX, max_marker = 0, n_freed = 0, median;

	CHECK(life != NULL);
	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (!chosen[i] || r->stack != stack)
			continue;
		min_marker = r->marker < min_marker ? r->marker : min_marker;
		max_marker = r->marker > max_marker ? r->marker : max_marker;
		if (r->free_ns != WORLD_NEVER)
			life[n_freed++] = r->free_ns - r->alloc_ns;
	}
	CHECK_EQ(f->min_marker, min_marker == UINT64_MAX ? 0 : min_marker);
	CHECK_EQ(f->max_marker, max_marker);
	CHECK_EQ(f->n_freed, n_freed);
	if (n_freed) {
		qsort(life, n_freed, sizeof(*life), compare);
		median = life[(n_freed - 1) / 2];
		CHECK(f->median_min_ns <= median && median <= f->median_max_ns);
		CHECK((f->median_max_ns - f->median_min_ns) * 32 <= f->median_min_ns);
	}
	check_threads(stack, f);
	free(life);
}

static void check_some(void)
{
	uint32_t stack[500], step = 1 + (uint32_t)below(3);
	struct site_facts facts[500];
	struct err err = {0};
	size_t n = 0;

	for (uint32_t i = (uint32_t)below(3); i < world.n_stacks && n < 500; i += step)
		stack[n++] = i;
	CHECK_OK(site_facts_of(q, stack, n, facts, &err));
	for (size_t i = 0; i < n; i++)
		check_site(stack[i], &facts[i]);
}

TEST(facts_are_those_of_a_naive_count)
{
	world_make(&world, 81, 5000);
	fixture_open();
	for (unsigned i = 0; i < N_FILTERS; i++) {
		struct naive n = {.n = 0};

		if (i)
			naive_random(&world, &n);
		fixture_ask(&n);
		check_some();
		fixture_end();
	}
	fixture_close();
}

TEST(a_stack_that_allocated_nothing_has_none)
{
	static struct world_row row[4];
	struct site_facts facts[2];
	const uint32_t stack[2] = {1, 2};
	struct err err = {0};

	for (size_t i = 0; i < 4; i++)
		row[i] = (struct world_row){
			.size = 8, .addr = 4096 * (i + 1), .stack = 1, .marker = 3};
	fixture_rows(row, 4, false);
	CHECK_OK(site_facts_of(q, stack, 2, facts, &err));
	CHECK_EQ(facts[0].n_threads, 1u);
	CHECK_EQ(facts[0].n_freed, 0u);
	CHECK_EQ(facts[0].min_marker, 3u);
	CHECK_EQ(facts[1].n_threads, 0u);
	CHECK_EQ(facts[1].max_marker, 0u);
	fixture_end();
	fixture_close();
}
