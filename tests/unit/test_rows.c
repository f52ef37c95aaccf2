/* Rows of a store while they are made: ends that come soon, late, twice in part, and never. */
#include "harness/random.h"
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ingest/rows.h"

#define N_ROWS (STORE_BLOCK_ROWS * (ROWS_WINDOW_BLOCKS + 600u) + 17u)

static uint64_t random_state = RANDOM_SEED;

static struct row_end *expected;

/* Ends a row that still lives. */
static void end_one(struct rows *r, uint64_t row, struct err *err)
{
	struct row_end end = {
		.lifetime_ns = 1 + random_next(&random_state) % 100000,
		.free_stack = (uint32_t)(random_next(&random_state) % 2),
		.flags = STORE_FLAG_TEMPORARY,
	};

	if (expected[row].lifetime_ns)
		return;
	if (row % 7 == 0) { /* a chain comes apart from the end */
		struct row_end chain = {.chain = row / 7 + 1, .chain_position = row % 3};

		expected[row].chain = chain.chain;
		expected[row].chain_position = chain.chain_position;
		CHECK_OK(rows_set_end(r, row, &chain, err));
	}
	CHECK_OK(rows_set_end(r, row, &end, err));
	expected[row].lifetime_ns = end.lifetime_ns;
	expected[row].free_stack = end.free_stack;
	expected[row].flags |= end.flags;
}

static void make_rows(struct rows *r, struct err *err)
{
	for (uint64_t i = 0; i < N_ROWS; i++) {
		struct row_alloc alloc = {
			.alloc_ns = i * 10, .size_bytes = i % 1000, .addr = 4096 + i * 16};

		expected[i].flags = (uint32_t)(i % 4);
		CHECK_EQ(rows_count(r), i);
		*rows_add(r, expected[i].flags, err) = alloc;
		if (random_next(&random_state) %
		    3) /* most end at once, some at any time, some never */
			end_one(r, i, err);
		if (random_next(&random_state) % 5 == 0)
			end_one(r, random_next(&random_state) % (i + 1), err);
	}
}

/* What of a column is not as expected. */
static uint64_t count_wrong(const struct store *s, enum store_column c, uint64_t (*want)(uint64_t))
{
	static uint64_t value[STORE_BLOCK_ROWS];
	uint64_t n_wrong = 0, row = 0;

	for (uint64_t b = 0; b < store_n_blocks(s); b++) {
		store_read_block(s, c, b, value);
		for (uint32_t i = 0; i < store_block_rows(s, b); i++, row++)
			n_wrong += value[i] != want(row);
	}
	return n_wrong + (row != N_ROWS);
}

static uint64_t want_alloc_ns(uint64_t row)
{
	return row * 10;
}

static uint64_t want_size(uint64_t row)
{
	return row % 1000;
}

static uint64_t want_addr(uint64_t row)
{
	return 4096 + row * 16;
}

static uint64_t want_lifetime(uint64_t row)
{
	return expected[row].lifetime_ns;
}

static uint64_t want_flags(uint64_t row)
{
	return expected[row].flags;
}

static uint64_t want_free_stack(uint64_t row)
{
	return expected[row].free_stack;
}

static uint64_t want_chain(uint64_t row)
{
	return expected[row].chain;
}

static uint64_t want_position(uint64_t row)
{
	return expected[row].chain_position;
}

/* The least that a store needs to be one: what the columns refer to. */
static void put_tables(struct store_writer *w, struct err *err)
{
	struct store_facts facts = {.n_rows = N_ROWS, .bucket_ns = 1};
	struct store_stack stack[2] = {{0}};
	struct store_node node = {0};
	struct store_code code = {.module = STORE_NO_MODULE};
	struct store_thread thread = {0};
	struct store_bucket bucket = {0};
	struct store_chain *chain = calloc(N_ROWS / 7 + 1, sizeof(*chain));
	uint64_t end = 0;

	CHECK_NOT_NULL(chain);
	CHECK_OK(store_writer_put_table(w, STORE_FACTS, &facts, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_STRING_BYTES, "", 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_STRING_ENDS, &end, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_STACKS, stack, 2, err));
	CHECK_OK(store_writer_put_table(w, STORE_NODES, &node, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_CODES, &code, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_THREADS, &thread, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_BUCKETS, &bucket, 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_CHAINS, chain, N_ROWS / 7 + 1, err));
	CHECK_OK(store_writer_put_table(w, STORE_MODULES, NULL, 0, err));
	CHECK_OK(store_writer_put_table(w, STORE_SAMPLES, NULL, 0, err));
	CHECK_OK(store_writer_put_table(w, STORE_NOTES, NULL, 0, err));
	CHECK_OK(store_writer_put_table(w, STORE_CALLS, NULL, 0, err));
	CHECK_OK(store_writer_put_table(w, STORE_REGIONS, NULL, 0, err));
	free(chain);
}

TEST(every_end_reaches_its_row_however_late)
{
	struct store_identity identity = {.size_bytes = 1};
	struct store_writer *w = NULL;
	struct rows *r = NULL;
	struct store *s = NULL;
	struct err err = {0};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/test_rows.%d.store", (int)getpid());
	expected = calloc(N_ROWS, sizeof(*expected));
	CHECK_NOT_NULL(expected);
	CHECK_OK(store_writer_create(path, &identity, &w, &err));
	CHECK_OK(rows_create(w, "/tmp", &r, &err));
	make_rows(r, &err);
	CHECK_OK(rows_finish(r, &err));
	put_tables(w, &err);
	CHECK_OK(store_writer_commit(w, N_ROWS, &err));
	rows_destroy(r);
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &s, &err));
	CHECK_EQ(count_wrong(s, STORE_ALLOC_NS, want_alloc_ns), 0);
	CHECK_EQ(count_wrong(s, STORE_SIZE_BYTES, want_size), 0);
	CHECK_EQ(count_wrong(s, STORE_ADDR, want_addr), 0);
	CHECK_EQ(count_wrong(s, STORE_LIFETIME_NS, want_lifetime), 0);
	CHECK_EQ(count_wrong(s, STORE_FLAGS, want_flags), 0);
	CHECK_EQ(count_wrong(s, STORE_FREE_STACK, want_free_stack), 0);
	CHECK_EQ(count_wrong(s, STORE_CHAIN, want_chain), 0);
	CHECK_EQ(count_wrong(s, STORE_CHAIN_POSITION, want_position), 0);
	store_close(s);
	unlink(path);
	free(expected);
}

TEST(what_is_given_up_leaves_nothing)
{
	struct store_identity identity = {.size_bytes = 1};
	struct row_alloc alloc = {.alloc_ns = 1};
	struct store_writer *w = NULL;
	struct rows *r = NULL;
	struct err err = {0};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/test_rows.%d.given_up.store", (int)getpid());
	CHECK_OK(store_writer_create(path, &identity, &w, &err));
	CHECK_OK(rows_create(w, "/tmp", &r, &err));
	for (unsigned i = 0; i < STORE_BLOCK_ROWS * (ROWS_WINDOW_BLOCKS + 4); i++)
		*rows_add(r, 0, &err) = alloc;
	rows_destroy(r);
	store_writer_destroy(w);
	CHECK(access(path, F_OK) != 0);
}
