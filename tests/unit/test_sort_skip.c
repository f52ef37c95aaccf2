/* Getting near a position of a sorted list: compared with the whole list, in every order. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "query/query_sort.h"
#include "query/sort_skip.h"
#include "query_fixture.h"

#define N_ROWS 6000u

static struct sorted_rows all_rows(const struct sort_order *order)
{
	struct sorted_rows rows;
	struct err err = {0};

	CHECK_OK(sort_next(q, order, NULL, N_ROWS, &rows, &err));
	CHECK_EQ(rows.n, rows.n_matching);
	return rows;
}

/* What follows the start that sort_skip() gave is the list from there on. */
static void check_position(const struct sort_order *order, const struct sorted_rows *all,
			   uint64_t position, uint64_t near)
{
	uint64_t last = position < all->n ? position : all->n - 1;
	struct sorted_rows rows;
	struct sort_skip start;
	struct err err = {0};

	CHECK_OK(sort_skip(q, order, position, near, &start, &err));
	CHECK_EQ(start.n_matching, all->n);
	CHECK(start.n_before <= last);
	CHECK(last - start.n_before < near);
	CHECK_OK(sort_next(q, order, start.has_after ? &start.after : NULL, near + 5, &rows, &err));
	CHECK_EQ(start.n_before + rows.n_matching, all->n);
	for (size_t i = 0; i < rows.n; i++) {
		CHECK_EQ(rows.item[i].row, all->item[start.n_before + i].row);
		CHECK_EQ(rows.item[i].key, all->item[start.n_before + i].key);
	}
	free(rows.item);
}

/* The rows whose stacks have such a function. */
static struct naive by_function(const char *regex)
{
	struct naive n = {.n = 1};

	n.condition[0].name = "function_regex";
	snprintf(n.condition[0].text, sizeof(n.condition[0].text), "%s", regex);
	return n;
}

static void check_orders(const struct naive *conditions)
{
	struct err err = {0};

	fixture_ask(conditions);
	CHECK_OK(plan_need_rows(q, &err));
	for (unsigned i = 0; i < 2 * QUERY_N_SORTS; i++) {
		const struct sort_order order = {
			.plan = &q->plan, .sort = (enum query_sort)(i / 2), .is_descending = i % 2};
		struct sorted_rows all = all_rows(&order);

		for (unsigned k = 0; all.n && k < 6; k++)
			check_position(&order, &all, k == 5 ? all.n + 7 : below(all.n),
				       k % 3 ? 1 + below(200) : 1);
		free(all.item);
	}
	fixture_end();
}

TEST(start_is_near_in_every_order)
{
	struct naive few = by_function("Cache");

	world_make(&world, 71, N_ROWS);
	fixture_open();
	check_orders(&(struct naive){0});
	check_orders(&few);
	fixture_close();
}

/* All rows have one size: only their numbers tell them apart, 0 among them. */
TEST(equal_keys_are_ordered_by_number)
{
	static struct world_row row[1000];

	for (size_t i = 0; i < 1000; i++)
		row[i] = (struct world_row){.size = 64, .addr = 4096 + 64 * i};
	fixture_rows(row, 1000, false);
	for (unsigned i = 0; i < 2; i++) {
		const struct sort_order order = {
			.plan = &q->plan, .sort = QUERY_BY_SIZE, .is_descending = i};
		struct err err = {0};
		struct sorted_rows all;

		CHECK_OK(plan_need_rows(q, &err));
		all = all_rows(&order);
		CHECK_EQ(all.n, 1000u);
		for (uint64_t position = 0; position < 1000; position += 111)
			check_position(&order, &all, position, 1);
		free(all.item);
	}
	fixture_end();
	fixture_close();
}

TEST(nothing_matches)
{
	struct sort_order order = {.sort = QUERY_BY_SIZE};
	struct naive none = by_function("no such function");
	struct sort_skip start;
	struct err err = {0};

	world_make(&world, 72, 200);
	fixture_open();
	fixture_ask(&none);
	CHECK_OK(plan_need_rows(q, &err));
	order.plan = &q->plan;
	CHECK_OK(sort_skip(q, &order, 100, 1, &start, &err));
	CHECK(!start.has_after);
	CHECK_EQ(start.n_matching, 0u);
	fixture_end();
	fixture_close();
}
