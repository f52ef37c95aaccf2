/* query_fixture.c - see query_fixture.h. */
#include "query_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/test.h"

struct world world;
struct store *store;
struct frames *frames;
struct filter filter;
struct query *q;
bool *chosen;

void fixture_open(void)
{
	struct err err = {0};

	chosen = calloc(world.n_rows + 1, 1);
	if (world_open(&world, &store, &frames, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, ERR_NONE);
}

void fixture_close(void)
{
	frames_close(frames);
	store_close(store);
	free(chosen);
	world_free(&world);
}

void fixture_ask(const struct naive *n)
{
	struct query_context c = {.store = store, .frames = frames, .n_threads = 3};
	struct err err = {0};

	naive_rows(&world, n, chosen);
	CHECK_OK(naive_set_filter(n, &filter, &err));
	CHECK_OK(query_create(&c, &filter, &q, &err));
}

void fixture_end(void)
{
	query_destroy(q);
	filter_fini(&filter);
}

uint64_t below(uint64_t n)
{
	return world_below(&world, n);
}

void fixture_rows(const struct world_row *row, size_t n, bool is_chain)
{
	world_make(&world, 5, n);
	world.n_chains = is_chain;
	world.chain[0] = (struct world_chain){0, n - 1, n};
	world.duration = 1000;
	for (size_t i = 0; i < n; i++) {
		world.row[i] = row[i];
		world.row[i].alloc_ns = row[i].alloc_ns ? row[i].alloc_ns : 10 + i;
		world.row[i].free_ns = row[i].free_ns ? row[i].free_ns : WORLD_NEVER;
		world.row[i].chain = is_chain ? 0 : WORLD_NEVER;
		world.row[i].position = is_chain ? i : 0;
		if (world.row[i].free_ns != WORLD_NEVER && world.row[i].free_ns > world.duration)
			world.duration = world.row[i].free_ns;
	}
	fixture_open();
	fixture_ask(&(struct naive){.n = 0});
}
