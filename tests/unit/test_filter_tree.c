/* Random filters joined at random: rows, totals, peaks, series and growth are those of the naive
 * evaluation of each filter, joined row by row. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_tree.h"
#include "query_fixture.h"
#include "query_naive_time.h"

#if CONFIG_CHECKS > 1 /* builds with sanitizers */
#define N_TREES 15u
#else
#define N_TREES 60u
#endif

/* A random tree, and the rows that match it. */
static struct filter_tree *random_tree(unsigned depth, bool *matches)
{
	struct filter_tree *t = calloc(1, sizeof(*t));
	bool *right = calloc(world.n_rows + 1, 1);
	struct naive n = {0};
	struct err err = {0};

	CHECK_NOT_NULL(t);
	CHECK_NOT_NULL(right);
	if (depth == 0 || below(3) == 0) {
		naive_random(&world, &n);
		CHECK_EQ(naive_set_filter(&n, &t->filter, &err), 0);
		naive_rows(&world, &n, matches);
	} else {
		t->op = FILTER_TREE_AND + (enum filter_tree_op)below(3);
		t->left = random_tree(depth - 1, matches);
		t->right = random_tree(depth - 1, right);
		for (size_t i = 0; i < world.n_rows; i++) {
			if (t->op == FILTER_TREE_OR)
				matches[i] |= right[i];
			else
				matches[i] &= right[i] == (t->op == FILTER_TREE_AND);
		}
	}
	free(right);
	return t;
}

static size_t next_row;

static bool check_row(void *user, const struct query_row *row)
{
	const bool *matches = user;

	while (next_row < world.n_rows && !matches[next_row])
		next_row++;
	CHECK_EQ(row->row, next_row);
	next_row++;
	return true;
}

/* All rows, in pages that begin behind the last row of the page before. */
static void check_rows(struct query *of, const bool *matches, size_t n_matching)
{
	const uint64_t n_page = 1 + below(n_matching + 1);
	struct query_page page = {.count = n_page};
	struct err err = {0};
	uint64_t n_all = 0;

	next_row = 0;
	for (size_t n = 0; n < n_matching; n += n_page) {
		CHECK_EQ(query_rows(of, &page, check_row, (void *)matches, &n_all, &err), 0);
		CHECK_EQ(n_all, n_matching - n);
		page.first_row = next_row;
	}
	CHECK_EQ(query_rows(of, &page, check_row, (void *)matches, &n_all, &err), 0);
}

static void check_sums(struct query *of, const bool *matches, size_t n_matching)
{
	uint64_t n_bytes = 0, n_leaked = 0, at, peak_bytes, count;
	struct query_group total;
	struct query_peak peak;
	struct err err = {0};

	for (size_t i = 0; i < world.n_rows; i++) {
		n_bytes += matches[i] ? world.row[i].size : 0;
		n_leaked += matches[i] && world.row[i].free_ns == UINT64_MAX;
	}
	CHECK_EQ(query_total(of, &total, &err), 0);
	CHECK_EQ(total.n_allocs, n_matching);
	CHECK_EQ(total.n_bytes, n_bytes);
	CHECK_EQ(total.n_leaked, n_leaked);
	world_peak(&world, matches, &at, &peak_bytes, &count);
	CHECK_EQ(query_peak(of, &peak, &err), 0);
	CHECK_EQ(peak.n_bytes, peak_bytes);
	if (peak_bytes) {
		CHECK_EQ(peak.at_ns, at);
		CHECK_EQ(peak.n_alive, count);
	}
}

static void check_tree(void)
{
	bool *matches = calloc(world.n_rows + 1, 1);
	const struct query_context c = {.store = store, .frames = frames, .n_threads = 3};
	struct filter_tree *t;
	struct query *of = NULL;
	struct err err = {0};
	size_t n = 0;
	int r;

	CHECK_NOT_NULL(matches);
	t = random_tree(4, matches);
	r = query_create_tree(&c, t, &of, &err);
	if (r < 0) /* a backtrace or a map that the store does not have */
		CHECK_EQ(r, -ERR_USAGE);
	for (size_t i = 0; i < world.n_rows; i++)
		n += matches[i];
	if (r == 0) {
		check_rows(of, matches, n);
		check_sums(of, matches, n);
		naive_check_series(&world, store, matches, of);
		naive_check_growth(&world, store, matches, of);
	}
	query_destroy(of);
	filter_tree_destroy(t);
	free(matches);
}

TEST(trees_of_filters_select_what_a_naive_evaluation_selects)
{
	world_make(&world, 20261119, 9000);
	fixture_open();
	for (unsigned i = 0; i < N_TREES; i++)
		check_tree();
	fixture_close();
}

TEST(a_tree_that_is_too_deep_is_refused)
{
	struct filter_tree *t = calloc(1, sizeof(*t));
	struct query_context c = {0};
	struct query *of = NULL;
	struct err err = {0};

	world_make(&world, 7, 100);
	fixture_open();
	c.store = store;
	c.frames = frames;
	for (unsigned i = 0; i < FILTER_TREE_MAX_DEPTH; i++) {
		struct filter_tree *up = calloc(1, sizeof(*up));

		CHECK_NOT_NULL(up);
		up->op = FILTER_TREE_OR;
		up->left = t;
		up->right = calloc(1, sizeof(*up));
		CHECK_NOT_NULL(up->right);
		t = up;
	}
	CHECK_EQ(query_create_tree(&c, t, &of, &err), -ERR_LIMIT);
	filter_tree_destroy(t);
	fixture_close();
}
