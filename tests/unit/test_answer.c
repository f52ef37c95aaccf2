/* Answers on their way: two threads, a bounded queue, clients that go. */
#include "harness/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/answer.h"

struct job {
	struct answer *answer;
	size_t n_bytes;
	unsigned status;
	bool fails_late;
	bool write_failed;
	size_t n_written;
	pthread_t thread;
};

static void *make(void *user)
{
	struct job *job = user;
	struct answer *a = job->answer;
	FILE *out = answer_file(a);

	if (!answer_begin(a)) {
		answer_finish(a, 503);
		return NULL;
	}
	for (; job->n_written < job->n_bytes; job->n_written++) {
		if (putc("abcdefghij"[job->n_written % 10], out) == EOF)
			break;
	}
	job->write_failed = ferror(out);
	if (job->fails_late)
		job->status = 500;
	if (job->status != 200 && answer_restart(a))
		fputs("sorry", out);
	answer_finish(a, job->status);
	return NULL;
}

static struct compute_slots *slots(unsigned n)
{
	struct compute_slots *t = NULL;
	struct err err = {0};

	CHECK_OK(compute_slots_create(n, 0, &t, &err));
	return t;
}

static void begin(struct job *job, struct compute_slots *t, enum encoding e)
{
	struct err err = {0};

	if (job->status == 0)
		job->status = 200;
	CHECK_OK(answer_create(t, e, &job->answer, &err));
	CHECK_EQ(pthread_create(&job->thread, NULL, make, job), 0);
}

static void end(struct job *job)
{
	answer_unref(job->answer);
	pthread_join(job->thread, NULL);
}

/* Takes everything in odd pieces; the result of the last call goes to *last. */
static char *take_all(struct answer *a, size_t *len, ssize_t *last)
{
	size_t cap = 1 << 23;
	char *all = malloc(cap);

	*len = 0;
	for (size_t step = 1;; step = step * 7 % 40009 + 1) {
		*last = answer_take(a, -1, all + *len, step < cap - *len ? step : cap - *len);
		if (*last <= 0)
			return all;
		*len += (size_t)*last;
	}
}

TEST(a_small_answer_is_whole_and_plain)
{
	struct job job = {.n_bytes = 25};
	struct compute_slots *t = slots(1);
	ssize_t last;
	size_t len;
	char *all;

	begin(&job, t, ENCODING_GZIP);
	CHECK(answer_wait(job.answer, -1));
	CHECK_EQ(answer_status(job.answer), 200);
	CHECK_EQ(answer_encoding(job.answer), ENCODING_NONE);
	all = take_all(job.answer, &len, &last);
	CHECK_EQ(last, 0);
	CHECK_EQ(len, 25);
	CHECK_MEM_EQ(all, "abcdefghijabcdefghijabcde", 25);
	CHECK(answer_is_whole(job.answer, &len));
	free(all);
	end(&job);
	compute_slots_destroy(t);
}

TEST(a_large_one_passes_through_the_queue)
{
	struct job job = {.n_bytes = 3000000};
	struct compute_slots *t = slots(1);
	ssize_t last;
	size_t len;
	char *all;

	begin(&job, t, ENCODING_NONE);
	CHECK(answer_wait(job.answer, -1));
	all = take_all(job.answer, &len, &last);
	CHECK_EQ(last, 0);
	CHECK_EQ(len, job.n_bytes);
	for (size_t i = 0; i < len; i += 9973)
		CHECK_EQ(all[i], "abcdefghij"[i % 10]);
	free(all);
	end(&job);
	compute_slots_destroy(t);
}

TEST(an_error_replaces_what_was_written)
{
	struct job job = {.n_bytes = 1500, .status = 400};
	struct compute_slots *t = slots(1);
	ssize_t last;
	size_t len;
	char *all;

	begin(&job, t, ENCODING_NONE);
	CHECK(answer_wait(job.answer, -1));
	CHECK_EQ(answer_status(job.answer), 400);
	all = take_all(job.answer, &len, &last);
	CHECK_EQ(len, 5);
	CHECK_MEM_EQ(all, "sorry", 5);
	CHECK_EQ(last, 0);
	free(all);
	end(&job);
	compute_slots_destroy(t);
}

TEST(an_error_after_the_start_breaks_the_answer_off)
{
	struct job job = {.n_bytes = 2000000, .fails_late = true};
	struct compute_slots *t = slots(1);
	ssize_t last;
	size_t len;
	char *all;

	begin(&job, t, ENCODING_NONE);
	CHECK(answer_wait(job.answer, -1));
	CHECK_EQ(answer_status(job.answer), 200);
	all = take_all(job.answer, &len, &last);
	CHECK_EQ(last, -1);
	free(all);
	end(&job);
	compute_slots_destroy(t);
}

TEST(a_client_that_goes_stops_the_maker)
{
	struct job job = {.n_bytes = 1u << 30};
	struct compute_slots *t = slots(1);
	char buf[1000];
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	begin(&job, t, ENCODING_NONE);
	CHECK(answer_wait(job.answer, fd[0]));
	CHECK(answer_take(job.answer, fd[0], buf, sizeof(buf)) > 0);
	close(fd[1]);
	answer_cancel(job.answer); /* what the sender's end does */
	end(&job);
	CHECK(job.write_failed);
	CHECK(job.n_written < job.n_bytes);
	close(fd[0]);
	compute_slots_destroy(t);
}

TEST(waiting_for_the_first_byte_notices_that_the_client_has_gone)
{
	struct compute_slots *t = slots(1);
	struct answer *a = NULL;
	struct err err = {0};
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	CHECK_OK(answer_create(t, ENCODING_NONE, &a, &err));
	close(fd[1]);
	CHECK(!answer_wait(a, fd[0])); /* nobody makes it */
	CHECK(atomic_load(answer_cancel_flag(a)));
	CHECK(!answer_begin(a));
	answer_finish(a, 503);
	answer_unref(a);
	close(fd[0]);
	compute_slots_destroy(t);
}

TEST(slow_readers_do_not_keep_others_from_their_turn)
{
	struct job slow[8], quick = {.n_bytes = 100};
	struct compute_slots *t = slots(2);
	ssize_t last;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		slow[i] = (struct job){.n_bytes = 1000000};
		begin(&slow[i], t, ENCODING_NONE);
	}
	begin(&quick, t, ENCODING_NONE);
	CHECK(answer_wait(quick.answer, -1)); /* although nobody takes from the slow ones */
	free(take_all(quick.answer, &len, &last));
	CHECK_EQ(len, 100);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		free(take_all(slow[i].answer, &len, &last));
		CHECK_EQ(len, 1000000);
		end(&slow[i]);
	}
	end(&quick);
	compute_slots_destroy(t);
}

static void keep(void *user, struct answer *a, uint8_t *copy, size_t len)
{
	size_t *ret = user;

	(void)a;
	*ret = len;
	free(copy);
}

TEST(the_copy_is_what_was_sent_unless_it_is_too_large)
{
	struct compute_slots *t = slots(1);

	for (size_t n = 1000; n <= 6000000; n += 5999000) {
		struct job job = {.n_bytes = n, .status = 200};
		size_t copied = 0, len;
		struct err err = {0};
		ssize_t last;

		CHECK_OK(answer_create(t, ENCODING_NONE, &job.answer, &err));
		answer_set_done(job.answer, keep, &copied);
		CHECK_EQ(pthread_create(&job.thread, NULL, make, &job), 0);
		CHECK(answer_wait(job.answer, -1));
		free(take_all(job.answer, &len, &last));
		end(&job);
		CHECK_EQ(copied, n <= ANSWER_COPY_BYTES ? n : 0);
	}
	compute_slots_destroy(t);
}

/* ---- shared answers ---- */

static void begin_kept(struct job *job, struct compute_slots *t, size_t *copied, bool is_sent)
{
	struct err err = {0};

	job->status = 200;
	CHECK_OK(answer_create(t, ENCODING_NONE, &job->answer, &err));
	if (!is_sent)
		answer_set_unsent(job->answer);
	answer_set_done(job->answer, keep, copied);
}

static void run(struct job *job)
{
	CHECK_EQ(pthread_create(&job->thread, NULL, make, job), 0);
}

TEST(an_answer_without_a_sender_ends_by_itself)
{
	struct compute_slots *t = slots(1);
	struct job job = {.n_bytes = 1000000};
	size_t copied = 0;

	begin_kept(&job, t, &copied, false);
	run(&job);
	CHECK_EQ(answer_wait_end(job.answer, -1, 0), ANSWER_ENDED);
	CHECK_EQ(copied, job.n_bytes);
	answer_unshare(job.answer, false);
	pthread_join(job.thread, NULL);
	compute_slots_destroy(t);
}

TEST(the_sender_may_go_if_others_share_the_answer)
{
	struct compute_slots *t = slots(1);
	struct job job = {.n_bytes = 2000000};
	size_t copied = 0;

	begin_kept(&job, t, &copied, true);
	answer_share(job.answer);
	run(&job);
	/* nobody takes the bytes: the maker waits for its client */
	while (answer_wait_end(job.answer, -1, 20) != ANSWER_STALLED)
		;
	answer_cancel(job.answer);
	CHECK_EQ(answer_wait_end(job.answer, -1, 0), ANSWER_ENDED);
	CHECK_EQ(copied, job.n_bytes);
	CHECK(!job.write_failed);
	answer_unshare(job.answer, false);
	end(&job);
	compute_slots_destroy(t);
}

TEST(an_answer_that_nobody_waits_for_is_cancelled_unless_somebody_comes_back)
{
	struct compute_slots *t = slots(1);

	for (unsigned comes_back = 0; comes_back < 2; comes_back++) {
		struct job job = {.n_bytes = 1000};
		size_t copied = 0;

		begin_kept(&job, t, &copied, false);
		answer_share(job.answer); /* for this test: does not count as comes_back */
		CHECK_EQ(answer_n_waiting(job.answer), 2);
		answer_unshare(job.answer, false);
		CHECK(!answer_is_unwanted(job.answer));
		answer_ref(job.answer);
		answer_unshare(job.answer, comes_back);
		CHECK_EQ(atomic_load(answer_cancel_flag(job.answer)), !comes_back);
		CHECK(answer_is_unwanted(job.answer));
		answer_cancel_unwanted(job.answer);
		CHECK(atomic_load(answer_cancel_flag(job.answer)));
		run(&job);
		end(&job);
		CHECK_EQ(copied, 0);
	}
	compute_slots_destroy(t);
}

TEST(who_shares_an_answer_notices_that_the_client_has_gone_or_that_it_is_late)
{
	struct compute_slots *t = slots(1);
	struct job job = {.n_bytes = 10};
	size_t copied = 0;
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	begin_kept(&job, t, &copied, false);
	CHECK_EQ(answer_wait_end(job.answer, fd[0], 10), ANSWER_LATE); /* nobody makes it */
	close(fd[1]);
	CHECK_EQ(answer_wait_end(job.answer, fd[0], 0), ANSWER_LEFT);
	run(&job);
	CHECK_EQ(answer_wait_end(job.answer, -1, 0), ANSWER_ENDED);
	answer_unshare(job.answer, false);
	pthread_join(job.thread, NULL);
	close(fd[0]);
	compute_slots_destroy(t);
}

TEST(the_copy_of_an_answer_without_a_sender_has_a_limit)
{
	struct compute_slots *t = slots(1);
	struct job job = {.n_bytes = 1u << 30};
	size_t copied = 0;

	begin_kept(&job, t, &copied, false);
	run(&job);
	CHECK_EQ(answer_wait_end(job.answer, -1, 0), ANSWER_ENDED);
	CHECK_EQ(copied, 0);
	answer_unshare(job.answer, false);
	pthread_join(job.thread, NULL);
	CHECK(job.write_failed);
	CHECK(job.n_written < job.n_bytes);
	compute_slots_destroy(t);
}
