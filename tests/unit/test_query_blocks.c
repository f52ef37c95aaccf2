/* Sizes, lifetimes and occupancy: hundreds of random filters, each answer compared with a
 * naive count of the same rows; and the cases that a random store does not have. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/lifetimes.h"
#include "query/occupancy.h"
#include "query/sizes.h"
#include "query_fixture.h"
#include "query_naive_time.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_FILTERS 60u
#else
#define N_FILTERS 400u
#endif
#define PAGE 4096u

/* ---- sizes ---- */

static bool row_is_at_peak(const struct world_row *r)
{
	struct query_peak peak;
	struct err err = {0};

	CHECK_OK(query_peak(q, &peak, &err));
	return world_is_alive(r, peak.at_ns);
}

static uint64_t naive_cost(const struct world_row *r, enum query_cost cost)
{
	switch (cost) {
	case QUERY_COST_PEAK_BYTES:
		return row_is_at_peak(r) ? r->size : 0;
	case QUERY_COST_LEAKED_BYTES:
		return r->free_ns == WORLD_NEVER ? r->size : 0;
	case QUERY_COST_LEAKED_COUNT:
		return r->free_ns == WORLD_NEVER;
	case QUERY_COST_ALLOCATIONS:
		return 1;
	case QUERY_COST_TEMPORARY:
		return !!(r->flags & STORE_FLAG_TEMPORARY);
	case QUERY_COST_EXTRA_BYTES:
		return r->extra;
	default:
		return r->size;
	}
}

/* The cost of the chosen rows of a size that have the key; NULL: of all of them. */
static uint64_t sum_cost(const struct sizes_bucket *b, enum query_cost cost, const uint64_t *keys,
			 uint64_t key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (chosen[i] && (!keys || keys[i] == key) &&
		    (!b || (r->size >= b->min_bytes && r->size <= b->max_bytes)))
			sum += naive_cost(r, cost);
	}
	return sum;
}

static void check_size_bucket(const struct sizes *s, const struct sizes_bucket *b,
			      enum query_cost cost, const uint64_t *keys)
{
	/* 0, 1, 2, 3 to 4, 5 to 8 ... */
	CHECK(b->max_bytes <= 2 ? b->min_bytes == b->max_bytes
				: b->min_bytes == b->max_bytes / 2 + 1);
	CHECK_EQ(b->cost.n_allocs, sum_cost(b, QUERY_COST_ALLOCATIONS, NULL, 0));
	CHECK_EQ(b->cost.n_bytes, sum_cost(b, QUERY_COST_BYTES, NULL, 0));
	CHECK_EQ(b->cost.extra_bytes, sum_cost(b, QUERY_COST_EXTRA_BYTES, NULL, 0));
	CHECK_EQ(query_group_cost(&b->cost, cost), sum_cost(b, cost, NULL, 0));
	for (size_t i = 0; i < s->n_parts; i++)
		CHECK_EQ(b->part[i], sum_cost(b, cost, keys,
					      naive_group_key(q, QUERY_BY_BLAME, s->part[i].key,
							      s->part[i].stack)));
}

/* Parts are the functions that cost most: none that is left out costs more than the last one. */
static void check_parts(const struct sizes *s, size_t max_parts, enum query_cost cost,
			const uint64_t *keys)
{
	uint64_t no_frame = naive_group_key(q, QUERY_BY_BLAME, 0, 0), last = 0;

	for (size_t i = 0; i < s->n_parts; i++) {
		CHECK_EQ(s->part[i].value,
			 sum_cost(NULL, cost, keys,
				  naive_group_key(q, QUERY_BY_BLAME, s->part[i].key,
						  s->part[i].stack)));
		CHECK(i == 0 || s->part[i].value <= last);
		last = s->part[i].value;
	}
	for (size_t k = 0; k < world.n_rows; k += 7) {
		bool is_part = keys[k] == no_frame;

		for (size_t i = 0; i < s->n_parts && !is_part; i++)
			is_part = naive_group_key(q, QUERY_BY_BLAME, s->part[i].key,
						  s->part[i].stack) == keys[k];
		if (!is_part)
			CHECK(sum_cost(NULL, cost, keys, keys[k]) <=
			      (s->n_parts == max_parts ? last : 0));
	}
}

static void check_sizes(void)
{
	enum query_cost cost = (enum query_cost)below(QUERY_COST_EXTRA_BYTES + 1);
	uint64_t *keys = naive_keys(&world, store, QUERY_BY_BLAME), n = 0;
	unsigned max_parts = 1 + (unsigned)below(7);
	static struct sizes s;
	struct err err = {0};

	CHECK_OK(sizes_count(q, cost, max_parts, &s, &err));
	for (size_t i = 0; i < s.n_buckets; i++) {
		CHECK(i == 0 || s.bucket[i].min_bytes == s.bucket[i - 1].max_bytes + 1);
		check_size_bucket(&s, &s.bucket[i], cost, keys);
		n += s.bucket[i].cost.n_allocs;
	}
	CHECK_EQ(n, sum_cost(NULL, QUERY_COST_ALLOCATIONS, NULL, 0)); /* nothing lies outside */
	CHECK(n == 0 || (s.bucket[0].cost.n_allocs && s.bucket[s.n_buckets - 1].cost.n_allocs));
	if (world.n_rows < 1000)
		check_parts(&s, max_parts, cost, keys);
	free(keys);
}

/* ---- lifetimes ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_round(uint64_t ns)
{
	while (ns >= 10 && ns % 10 == 0)
		ns /= 10;
	return ns == 1 || ns == 2 || ns == 5;
}

static void check_lifetimes(void)
{
	uint64_t *life = malloc((world.n_rows + 1) * sizeof(*life)), n = 0, n_bytes = 0;
	uint64_t never = 0, never_bytes = 0, counted = 0, counted_bytes = 0;
	struct lifetimes l;
	struct err err = {0};

	CHECK_OK(lifetimes_count(q, &l, &err));
	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (!chosen[i])
			continue;
		if (r->free_ns == WORLD_NEVER) {
			never++;
			never_bytes += r->size;
			continue;
		}
		life[n++] = r->free_ns - r->alloc_ns;
		n_bytes += r->size;
	}
	qsort(life, n, sizeof(*life), compare_u64);
	CHECK_EQ(l.never_count, never);
	CHECK_EQ(l.never_bytes, never_bytes);
	CHECK_EQ(l.freed_count, n);
	CHECK_EQ(l.freed_bytes, n_bytes);
	if (n)
		CHECK_EQ(l.median_ns, life[(n - 1) / 2]);
	for (size_t b = 0; b < l.n_buckets; b++) {
		uint64_t count = 0;

		for (size_t i = 0; i < n; i++)
			count += life[i] >= l.bucket[b].min_ns && life[i] <= l.bucket[b].max_ns;
		CHECK_EQ(l.bucket[b].count, count);
		CHECK(is_round(l.bucket[b].max_ns) || l.bucket[b].max_ns == UINT64_MAX);
		CHECK(b == 0 || l.bucket[b].min_ns == l.bucket[b - 1].max_ns + 1);
		counted += count;
		counted_bytes += l.bucket[b].n_bytes;
	}
	CHECK_EQ(counted, n);
	CHECK_EQ(counted_bytes, n_bytes);
	free(life);
}

/* ---- occupancy ---- */

static uint64_t usable(const struct world_row *r)
{
	return r->size + r->extra ? r->size + r->extra : 1;
}

/* Bytes of [start, end) that blocks take, those that overlap counted twice. */
static uint64_t naive_used(uint64_t at, uint64_t start, uint64_t end)
{
	uint64_t n = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];
		uint64_t low = r->addr > start ? r->addr : start;
		uint64_t high = r->addr + usable(r) < end ? r->addr + usable(r) : end;

		if (chosen[i] && world_is_alive(r, at) && low < high)
			n += high - low;
	}
	return n;
}

static void check_range(const struct occupancy *o, const struct occupancy_range *r)
{
	uint64_t n = 0;

	CHECK_EQ(r->start % PAGE, 0);
	CHECK_EQ(r->end % PAGE, 0);
	for (size_t c = 0; c < r->n_cells; c++) {
		uint64_t start = r->start + c * o->cell_bytes;
		uint64_t len = occupancy_cell_bytes(o, r, c);
		uint64_t used = naive_used(o->at_ns, start, start + len);

		CHECK_EQ(o->cell[r->first_cell + c], used < len ? used : len);
		n += len;
	}
	CHECK_EQ(n, r->end - r->start);
	CHECK_EQ(r->used_bytes, naive_used(o->at_ns, r->start, r->end));
	/* Neither the first page nor the last one is there for nothing. */
	CHECK(naive_used(o->at_ns, r->start, r->start + PAGE) > 0);
	CHECK(naive_used(o->at_ns, r->end - PAGE, r->end) > 0);
}

struct span {
	uint64_t start, end;
};

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* How many ranges there are when each large gap separates two. */
static size_t naive_ranges(uint64_t at)
{
	struct span *s = malloc((world.n_rows + 1) * sizeof(*s));
	size_t n = 0, n_ranges = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < world.n_rows; i++) {
		const struct world_row *r = &world.row[i];

		if (chosen[i] && world_is_alive(r, at))
			s[n++] = (struct span){r->addr, r->addr + usable(r)};
	}
	qsort(s, n, sizeof(*s), compare_spans);
	for (size_t i = 0; i < n; i++) {
		n_ranges +=
			i == 0 || (s[i].start > end && s[i].start - end >= OCCUPANCY_UNIT_BYTES);
		end = s[i].end > end ? s[i].end : end;
	}
	free(s);
	return n_ranges;
}

static void check_occupancy(void)
{
	uint64_t at = world.row[below(world.n_rows)].alloc_ns, n_blocks = 0, n_alive = 0;
	size_t max_cells = 1 + below(below(2) || world.n_rows > 20000 ? 40 : 2000);
	struct occupancy o;
	struct err err = {0};

	CHECK_OK(occupancy_at(q, at, max_cells, &o, &err));
	CHECK(o.n_cells <= max_cells);
	for (size_t i = 0; i < o.n_ranges; i++) {
		check_range(&o, &o.range[i]);
		n_blocks += o.range[i].n_blocks;
		if (i)
			CHECK(o.range[i].start - o.range[i - 1].end + 2 * PAGE >
			      OCCUPANCY_UNIT_BYTES);
	}
	for (size_t i = 0; i < world.n_rows; i++)
		n_alive += chosen[i] && world_is_alive(&world.row[i], at);
	CHECK_EQ(n_blocks, n_alive);
	CHECK_EQ(o.n_ranges > 0, n_alive > 0);
	if (naive_ranges(at) <= max_cells / 4 && naive_ranges(at) <= OCCUPANCY_MAX_RANGES)
		CHECK_EQ(o.n_ranges, naive_ranges(at));
	else
		CHECK(o.n_ranges <= max_cells / 4 + 1 && o.n_ranges <= OCCUPANCY_MAX_RANGES);
	/* Smaller cells would be too many. */
	if (o.cell_bytes > PAGE) {
		uint64_t n = 0;

		for (size_t i = 0; i < o.n_ranges; i++)
			n += (o.range[i].end - o.range[i].start - 1) / (o.cell_bytes / 2) + 1;
		CHECK(n > max_cells);
	}
	occupancy_fini(&o);
}

/* ---- random filters ---- */

static void check_random_filters(unsigned n_filters)
{
	for (unsigned i = 0; i < n_filters; i++) {
		struct naive n = {0};

		naive_random(&world, &n);
		fixture_ask(&n);
		check_sizes();
		check_lifetimes();
		check_occupancy();
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

TEST(buckets_of_sizes_end_at_powers_of_two)
{
	static const uint64_t size[] = {
		0, 1, 2, 3, 4, 5, 8, 9, 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 8};
	static const uint64_t max[] = {0, 1, 2, 4, 4, 8, 8, 16, 1ull << 63, UINT64_MAX, UINT64_MAX};
	struct world_row row[11] = {{0}};
	static struct sizes s;
	struct err err = {0};

	for (size_t i = 0; i < 11; i++)
		row[i].size = size[i];
	fixture_rows(row, 11, false);
	CHECK_OK(sizes_count(q, QUERY_COST_BYTES, 0, &s, &err));
	CHECK_EQ(s.n_buckets, SIZES_MAX_BUCKETS);
	for (size_t i = 0; i < s.n_buckets; i++) {
		uint64_t n = 0;

		for (size_t k = 0; k < 11; k++)
			n += max[k] == s.bucket[i].max_bytes;
		CHECK_EQ(s.bucket[i].cost.n_allocs, n);
	}
	fixture_end();
	fixture_close();
}

TEST(the_median_of_lifetimes_is_exact_however_long_they_are)
{
	struct world_row row[9] = {{0}};
	struct lifetimes l;
	struct err err = {0};

	for (unsigned shift = 0; shift < 61; shift += 4) {
		/* nine lifetimes next to each other, in no order */
		for (uint64_t i = 0; i < 9; i++)
			row[i] = (struct world_row){.alloc_ns = 1 + i,
						    .free_ns = 1 + i + (11ull << shift) / 8 +
							       i * 5 % 9};
		fixture_rows(row, 9, false);
		CHECK_OK(lifetimes_count(q, &l, &err));
		CHECK_EQ(l.median_ns, (11ull << shift) / 8 + 4);
		CHECK_EQ(l.freed_count, 9);
		fixture_end();
		fixture_close();
	}
}

TEST(blocks_far_apart_are_ranges_of_their_own)
{
	static const struct world_row row[] = {
		{.addr = 0x100000, .size = 4096}, /* fills its page */
		{.addr = 0x102800, .size = 0x800}, /* half of the third page */
		{.addr = 0x40000000, .size = 0}, /* one byte */
		{.addr = 0x40200010, .size = 3 * PAGE}, /* over the ends of four pages */
		{.addr = 0x50000000, .size = 10, .free_ns = 50}, /* freed before */
	};
	struct occupancy o;
	struct err err = {0};

	fixture_rows(row, 5, false);
	CHECK_OK(occupancy_at(q, 60, 100, &o, &err));
	CHECK_EQ(o.cell_bytes, PAGE);
	CHECK_EQ(o.n_ranges, 3);
	CHECK_EQ(o.range[0].start, 0x100000);
	CHECK_EQ(o.range[0].end, 0x103000);
	CHECK_EQ(o.range[0].n_blocks, 2);
	CHECK_EQ(o.cell[0], PAGE);
	CHECK_EQ(o.cell[1], 0);
	CHECK_EQ(o.cell[2], 0x800);
	CHECK_EQ(o.range[1].n_cells, 1);
	CHECK_EQ(o.cell[3], 1);
	CHECK_EQ(o.range[2].n_cells, 4);
	CHECK_EQ(o.cell[4], PAGE - 16);
	CHECK_EQ(o.cell[6], PAGE);
	CHECK_EQ(o.cell[7], 16);
	occupancy_fini(&o);
	CHECK_OK(occupancy_at(q, 60, 8, &o, &err)); /* two ranges: the small gap goes */
	CHECK_EQ(o.n_ranges, 2);
	CHECK_EQ(o.range[1].start, 0x40000000);
	occupancy_fini(&o);
	CHECK_ERR(occupancy_at(q, 60, 0, &o, &err), ERR_USAGE);
	CHECK_ERR(occupancy_at(q, UINT64_MAX, 10, &o, &err), ERR_USAGE);
	fixture_end();
	fixture_close();
}

TEST(blocks_in_more_places_than_are_remembered_are_still_counted)
{
	size_t n = OCCUPANCY_MAX_UNITS + 5000;
	struct world_row *row = calloc(n, sizeof(*row));
	struct occupancy o;
	struct err err = {0};

	for (size_t i = 0; i < n; i++)
		row[i] = (struct world_row){.addr = i * 5 * OCCUPANCY_UNIT_BYTES, .size = 64};
	fixture_rows(row, n, false);
	CHECK_OK(occupancy_at(q, 20 + n, 1000, &o, &err));
	/* Units of 8 MiB: gaps of 5 MiB are too small to see. */
	CHECK_EQ(o.n_ranges, 1);
	CHECK_EQ(o.range[0].n_blocks, n);
	CHECK_EQ(o.range[0].used_bytes, 64 * n);
	occupancy_fini(&o);
	fixture_end();
	fixture_close();
	free(row);
}
