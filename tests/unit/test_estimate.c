/* Estimates: what a pass over a part of the blocks says about all rows, and when it is exact after
 * all. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "query/estimate.h"
#include "query/group_series.h"
#include "query/lifetimes.h"
#include "query/query_growth.h"
#include "query/sizes.h"
#include "query/thread_pairs.h"
#include "query_fixture.h"

#define N_BLOCKS 60u
#define N_ROWS ((size_t)N_BLOCKS * STORE_BLOCK_ROWS)
#define SAMPLE 12u

/* Estimates may differ from the truth by this part: rows of the made-up world are alike. */
#define MAX_ERROR 0.15

static bool is_near(uint64_t estimate, uint64_t exact)
{
	double d = (double)estimate - (double)exact;

	return (d < 0 ? -d : d) <= MAX_ERROR * (double)exact + 64;
}

/* A query like q, which reads at most so many blocks. */
static struct query *sampled(uint64_t n_blocks, struct query_progress *progress)
{
	struct query_context c = {.store = store,
				  .frames = frames,
				  .n_threads = 2,
				  .sample_blocks = n_blocks,
				  .progress = progress};
	struct query *ret = NULL;
	struct err err = {0};

	CHECK_OK(query_create(&c, &filter, &ret, &err));
	return ret;
}

static void open_large(void)
{
	world_make(&world, 11, N_ROWS);
	fixture_open();
}

static void ask_for(const char *name, const char *value)
{
	struct query_context c = {.store = store, .frames = frames, .n_threads = 2};
	struct err err = {0};

	filter_init(&filter);
	CHECK_EQ(filter_set(&filter, name, value, &err), 1);
	CHECK_OK(query_create(&c, &filter, &q, &err));
}

static struct query_group total_of(struct query *one)
{
	struct query_group g = {0};
	struct err err = {0};

	CHECK_OK(query_total(one, &g, &err));
	return g;
}

TEST(sums_of_a_part_are_near_those_of_all_rows)
{
	struct query_group exact, estimate;
	struct query_progress progress = {0};
	struct query *one;

	open_large();
	ask_for("size_min", "2");
	one = sampled(SAMPLE, &progress);
	CHECK(query_read_share(one) >= 1); /* nothing was read yet */
	exact = total_of(q);
	estimate = total_of(one);
	CHECK(query_read_share(one) < 1);
	CHECK(query_read_share(one) > 0.9 * SAMPLE / N_BLOCKS);
	CHECK(query_read_share(q) >= 1);
	CHECK(is_near(estimate.n_allocs, exact.n_allocs));
	CHECK(is_near(estimate.n_bytes, exact.n_bytes));
	CHECK(is_near(estimate.n_leaked, exact.n_leaked));
	CHECK(estimate.n_allocs != exact.n_allocs);
	CHECK(atomic_load(&progress.n_passes) > 0);
	CHECK_EQ(atomic_load(&progress.n_all), N_BLOCKS);
	query_destroy(one);
	fixture_end();
	fixture_close();
}

TEST(no_more_is_alive_than_all_rows_have)
{
	struct store_bucket exact[50], estimate[50];
	const struct store_facts *facts;
	struct query_peak peak;
	struct query_groups g;
	struct query *one;
	struct err err = {0};

	open_large();
	facts = store_facts(store);
	ask_for("size_min", "2");
	one = sampled(SAMPLE, NULL);
	CHECK_OK(query_peak(one, &peak, &err));
	CHECK(peak.n_bytes <= facts->peak_bytes);
	CHECK_OK(query_timeline(q, 0, world.duration, ARRAY_LEN(exact), exact, &err));
	CHECK_OK(query_timeline(one, 0, world.duration, ARRAY_LEN(estimate), estimate, &err));
	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		CHECK(estimate[i].max_bytes <= facts->peak_bytes);
	CHECK_OK(query_groups(one, QUERY_BY_STACK, &g, &err));
	CHECK(g.total.peak_bytes <= facts->peak_bytes + g.n);
	for (size_t i = 0; i < g.n; i++) {
		const struct store_stack *s = &one->stack[g.group[i].key];

		CHECK(g.group[i].n_bytes <= s->n_bytes);
		CHECK(g.group[i].n_allocs <= s->n_allocs);
		CHECK(g.group[i].peak_bytes <= s->max_bytes);
	}
	query_groups_fini(&g);
	query_destroy(one);
	fixture_end();
	fixture_close();
}

/* Each kind of answer that a request with `first` may get. */
TEST(every_kind_of_sum_is_multiplied)
{
	struct sizes *sizes = calloc(2, sizeof(*sizes));
	struct lifetimes lives[2];
	struct query_growths growth[2] = {0};
	struct thread_pair pairs[2][64];
	uint64_t series[2][10], sum[2][5] = {{0}};
	struct query *of[2];
	struct err err = {0};

	CHECK_NOT_NULL(sizes);
	open_large();
	ask_for("size_min", "2");
	of[0] = q;
	of[1] = sampled(SAMPLE, NULL);
	for (unsigned i = 0; i < 2; i++) {
		const struct group_series s = {.kind = GROUP_SERIES_ALLOCATIONS,
					       .to_ns = world.duration,
					       .n_buckets = ARRAY_LEN(series[i])};

		CHECK_OK(sizes_count(of[i], QUERY_COST_BYTES, 3, &sizes[i], &err));
		CHECK_OK(lifetimes_count(of[i], &lives[i], &err));
		CHECK_OK(query_growth(of[i], QUERY_BY_THREAD, world.duration / 3, world.duration,
				      &growth[i], &err));
		CHECK_OK(thread_pairs_count(of[i], 8, pairs[i], &err));
		CHECK_OK(group_series_total(of[i], &s, series[i], &err));
		for (size_t k = 0; k < sizes[i].n_buckets; k++)
			sum[i][0] += sizes[i].bucket[k].cost.n_bytes;
		sum[i][1] = lives[i].freed_count;
		sum[i][2] = growth[i].total.to_count;
		for (size_t k = 0; k < ARRAY_LEN(pairs[i]); k++)
			sum[i][3] += pairs[i][k].count;
		for (size_t k = 0; k < ARRAY_LEN(series[i]); k++)
			sum[i][4] += series[i][k];
		query_growths_fini(&growth[i]);
	}
	for (size_t k = 0; k < ARRAY_LEN(sum[0]); k++) {
		CHECK(sum[0][k] > 1000);
		CHECK(is_near(sum[1][k], sum[0][k]));
	}
	query_destroy(of[1]);
	fixture_end();
	fixture_close();
	free(sizes);
}

/* Minima and maxima rule out the other blocks, so all that can match are read. */
TEST(few_blocks_that_can_match_are_all_read)
{
	struct query_group exact, got;
	struct query *one;
	char until[32];

	open_large();
	snprintf(until, sizeof(until), "%lluns",
		 (unsigned long long)world.row[3 * STORE_BLOCK_ROWS].alloc_ns);
	ask_for("to", until);
	one = sampled(SAMPLE, NULL);
	exact = total_of(q);
	got = total_of(one);
	CHECK(query_read_share(one) >= 1);
	CHECK_EQ(got.n_allocs, exact.n_allocs);
	CHECK_EQ(got.n_bytes, exact.n_bytes);
	query_destroy(one);
	fixture_end();
	fixture_close();
}

TEST(equal_questions_get_equal_estimates)
{
	struct query *a, *b;
	struct query_group x, y;

	open_large();
	ask_for("size_min", "2");
	a = sampled(SAMPLE, NULL);
	b = sampled(SAMPLE, NULL);
	x = total_of(a);
	y = total_of(b);
	CHECK_EQ(x.n_bytes, y.n_bytes);
	CHECK_EQ(x.n_allocs, y.n_allocs);
	query_destroy(a);
	query_destroy(b);
	fixture_end();
	fixture_close();
}

/* Stacks choose the rows: the store's sums of stacks are exact, and only the peak is another moment. */
TEST(sums_of_chosen_stacks_need_no_pass)
{
	struct query_progress progress = {0};
	struct query_group exact, got;
	uint64_t at_peak = 0;
	struct query *one;

	open_large();
	ask_for("group_allocations_min", "2");
	one = sampled(SAMPLE, &progress);
	exact = total_of(q);
	got = total_of(one);
	for (size_t i = 0; i < q->n_stacks; i++) {
		if (set_has(q->stack_set, i))
			at_peak += q->stack[i].peak_bytes;
	}
	CHECK(query_read_share(one) < 1); /* an estimate ... */
	CHECK_EQ(query_read_share(one), 0.0); /* ... for which nothing was read */
	CHECK_EQ(atomic_load(&progress.n_passes), 0);
	CHECK_EQ(got.n_bytes, exact.n_bytes);
	CHECK_EQ(got.leaked_bytes, exact.leaked_bytes);
	CHECK_EQ(got.n_temporary, exact.n_temporary);
	CHECK_EQ(got.peak_bytes, at_peak);
	CHECK(got.peak_bytes <= exact.peak_bytes);
	query_destroy(one);
	fixture_end();
	fixture_close();
}

/* A stack that had little alive at the peak of the recording: that moment tells nothing of its own. */
TEST(a_peak_far_from_that_of_the_recording_is_looked_for)
{
	struct query_progress progress = {0};
	char number[16];
	struct query *one;
	size_t far = 0;

	open_large();
	ask_for("size_min", "0");
	while (far < q->n_stacks && q->stack[far].peak_bytes >= q->stack[far].max_bytes / 2)
		far++;
	CHECK(far < q->n_stacks);
	fixture_end();
	snprintf(number, sizeof(number), "%zu", far);
	ask_for("backtraces", number);
	one = sampled(SAMPLE, &progress);
	total_of(one);
	CHECK(query_read_share(one) > 0);
	CHECK(atomic_load(&progress.n_passes) > 0);
	query_destroy(one);
	fixture_end();
	fixture_close();
}
