/* Pages that few bytes keep, address ranges, and both against a naive evaluation. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "query/fragmentation.h"
#include "query/regions.h"
#include "query_synth.h"

#define PAGE 4096u

static struct world world;
static struct store *store;
static struct frames *frames;
static struct filter filter;
static struct query *q;

static void open_world(void)
{
	struct query_context c = {.n_threads = 2};
	struct err err = {0};

	CHECK_OK(world_open(&world, &store, &frames, &err));
	c.store = store;
	c.frames = frames;
	filter_init(&filter);
	CHECK_OK(query_create(&c, &filter, &q, &err));
}

static void close_world(void)
{
	query_destroy(q);
	filter_fini(&filter);
	frames_close(frames);
	store_close(store);
	world_free(&world);
}

/* A world with so many rows that a test places itself; all alive from 10 on. */
static void make_rows(const struct world_row *row, size_t n)
{
	world_make(&world, 5, n);
	for (size_t i = 0; i < n; i++) {
		world.row[i] = row[i];
		world.row[i].alloc_ns = 10 + i;
		world.row[i].free_ns = row[i].free_ns ? row[i].free_ns : WORLD_NEVER;
		world.row[i].chain = WORLD_NEVER;
	}
	world.n_chains = 0;
	world.duration = 1000;
	open_world();
}

TEST(pages_are_counted_by_what_is_used_of_them)
{
	static const struct world_row row[] = {
		{.addr = 16 * PAGE + 64, .size = 100, .extra = 4, .stack = 1}, /* alone: sparse */
		{.addr = 17 * PAGE, .size = 2000, .stack = 2}, /* half of its page */
		{.addr = 18 * PAGE + 4000, .size = 96 + 2 * PAGE + 50, .stack = 3}, /* 18 to 21 */
		{.addr = 18 * PAGE, .size = 20, .stack = 1}, /* 18: 116 used, two holders */
		{.addr = 21 * PAGE + 100, .size = 10, .stack = 4, .free_ns = 500}, /* released */
	};
	struct fragmentation f;
	struct err err = {0};

	make_rows(row, 5);
	CHECK_OK(fragmentation_at(q, 600, &f, &err));
	CHECK_EQ(f.n_blocks, 4);
	CHECK_EQ(f.usable_bytes, 104 + 2000 + 96 + 2 * PAGE + 50 + 20);
	CHECK_EQ(f.requested_bytes, f.usable_bytes - 4);
	CHECK_EQ(f.lowest_addr, 16 * PAGE + 64);
	CHECK_EQ(f.end_addr, 21 * PAGE + 50);
	CHECK_EQ(f.n_pages, 6);
	CHECK_EQ(f.n_sparse_pages, 3); /* 16, 18, 21 */
	CHECK_EQ(f.sparse_used_bytes, 104 + 116 + 50);
	CHECK_EQ(f.sparse_held_bytes, 3 * PAGE - f.sparse_used_bytes);
	CHECK_EQ(f.n_pages_by_use[0], 3);
	CHECK_EQ(f.n_pages_by_use[4], 1);
	CHECK_EQ(f.n_pages_by_use[9], 2);
	CHECK_EQ(f.n_sites, 3);
	CHECK_EQ(f.site[0].stack, 3); /* half of page 18 and all of 21 */
	CHECK_EQ(f.site[0].held_bytes, (PAGE - 116) / 2 + PAGE - 50);
	CHECK_EQ(f.site[0].n_sparse_pages, 2);
	CHECK_EQ(f.site[0].oldest_alloc_ns, 12);
	CHECK_EQ(f.site[1].stack, 1);
	CHECK_EQ(f.site[1].held_bytes, (PAGE - 116) / 2 + PAGE - 104);
	CHECK_EQ(f.site[1].usable_bytes - f.site[1].requested_bytes, 4);
	CHECK_EQ(f.site[1].oldest_alloc_ns, 10);
	CHECK_EQ(f.site[2].held_bytes, 0);
	CHECK_EQ(f.site[2].oldest_alloc_ns, UINT64_MAX);
	fragmentation_fini(&f);
	CHECK_OK(fragmentation_at(q, 5, &f, &err)); /* before the first */
	CHECK_EQ(f.n_blocks + f.n_pages + f.n_sites, 0);
	fragmentation_fini(&f);
	CHECK_ERR(fragmentation_at(q, UINT64_MAX, &f, &err), ERR_USAGE);
	close_world();
}

/* ---- a random world ---- */

static uint64_t used_in_page(uint64_t page, uint64_t at_ns)
{
	uint64_t used = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];
		uint64_t len = r->size + r->extra ? r->size + r->extra : 1;
		uint64_t start = r->addr > page * PAGE ? r->addr : page * PAGE;
		uint64_t end =
			r->addr + len < (page + 1) * PAGE ? r->addr + len : (page + 1) * PAGE;

		if (world_is_alive(r, at_ns) && start < end)
			used += end - start;
	}
	return used < PAGE ? used : PAGE;
}

TEST(every_page_of_a_random_world_is_found)
{
	uint64_t at_ns, n_pages = 0, n_sparse = 0, sparse_used = 0, held = 0;
	struct fragmentation f;
	struct err err = {0};

	world_make(&world, 41, 1500);
	/* Far enough apart that none overlaps, near enough that pages are shared. */
	for (size_t i = 0; i < world.n_rows; i++) {
		world.row[i].addr = 0x10000000 + 16 * 64 * ((i * 769) % world.n_rows);
		world.row[i].size %= 1000;
	}
	open_world();
	at_ns = world.peak_ns; /* many are alive */
	CHECK_OK(fragmentation_at(q, at_ns, &f, &err));
	for (uint64_t page = 0x10000000 / PAGE; page < 0x10000000 / PAGE + 600; page++) {
		uint64_t used = used_in_page(page, at_ns);

		n_pages += used > 0;
		n_sparse += used > 0 && used < PAGE / 4;
		sparse_used += used < PAGE / 4 ? used : 0;
	}
	CHECK(n_sparse > 5 && n_pages > n_sparse);
	CHECK_EQ(f.n_pages, n_pages);
	CHECK_EQ(f.n_sparse_pages, n_sparse);
	CHECK_EQ(f.sparse_used_bytes, sparse_used);
	for (size_t i = 0; i < f.n_sites; i++)
		held += f.site[i].held_bytes;
	CHECK_EQ(held, f.sparse_held_bytes);
	fragmentation_fini(&f);
	close_world();
}

TEST(lowest_and_highest_address_at_each_moment)
{
	static struct fragmentation_point point[300];
	uint64_t step;
	struct err err = {0};

	world_make(&world, 42, 3000);
	open_world();
	for (size_t n = 1; n <= 300; n = n * 3 + 1) {
		step = world.duration / n + 1;
		CHECK_OK(fragmentation_timeline(q, 7, step, n, point, &err));
		for (size_t i = 0; i < n; i++) {
			uint64_t low = UINT64_MAX, end = 0, n_blocks = 0, usable = 0;

			CHECK_EQ(point[i].at_ns, 7 + i * step);
			for (size_t k = 0; k < world.n_rows; k++) {
				const struct world_row *r = &world.row[k];
				uint64_t len = r->size + r->extra;

				if (!world_is_alive(r, point[i].at_ns))
					continue;
				n_blocks++;
				usable += len;
				low = r->addr < low ? r->addr : low;
				len = len ? len : 1;
				end = r->addr + len > end ? r->addr + len : end;
			}
			CHECK_EQ(point[i].n_blocks, n_blocks);
			CHECK_EQ(point[i].usable_bytes, usable);
			CHECK_EQ(point[i].lowest_addr, low);
			CHECK_EQ(point[i].end_addr, end);
		}
	}
	CHECK_ERR(fragmentation_timeline(q, 0, 1, 0, point, &err), ERR_USAGE);
	CHECK_ERR(fragmentation_timeline(q, 0, 0, 5, point, &err), ERR_USAGE);
	close_world();
}

/* ---- regions ---- */

struct regions {
	uint64_t start[16], end[16];
	size_t n, max;
};

static bool add_region(void *user, uint64_t start, uint64_t end)
{
	struct regions *g = user;

	g->start[g->n] = start;
	g->end[g->n] = end;
	return ++g->n < g->max;
}

TEST(regions_join_what_is_near)
{
	static const struct world_row row[] = {
		{.addr = 1000, .size = 24, .stack = 1},  {.addr = 1032, .size = 24, .stack = 1},
		{.addr = 5000, .size = 0, .stack = 1},   {.addr = 1100, .size = 900, .stack = 1},
		{.addr = 1500, .size = 100, .stack = 1}, {.addr = 2000, .size = 8, .stack = 1},
	};
	struct regions g = {.max = 16};
	struct err err = {0};

	make_rows(row, 6);
	CHECK_OK(regions_each(q, 0, add_region, &g, &err));
	CHECK_EQ(g.n, 4);
	CHECK(g.start[0] == 1000 && g.end[0] == 1024);
	CHECK(g.start[1] == 1032 && g.end[1] == 1056);
	CHECK(g.start[2] == 1100 && g.end[2] == 2008);
	CHECK(g.start[3] == 5000 && g.end[3] == 5001);
	g = (struct regions){.max = 16};
	CHECK_OK(regions_each(q, 8, add_region, &g, &err));
	CHECK_EQ(g.n, 3);
	CHECK(g.start[0] == 1000 && g.end[0] == 1056);
	g = (struct regions){.max = 1};
	CHECK_OK(regions_each(q, 0, add_region, &g, &err));
	CHECK_EQ(g.n, 1);
	close_world();
}

TEST(regions_that_do_not_fit_are_found_in_further_passes)
{
	struct world_row row[12];
	struct regions g = {.max = 16};
	struct err err = {0};

	for (size_t i = 0; i < 12; i++) /* in no order of addresses, each twice */
		row[i] = (struct world_row){
			.addr = 1000 + i * 7 % 6 * 100, .size = 50 + i, .stack = 1};
	make_rows(row, 12);
	CHECK_OK(regions_each_of(q, 0, 2, add_region, &g, &err));
	CHECK_EQ(g.n, 6);
	for (size_t i = 0; i < 6; i++) {
		CHECK_EQ(g.start[i], 1000 + 100 * i);
		CHECK_EQ(g.end[i], g.start[i] + 50 + 6 + i * 7 % 6 % 6);
	}
	g = (struct regions){.max = 16};
	CHECK_OK(regions_each_of(q, 44, 2, add_region, &g, &err));
	CHECK(g.n >= 1 && g.start[0] == 1000);
	close_world();
}
