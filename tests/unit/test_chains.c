/* Realloc chains: random filters, each answer compared with a naive walk from row to row; and the cases that a
 * random store does not have. */
#include "harness/test.h"

#include <string.h>

#include "query/chains.h"
#include "query_fixture.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 60u
#else
#define N_FILTERS 400u
#endif

/* ---- chains ---- */

/* The row behind a row of a chain, found by looking at all later ones. */
static const struct world_row *next_of(const struct world_row *r)
{
	if (world.chain[r->chain].last == (uint64_t)(r - world.row))
		return NULL;
	for (const struct world_row *next = r + 1; next < world.row + world.n_rows; next++) {
		if (next->chain == r->chain && next->position == r->position + 1)
			return next;
	}
	return NULL;
}

static uint64_t copied_by(const struct world_row *old, const struct world_row *new)
{
	if (old->addr == new->addr || (old->flags & new->flags &STORE_FLAG_MMAPED))
		return 0;
	return old->size < new->size ? old->size : new->size;
}

/* Adds one chain of the site; reserve_bytes 0: not asked for. */
static void add_chain(struct chains_site *s, const struct world_row *first, uint64_t reserve_bytes)
{
	const struct world_row *r = first, *next;
	uint64_t length = 1;

	for (; (next = next_of(r)); r = next, length++) {
		s->n_reallocs++;
		s->n_moved += next->addr != r->addr;
		s->n_remapped +=
			next->addr != r->addr && (r->flags & next->flags & STORE_FLAG_MMAPED);
		s->copied_bytes += copied_by(r, next);
		if (next->size <= reserve_bytes)
			s->saved_bytes += copied_by(r, next);
	}
	s->n_chains++;
	s->longest = length > s->longest ? length : s->longest;
	s->first_bytes += first->size;
	s->last_bytes += r->size;
	s->max_last_bytes = r->size > s->max_last_bytes ? r->size : s->max_last_bytes;
}

/* The smallest power of two that is enough for nine tenths of a site's chains. */
static uint64_t naive_reserve(uint32_t stack)
{
	for (unsigned k = 0; k < 64; k++) {
		uint64_t n = 0, n_enough = 0;

		for (size_t c = 0; c < world.n_chains; c++) {
			if (!chosen[world.chain[c].first] ||
			    world.row[world.chain[c].first].stack != stack)
				continue;
			n++;
			n_enough += world.row[world.chain[c].last].size <= 1ull << k;
		}
		if (n_enough * 100 >= n * CHAINS_RESERVE_PERCENT)
			return 1ull << k;
	}
	return 0;
}

static void check_chains(void)
{
	struct chains got;
	struct err err = {0};
	size_t n_sites = 0;

	/* Windows of all sizes: some chains are longer than one. */
	CHECK_OK(chains_by_site(q, below(2) ? 1 + below(9) : CHAINS_WINDOW_ROWS, &got, &err));
	for (uint32_t stack = 0; stack < world.n_stacks; stack++) {
		struct chains_site want = {.stack = stack};

		for (size_t c = 0; c < world.n_chains; c++) {
			const struct world_row *first = &world.row[world.chain[c].first];

			if (!chosen[world.chain[c].first] || first->stack != stack)
				continue;
			if (want.n_chains == 0)
				want.reserve_bytes = naive_reserve(stack);
			add_chain(&want, first, want.reserve_bytes);
		}
		if (want.n_chains == 0)
			continue;
		CHECK(n_sites < got.n_sites);
		CHECK_MEM_EQ(&got.site[n_sites], &want, sizeof(want));
		n_sites++;
	}
	CHECK_EQ(got.n_sites, n_sites);
	chains_fini(&got);
}

struct list {
	uint64_t row[64];
	size_t n;
};

static bool add_to_list(void *user, const struct query_row *row)
{
	struct list *l = user;

	l->row[l->n++] = row->row;
	return l->n < 64;
}

static void check_chain_of_row(void)
{
	uint64_t row = below(world.n_rows), chain = world.row[row].chain;
	struct chains_list list = {.skip = below(3), .count = 1 + below(4), .fn = add_to_list};
	struct list got = {.n = 0};
	struct err err = {0};
	size_t n = 0;

	list.user = &got;
	CHECK_OK(chains_of_row(q, row, &list, &err));
	CHECK_EQ(list.n_rows, chain == WORLD_NEVER ? 1 : world.chain[chain].length);
	for (uint64_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if ((chain == WORLD_NEVER ? i != row : r->chain != chain) ||
		    r->position < list.skip || r->position >= list.skip + list.count)
			continue;
		CHECK(n < got.n);
		CHECK_EQ(got.row[n++], i);
	}
	CHECK_EQ(got.n, n);
}

/* ---- random filters ---- */

static void check_random_filters(unsigned n_filters)
{
	for (unsigned i = 0; i < n_filters; i++) {
		struct naive n = {0};

		naive_random(&world, &n);
		fixture_ask(&n);
		check_chains();
		check_chain_of_row();
		fixture_end();
	}
}

TEST(random_filters_on_a_small_store)
{
	world_make(&world, 31, 500);
	fixture_open();
	check_random_filters(N_FILTERS);
	fixture_close();
}

TEST(random_filters_on_a_store_of_three_blocks)
{
	world_make(&world, 32, 2 * STORE_BLOCK_ROWS + 77);
	fixture_open();
	check_random_filters(N_FILTERS / 8);
	fixture_close();
}

TEST(random_filters_with_several_threads)
{
	world_make(&world, 33, 16 * STORE_BLOCK_ROWS + 5); /* a thread for each eight blocks */
	fixture_open();
	check_random_filters(6);
	fixture_close();
}

/* ---- made by hand ---- */

TEST(only_reallocs_that_move_a_block_copy)
{
	static const struct world_row row[] = {
		{.addr = 0x1000, .size = 100, .stack = 3}, /* the first one's stack counts */
		{.addr = 0x1000, .size = 120, .stack = 4}, /* stays */
		{.addr = 0x2000, .size = 500, .stack = 4}, /* 120 copied */
		{.addr = 0x3000, .size = 40, .stack = 4}, /* shrinks and moves: 40 */
		{.addr = 0x7000, .size = 1u << 20, .flags = STORE_FLAG_MMAPED}, /* 40 */
		{.addr = 0x9000, .size = 2u << 20, .flags = STORE_FLAG_MMAPED}, /* mremap: none */
		{.addr = 0xa000, .size = 600}, /* back to the heap: 600 */
	};
	struct chains c;
	struct err err = {0};

	fixture_rows(row, 7, true);
	for (uint64_t window = 1; window < 9; window++) {
		CHECK_OK(chains_by_site(q, window, &c, &err));
		CHECK_EQ(c.n_sites, 1);
		CHECK_EQ(c.site[0].stack, 3);
		CHECK_EQ(c.site[0].n_chains, 1);
		CHECK_EQ(c.site[0].n_reallocs, 6);
		CHECK_EQ(c.site[0].longest, 7);
		CHECK_EQ(c.site[0].first_bytes, 100);
		CHECK_EQ(c.site[0].last_bytes, 600);
		CHECK_EQ(c.site[0].n_moved, 5);
		CHECK_EQ(c.site[0].n_remapped, 1);
		CHECK_EQ(c.site[0].copied_bytes, 120 + 40 + 40 + 600);
		CHECK_EQ(c.site[0].reserve_bytes, 1024);
		CHECK_EQ(c.site[0].saved_bytes, 120 + 40 + 600); /* not what went to 1 MiB */
		CHECK_EQ(c.total.copied_bytes, 800);
		chains_fini(&c);
	}
	fixture_end();
	fixture_close();
}

TEST(a_row_that_is_not_there_belongs_to_no_chain)
{
	static const struct world_row row[] = {{.addr = 16, .size = 1}, {.addr = 32, .size = 2}};
	struct chains_list list = {.count = 10, .fn = add_to_list};
	struct err err = {0};

	fixture_rows(row, 2, false);
	CHECK_ERR(chains_of_row(q, 2, &list, &err), ERR_USAGE);
	fixture_end();
	fixture_close();
}

TEST(a_chain_table_that_contradicts_the_rows_is_refused)
{
	static const struct world_row row[] = {{.addr = 16, .size = 1}, {.addr = 32, .size = 2}};
	struct chains c;
	struct err err = {0};

	world_make(&world, 5, 2);
	memcpy(world.row, row, sizeof(row));
	for (unsigned i = 0; i < 2; i++) {
		world.row[i].free_ns = WORLD_NEVER;
		world.row[i].chain = 0;
	}
	world.n_chains = 1;
	world.chain[0] = (struct world_chain){0, 1, 2};
	fixture_open();
	fixture_ask(&(struct naive){.n = 0});
	CHECK_ERR(chains_by_site(q, 100, &c, &err), ERR_FORMAT); /* both have position 0 */
	fixture_end();
	fixture_close();
	world_make(&world, 5, 2);
	world.n_chains = 1;
	world.chain[0] = (struct world_chain){0, 1, 3};
	fixture_open();
	fixture_ask(&(struct naive){.n = 0});
	CHECK_ERR(chains_by_site(q, 100, &c, &err), ERR_FORMAT); /* longer than there are rows */
	fixture_end();
	fixture_close();
}
