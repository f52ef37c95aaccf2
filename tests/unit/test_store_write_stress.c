/* Several threads write one store, and several read it. */
#include "harness/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/store_synth.h"

#define N_THREADS 4
#define N_ROWS (200 * 4096 + 17)
#define N_BLOCKS 201

struct job {
	unsigned number;
	struct store_writer *w;
	const struct store *s;
	uint64_t n_wrong;
	pthread_t thread;
};

static void *put_blocks(void *arg)
{
	struct job *j = arg;

	for (uint64_t b = j->number; b < N_BLOCKS; b += N_THREADS) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++)
			j->n_wrong += synth_store_put_block(j->w, c, b, N_ROWS, NULL) != 0;
	}
	return NULL;
}

static void *read_blocks(void *arg)
{
	struct job *j = arg;
	uint64_t out[STORE_BLOCK_ROWS];

	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		for (uint64_t b = j->number; b < N_BLOCKS; b++) {
			store_read_block(j->s, c, b, out);
			for (uint32_t i = 0; i < store_block_rows(j->s, b); i++)
				j->n_wrong += out[i] != synth_store_value(c, b * 4096 + i);
		}
	}
	return NULL;
}

static void run(void *(*fn)(void *), struct store_writer *w, const struct store *s)
{
	struct job job[N_THREADS] = {0};

	for (unsigned i = 0; i < N_THREADS; i++) {
		job[i] = (struct job){.number = i, .w = w, .s = s};
		CHECK_EQ(pthread_create(&job[i].thread, NULL, fn, &job[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		CHECK_EQ(pthread_join(job[i].thread, NULL), 0);
		CHECK_EQ(job[i].n_wrong, 0);
	}
}

TEST(threads_write_and_read_one_store)
{
	const char *tmp = getenv("TMPDIR");
	struct store_writer *w = NULL;
	struct store *s = NULL;
	struct err err = {0};
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/test_store_write.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	CHECK_OK(store_writer_create(path, &synth_store_identity, &w, &err));
	run(put_blocks, w, NULL);
	CHECK_OK(synth_store_put_tables(w, N_ROWS, &err));
	CHECK_OK(store_writer_commit(w, N_ROWS, &err));
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &s, &err));
	run(read_blocks, NULL, s);
	store_close(s);
	unlink(path);
}
