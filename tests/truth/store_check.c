/* store_check RECORDING STORE: builds the store and holds it against a replay of its own.
 *
 * Every row must say what the replay reported of its allocation; what is summed up while reading (per
 * stack, at the peak, over time, chains) must be what the rows sum up to. Exit status 0 when all
 * agrees; else it says what does not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/build.h"
#include "ingest/replay.h"
#include "store/store.h"
#include "util/vec.h"

struct expected {
	uint64_t addr, size_bytes, alloc_ns, end_ns; /* end_ns 0: lives */
	uint64_t before; /* row + 1 that a realloc replaced by this one */
	uint32_t extra_bytes;
	bool was_moved;
};

static struct expected *expected_row;
static size_t n_expected, cap_expected;
static unsigned n_wrong;

static void wrong(const char *what, uint64_t at, uint64_t have, uint64_t want)
{
	if (n_wrong++ < 20)
		printf("%s %" PRIu64 ": %" PRIu64 ", expected %" PRIu64 "\n", what, at, have, want);
}

static void expect(const char *what, uint64_t at, uint64_t have, uint64_t want)
{
	if (have != want)
		wrong(what, at, have, want);
}

static uint64_t on_arrival(void *user, const struct live_block *a)
{
	struct err err = {0};

	(void)user;
	if (vec_reserve(&expected_row, &cap_expected, n_expected + 1, sizeof(*expected_row), &err) <
	    0)
		exit(2);
	expected_row[n_expected] = (struct expected){.addr = a->addr,
						     .size_bytes = a->size_bytes,
						     .alloc_ns = a->at_ns,
						     .extra_bytes = a->extra_bytes};
	return n_expected++;
}

static void on_alloc(void *user, struct live_block *a, const struct live_block *old)
{
	(void)user;
	if (old)
		expected_row[a->tag].before = old->tag + 1;
}

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	struct expected *t = &expected_row[a->tag];

	(void)user;
	t->was_moved = how->how == REPLAY_REALLOCATED;
	t->end_ns = t->was_moved ? expected_row[n_expected - 1].alloc_ns : how->at_ns;
	if (t->end_ns <= t->alloc_ns)
		t->end_ns = t->alloc_ns + 1;
}

/* A column as one array. */
static uint64_t *read_column(const struct store *s, enum store_column c)
{
	uint64_t *value = calloc(store_n_blocks(s) + 1, STORE_BLOCK_ROWS * sizeof(*value));

	if (!value)
		exit(2);
	for (uint64_t b = 0; b < store_n_blocks(s); b++)
		store_read_block(s, c, b, value + b * STORE_BLOCK_ROWS);
	return value;
}

static void check_rows(const struct store *s)
{
	uint64_t *alloc_ns = read_column(s, STORE_ALLOC_NS),
		 *life = read_column(s, STORE_LIFETIME_NS);
	uint64_t *size = read_column(s, STORE_SIZE_BYTES), *addr = read_column(s, STORE_ADDR);
	uint64_t *extra = read_column(s, STORE_EXTRA_BYTES), *flags = read_column(s, STORE_FLAGS);

	for (size_t i = 0; i < n_expected; i++) {
		const struct expected *t = &expected_row[i];

		expect("allocation of row", i, alloc_ns[i], t->alloc_ns);
		expect("lifetime of row", i, life[i], t->end_ns ? 1 + t->end_ns - t->alloc_ns : 0);
		expect("size of row", i, size[i], t->size_bytes);
		expect("address of row", i, addr[i], t->addr);
		expect("extra bytes of row", i, extra[i], t->extra_bytes);
		expect("move of row", i, (flags[i] & STORE_FLAG_MOVED) != 0, t->was_moved);
	}
	free(alloc_ns);
	free(life);
	free(size);
	free(addr);
	free(extra);
	free(flags);
}

static void check_chains(const struct store *s)
{
	uint64_t *chain = read_column(s, STORE_CHAIN);
	uint64_t *position = read_column(s, STORE_CHAIN_POSITION);

	for (size_t i = 0; i < n_expected; i++) {
		size_t before = expected_row[i].before - 1;
		const struct store_chain *c;

		if (!expected_row[i].before)
			continue;
		expect("chain of row", i, chain[i], chain[before]);
		expect("position of row", i, position[i], position[before] + 1);
		c = store_chain(s, chain[i] - 1);
		if (c->last_row == i) {
			uint64_t end_ns = expected_row[i].end_ns;

			expect("length of chain", chain[i] - 1, c->length, position[i] + 1);
			expect("last size of chain", chain[i] - 1, c->last_size_bytes,
			       expected_row[i].size_bytes);
			expect("lifetime of chain", chain[i] - 1, c->lifetime_ns,
			       end_ns ? 1 + end_ns - c->alloc_ns : 0);
		}
		if (position[i] == 1) {
			expect("first row of chain", chain[i] - 1, c->first_row, before);
			expect("allocation of chain", chain[i] - 1, c->alloc_ns,
			       expected_row[before].alloc_ns);
		}
	}
	free(chain);
	free(position);
}

static void check_sums(const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	uint64_t *stack = read_column(s, STORE_STACK), *flags = read_column(s, STORE_FLAGS);
	struct store_stack *sum = calloc(store_n_stacks(s), sizeof(*sum));
	uint64_t peak = 0, n_temporary = 0, n_bytes = 0, n_allocs = 0;
	const struct store_bucket *bucket;
	size_t n_buckets;

	if (!sum)
		exit(2);
	for (size_t i = 0; i < n_expected; i++) {
		const struct expected *t = &expected_row[i];
		bool is_alive = t->alloc_ns <= f->peak_ns && (!t->end_ns || t->end_ns > f->peak_ns);

		sum[stack[i]].n_allocs++;
		sum[stack[i]].n_bytes += t->size_bytes;
		sum[stack[i]].leaked_bytes += t->end_ns ? 0 : t->size_bytes;
		sum[stack[i]].peak_bytes += is_alive ? t->size_bytes : 0;
		n_temporary += (flags[i] & STORE_FLAG_TEMPORARY) != 0;
		n_bytes += t->size_bytes;
	}
	for (uint32_t i = 0; i < store_n_stacks(s); i++) {
		const struct store_stack *have = store_stack(s, i);

		expect("allocations of stack", i, have->n_allocs, sum[i].n_allocs);
		expect("bytes of stack", i, have->n_bytes, sum[i].n_bytes);
		expect("leaked bytes of stack", i, have->leaked_bytes, sum[i].leaked_bytes);
		expect("peak bytes of stack", i, have->peak_bytes, sum[i].peak_bytes);
		peak += have->peak_bytes;
	}
	bucket = store_table(s, STORE_BUCKETS, &n_buckets);
	for (size_t i = 0; i < n_buckets; i++)
		n_allocs += bucket[i].n_allocs;
	expect("rows", 0, f->n_rows, n_expected);
	expect("bytes", 0, f->n_bytes, n_bytes);
	expect("peak, sum of stacks", 0, peak, f->peak_bytes);
	expect("temporary", 0, f->n_temporary, n_temporary);
	expect("allocations over time", 0, n_allocs, n_expected);
	free(stack);
	free(flags);
	free(sum);
}

/* A store without rows must have the same tables. */
static void check_tables(const struct store *with, const struct store *without)
{
	for (unsigned t = 0; t < STORE_N_TABLES; t++) {
		size_t n_with, n_without;
		const void *a = store_table(with, t, &n_with);
		const void *b = store_table(without, t, &n_without);

		if (t == STORE_CHAINS)
			continue; /* these are about rows */
		expect("items of table", t, n_without, n_with);
		if (t == STORE_STACKS && n_with == n_without)
			expect("table of stacks", 0,
			       memcmp(a, b, n_with * sizeof(struct store_stack)) != 0, 0);
	}
	expect("rows of a store without", 0, store_n_rows(without), 0);
}

static struct store *build(const char *recording, const char *path, bool without_rows)
{
	struct build_options o = {.without_rows = without_rows};
	struct recording *r = NULL;
	struct store *s = NULL;
	struct err err = {0};

	if (recording_open(recording, &r, &err) < 0 || build_store(r, path, &o, &err) < 0 ||
	    store_open(path, &s, &err) < 0) {
		printf("%s\n", err.text);
		exit(1);
	}
	recording_close(r);
	return s;
}

int main(int argc, char **argv)
{
	const struct replay_callbacks callbacks = {
		.on_arrival = on_arrival, .on_alloc = on_alloc, .on_free = on_free};
	struct replay_totals totals;
	struct recording *r = NULL;
	struct store *with, *without;
	struct err err = {0};

	if (argc != 3)
		return 2;
	if (recording_open(argv[1], &r, &err) < 0 ||
	    replay_run(r, &callbacks, &totals, NULL, &err) < 0) {
		printf("%s\n", err.text);
		return 1;
	}
	without = build(argv[1], argv[2], true);
	with = build(argv[1], argv[2], false); /* replaces it; the other stays mapped */
	check_rows(with);
	check_chains(with);
	check_sums(with);
	check_tables(with, without);
	printf("%zu rows, %zu stacks, %u wrong\n", n_expected, store_n_stacks(with), n_wrong);
	store_close(with);
	store_close(without);
	recording_close(r);
	free(expected_row);
	return n_wrong != 0;
}
