/* harness/store_synth.h - makes stores with known rows, for the tests of store/ and of what reads stores.
 *
 *	synth_store_write(path, n_rows, NULL);	all columns are synth_store_value(column, row)
 *
 * Tables: SYNTH_STORE_STACKS stacks, SYNTH_STORE_THREADS threads, chains of two, two modules, strings
 * "", "one", "two" and "a longer string".
 */
#ifndef HARNESS_STORE_SYNTH_H
#define HARNESS_STORE_SYNTH_H

#include <string.h>

#include "base/hash.h"
#include "store/store_write.h"

#define SYNTH_STORE_STACKS 5u
#define SYNTH_STORE_THREADS 3u
#define SYNTH_STORE_CHAINS 4u
#define SYNTH_STORE_CODES 4u

static const struct store_identity synth_store_identity = {{1, 2, 3}, 4711, 42};

static inline uint64_t synth_store_value(enum store_column c, uint64_t row)
{
	uint64_t h = hash_pair64(row, (uint64_t)c);

	switch (c) {
	case STORE_ALLOC_NS:
		return row * 100 + h % 100;
	case STORE_LIFETIME_NS:
		return h % 7 == 0 ? 0 : 1 + (h >> (h & 31) >> 20);
	case STORE_SIZE_BYTES:
		return h % 1000 == 0 ? h >> 30 : h % 300;
	case STORE_ADDR:
		return 0x550000000000ull + (h % 1000000) * 16;
	case STORE_STACK:
		return h % SYNTH_STORE_STACKS;
	case STORE_THREAD:
		return h % SYNTH_STORE_THREADS;
	case STORE_EXTRA_BYTES:
		return h % 16;
	case STORE_FLAGS:
		return h % 128;
	case STORE_FREE_STACK:
		return h % 3 ? 0 : h % SYNTH_STORE_STACKS;
	case STORE_FREE_THREAD:
		return h % 3 ? 0 : h % SYNTH_STORE_THREADS;
	case STORE_CHAIN:
		return h % 100 ? 0 : 1 + h % SYNTH_STORE_CHAINS;
	case STORE_CHAIN_POSITION:
		return h % 2;
	default:
		return 0;
	}
}

static inline int synth_store_put_block(struct store_writer *w, enum store_column c, uint64_t block,
					uint64_t n_rows, struct err *err)
{
	uint64_t value[STORE_BLOCK_ROWS];
	uint64_t first = block * STORE_BLOCK_ROWS, left = n_rows - first;
	uint32_t n = left < STORE_BLOCK_ROWS ? (uint32_t)left : STORE_BLOCK_ROWS;

	for (uint32_t i = 0; i < n; i++)
		value[i] = synth_store_value(c, first + i);
	return store_writer_put_block(w, c, block, value, n, err);
}

/* root <- 1 <- 2 <- 3, root <- end mark 4 <- 5 */
static const struct store_node synth_store_nodes[] = {
	{0},
	{.parent = 0, .code = 1, .n_frames = 1, .kind = STORE_NODE_FRAME},
	{.parent = 1, .code = 2, .n_frames = 2, .kind = STORE_NODE_FRAME},
	{.parent = 2, .code = 3, .n_frames = 3, .kind = STORE_NODE_FRAME},
	{.parent = 0, .code = 0, .n_frames = 0, .kind = STORE_NODE_END, .end = 1},
	{.parent = 4, .code = 2, .n_frames = 1, .kind = STORE_NODE_FRAME, .end = 1},
};

static inline int synth_store_put_tables(struct store_writer *w, uint64_t n_rows, struct err *err)
{
	static const char bytes[] = "\0one\0two\0a longer string";
	static const uint64_t ends[] = {0, 4, 8, 24};
	static const struct store_module modules[] = {{.base = 0x1000, .path = 1, .build_id = 2},
						      {.base = 0x2000, .path = 3}};
	static const struct store_thread threads[SYNTH_STORE_THREADS] = {
		{.tid = 10, .name = 1}, {.tid = 11, .name = 2}, {.tid = 12}};
	static const struct store_code codes[SYNTH_STORE_CODES] = {
		{.module = STORE_NO_MODULE},
		{.addr = 0x1100, .module = 0},
		{.addr = 0x2200, .module = 1},
		{.addr = 0x9900, .module = STORE_NO_MODULE}};
	static const struct store_stack stacks[SYNTH_STORE_STACKS] = {
		{.node = 0}, {.node = 1}, {.node = 3}, {.node = 5}, {.node = 2}};
	static const struct store_chain chains[SYNTH_STORE_CHAINS] = {{.length = 2}};
	static const struct store_call calls[] = {{.stack = 2, .thread = 1}};
	static const struct store_note notes[] = {{.level = 1, .text = 3}};
	static const struct store_bucket buckets[16] = {{.max_bytes = 1}};
	const struct store_facts facts = {.n_rows = n_rows, .executable = 3, .recorder = 1};
	const struct {
		enum store_table table;
		const void *item;
		size_t n;
	} all[] = {
		{STORE_FACTS, &facts, 1},
		{STORE_STRING_BYTES, bytes, sizeof(bytes)},
		{STORE_STRING_ENDS, ends, ARRAY_LEN(ends)},
		{STORE_MODULES, modules, ARRAY_LEN(modules)},
		{STORE_THREADS, threads, ARRAY_LEN(threads)},
		{STORE_CODES, codes, ARRAY_LEN(codes)},
		{STORE_NODES, synth_store_nodes, ARRAY_LEN(synth_store_nodes)},
		{STORE_STACKS, stacks, ARRAY_LEN(stacks)},
		{STORE_CHAINS, chains, ARRAY_LEN(chains)},
		{STORE_NOTES, notes, ARRAY_LEN(notes)},
		{STORE_CALLS, calls, ARRAY_LEN(calls)},
		{STORE_BUCKETS, buckets, ARRAY_LEN(buckets)},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int r = store_writer_put_table(w, all[i].table, all[i].item, all[i].n, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static inline int synth_store_write(const char *path, uint64_t n_rows, struct err *err)
{
	struct store_writer *w = NULL;
	uint64_t n_blocks = (n_rows + STORE_BLOCK_ROWS - 1) / STORE_BLOCK_ROWS;
	int r = store_writer_create(path, &synth_store_identity, &w, err);

	for (uint64_t b = 0; r == 0 && b < n_blocks; b++) {
		for (unsigned c = 0; r == 0 && c < STORE_N_COLUMNS; c++)
			r = synth_store_put_block(w, c, b, n_rows, err);
	}
	if (r == 0)
		r = synth_store_put_tables(w, n_rows, err);
	if (r == 0)
		r = store_writer_commit(w, n_rows, err);
	store_writer_destroy(w);
	return r;
}

#endif
