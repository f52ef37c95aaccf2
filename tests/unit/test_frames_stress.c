/* Several threads ask for names at once. */
#include "harness/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/store_synth.h"
#include "store/frames.h"

#define N_THREADS 4
#define N_ROUNDS 200

static atomic_uint n_inside, n_overlaps, n_asked;

static int resolve_known(void *user, struct frames *f, const uint32_t *code, size_t n,
			 struct err *err)
{
	int r = 0;

	(void)user;
	if (atomic_fetch_add(&n_inside, 1) > 0)
		atomic_fetch_add(&n_overlaps, 1);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct frame_names names = {.function = "f", .line = code[i]};

		atomic_fetch_add(&n_asked, 1);
		r = frames_put(f, code[i], &names, 1, err);
	}
	atomic_fetch_sub(&n_inside, 1);
	return r;
}

static bool check_frame(void *user, const struct frame *frame)
{
	if (!frame->function || strcmp(frame->function, "f") != 0 || frame->line != frame->code)
		++*(unsigned *)user;
	return true;
}

static void *ask(void *arg)
{
	struct frames *f = arg;
	unsigned n_wrong = 0;

	for (uint32_t i = 0; i < SYNTH_STORE_STACKS; i++)
		n_wrong += frames_each(f, i, check_frame, &n_wrong, NULL) != 0;
	n_wrong += frames_need_all(f, NULL) != 0;
	for (uint32_t code = 1; code < SYNTH_STORE_CODES; code++) {
		size_t n = 0;
		const struct frame *frame = frames_of_code(f, code, &n);

		n_wrong += n != 1 || frame->line != code;
	}
	return (void *)(uintptr_t)n_wrong;
}

TEST(threads_ask_for_the_same_names)
{
	const char *tmp = getenv("TMPDIR");
	struct store *s = NULL;
	struct err err = {0};
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/test_frames_stress.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	CHECK_OK(synth_store_write(path, 10, &err));
	CHECK_OK(store_open(path, &s, &err));
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		pthread_t thread[N_THREADS];
		struct frames *f = NULL;

		CHECK_OK(frames_open(s, NULL, &f, &err));
		frames_set_resolver(f, resolve_known, NULL);
		for (unsigned i = 0; i < N_THREADS; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, ask, f), 0);
		for (unsigned i = 0; i < N_THREADS; i++) {
			void *n_wrong = NULL;

			CHECK_EQ(pthread_join(thread[i], &n_wrong), 0);
			CHECK_NULL(n_wrong);
		}
		frames_close(f);
	}
	CHECK_EQ(n_overlaps, 0);
	CHECK_EQ(n_asked, N_ROUNDS * (SYNTH_STORE_CODES - 1));
	store_close(s);
	unlink(path);
}
