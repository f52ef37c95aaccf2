/* A store of more than 2 GB is written and scanned in little memory. Needs room for it in TMPDIR. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/store_synth.h"

#define N_BLOCKS 50000u
#define N_ROWS ((uint64_t)N_BLOCKS * STORE_BLOCK_ROWS)
#define MIB (1024u * 1024)

static uint64_t peak_rss_bytes(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_maxrss * 1024;
}

/* The rows of block 0 again and again, allocated later each time. */
static void write_store(const char *path)
{
	static uint64_t value[STORE_N_COLUMNS][STORE_BLOCK_ROWS];
	struct store_writer *w = NULL;
	struct err err = {0};

	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		for (uint32_t i = 0; i < STORE_BLOCK_ROWS; i++)
			value[c][i] = synth_store_value(c, i);
	}
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	for (uint64_t b = 0; b < N_BLOCKS; b++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++)
			CHECK_OK(store_writer_put_block(w, c, b, value[c], STORE_BLOCK_ROWS, &err));
		for (uint32_t i = 0; i < STORE_BLOCK_ROWS; i++)
			value[STORE_ALLOC_NS][i] += 1000000;
	}
	CHECK_OK(synth_store_put_tables(w, N_ROWS, &err));
	CHECK_OK(store_writer_commit(w, N_ROWS, &err));
	store_writer_destroy(w);
}

TEST(a_large_store_needs_little_memory)
{
	const char *tmp = getenv("TMPDIR");
	uint64_t out[STORE_BLOCK_ROWS], n_wrong = 0;
	struct err err = {0};
	struct store *s = NULL;
	struct stat st;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/test_store_scan.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	write_store(path);
	CHECK(peak_rss_bytes() < 100 * MIB);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size > 2ll * 1024 * MIB);
	CHECK_OK(store_open(path, &s, &err));
	unlink(path);
	for (uint64_t b = 0; b < store_n_blocks(s); b++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			store_read_block(s, c, b, out);
			n_wrong += c != STORE_ALLOC_NS &&
				   out[b % 4096] != synth_store_value(c, b % 4096);
		}
	}
	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		for (uint64_t b = 0; b < store_n_blocks(s); b++)
			store_read_block(s, c, b, out);
	}
	CHECK_EQ(n_wrong, 0);
	CHECK(peak_rss_bytes() < 200 * MIB);
	store_close(s);
}
