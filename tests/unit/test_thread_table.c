/* Who frees whose blocks, as a table. */
#include "harness/test.h"

#include "query/thread_table.h"

#define N 4u

/* Thread 1 frees its own and has blocks freed by 2; 3 has one freed by 1; thread 0 does nothing. */
static const struct thread_pair pairs[N * N] = {
	[1 * N + 1] = {5, 50},
	[1 * N + 2] = {3, 3000},
	[2 * N + 2] = {8, 80},
	[3 * N + 1] = {1, 10},
};

TEST(table_has_every_pair_when_all_threads_fit)
{
	static const uint32_t thread[] = {1, 2, 3};
	static const uint64_t cell[] = {5, 3, 0, 0, 8, 0, 1, 0, 0};
	struct thread_table t;
	struct err err = {0};

	CHECK_OK(thread_table_make(pairs, N, THREAD_COUNT, 12, &t, &err));
	CHECK_EQ(t.n, 3u);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(t.thread[i], thread[i]);
	for (size_t i = 0; i < 9; i++)
		CHECK_EQ(t.cell[i], cell[i]);
	CHECK_EQ(t.max_own, 8u);
	CHECK_EQ(t.max_others, 3u);
	thread_table_fini(&t);
}

TEST(threads_that_take_part_in_least_share_the_last_line)
{
	static const uint32_t thread[] = {1, 2, THREAD_TABLE_OTHERS};
	static const uint64_t cell[] = {50, 3000, 0, 0, 80, 0, 10, 0, 0};
	struct thread_table t;
	struct err err = {0};

	CHECK_OK(thread_table_make(pairs, N, THREAD_BYTES, 2, &t, &err));
	CHECK_EQ(t.n, 3u);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(t.thread[i], thread[i]);
	for (size_t i = 0; i < 9; i++)
		CHECK_EQ(t.cell[i], cell[i]);
	CHECK_EQ(t.max_own, 80u);
	CHECK_EQ(t.max_others, 3000u);
	thread_table_fini(&t);
}

TEST(what_others_free_of_others_is_not_their_own)
{
	struct thread_table t;
	struct err err = {0};

	CHECK_OK(thread_table_make(pairs, N, THREAD_COUNT, 1, &t, &err));
	CHECK_EQ(t.n, 2u); /* thread 2, with 3 + 8 + 8, and all others */
	CHECK_EQ(t.thread[0], 2u);
	CHECK_EQ(t.cell[1 * 2 + 1], 6u);
	CHECK_EQ(t.max_own, 8u);
	CHECK_EQ(t.max_others, 6u);
	thread_table_fini(&t);
}

TEST(nothing_freed_gives_no_line)
{
	static const struct thread_pair none[N * N];
	struct thread_table t;
	struct err err = {0};

	CHECK_OK(thread_table_make(none, N, THREAD_COUNT, 12, &t, &err));
	CHECK_EQ(t.n, 0u);
	CHECK_EQ(t.max_own + t.max_others, 0u);
	thread_table_fini(&t);
}

TEST(freed_by_others_leaves_out_the_thread_itself)
{
	struct thread_freed f = thread_freed_of(pairs, N, 1);

	CHECK_EQ(f.all.count, 8u);
	CHECK_EQ(f.all.n_bytes, 3050u);
	CHECK_EQ(f.by_others.count, 3u);
	CHECK_EQ(f.by_others.n_bytes, 3000u);
	CHECK_EQ(thread_freed_of(pairs, N, 2).by_others.count, 0u);
	CHECK(thread_takes_part(pairs, N, 2)); /* freed only */
	CHECK(!thread_takes_part(pairs, N, 0));
}
