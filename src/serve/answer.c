/* serve/answer.c - see answer.h. */
#include "serve/answer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/monotonic.h"

#define FILE_BYTES 32768u
#define HEAD_BYTES 2048u /* less than this is not compressed */
#define LOOK_NS 100000000 /* how often the socket is looked at while waiting */

struct answer {
	struct compute_slots *slots;
	FILE *file;
	struct compute_turn turn; /* maker only, like all up to cancel */
	struct encoder *encoder;
	uint8_t head[HEAD_BYTES];
	size_t head_len;
	bool has_started; /* the head has been passed on */
	bool is_dropping; /* what the FILE still holds is not wanted */
	uint8_t *copy; /* NULL: not kept, or given up */
	size_t copy_len, copy_cap;
	answer_done done;
	void *done_user;
	const char *content_type;
	char file_name[ANSWER_FILE_NAME_BYTES]; /* "": none */
	enum encoding wanted, encoding;
	atomic_bool cancel;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	uint8_t *queue;
	size_t queue_cap, queue_at, queue_len;
	bool is_known; /* status and encoding will not change */
	bool is_finished;
	bool is_broken;
	bool has_sender;
	bool is_stalled; /* the maker waits for room in the queue */
	unsigned n_sharing;
	unsigned status;
	unsigned n_refs;
};

static void wait_at_most(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	pthread_cond_timedwait(cond, lock, &until);
}

static void wait_a_little(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	wait_at_most(cond, lock, LOOK_NS);
}

/* One that is cancelled goes on without a turn: there is little left to do. */
static void turn_take(struct answer *a)
{
	compute_turn_take(a->slots, &a->turn, &a->cancel);
}

static void turn_give(struct answer *a)
{
	compute_turn_give(a->slots, &a->turn);
}

/* ---- maker ---- */

/* Waits without a compute slot, and with the lock given back, until the queue has room. */
static void wait_for_room(struct answer *a)
{
	a->is_known = true;
	a->is_stalled = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	turn_give(a);
	pthread_mutex_lock(&a->lock);
	while (a->queue_len == a->queue_cap && !a->is_broken && a->has_sender)
		pthread_cond_wait(&a->changed, &a->lock);
	a->is_stalled = false;
	pthread_mutex_unlock(&a->lock);
	turn_take(a);
	pthread_mutex_lock(&a->lock);
}

/* Puts bytes into the queue; waits while it is full. False: nobody takes them any more. */
static bool enqueue(struct answer *a, const uint8_t *bytes, size_t len)
{
	pthread_mutex_lock(&a->lock);
	while (len && !a->is_broken && a->has_sender) {
		size_t room = a->queue_cap - a->queue_len;
		size_t end = (a->queue_at + a->queue_len) % a->queue_cap;
		size_t n = len < room ? len : room;

		if (n > a->queue_cap - end)
			n = a->queue_cap - end;
		if (n) {
			memcpy(a->queue + end, bytes, n);
			a->queue_len += n;
			bytes += n;
			len -= n;
			continue;
		}
		wait_for_room(a);
	}
	a->is_known = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return !atomic_load(&a->cancel);
}

static void keep_copy(struct answer *a, const uint8_t *bytes, size_t len)
{
	if (!a->done || a->copy_len == SIZE_MAX)
		return;
	if (len > ANSWER_COPY_BYTES - a->copy_len) {
		free(a->copy);
		a->copy = NULL;
		a->copy_len = SIZE_MAX; /* too large: no longer kept */
		return;
	}
	if (a->copy_len + len > a->copy_cap) {
		size_t cap = 2 * (a->copy_len + len);
		uint8_t *more = realloc(a->copy, cap);

		if (!more) {
			free(a->copy);
			a->copy = NULL;
			a->copy_len = SIZE_MAX;
			return;
		}
		a->copy = more;
		a->copy_cap = cap;
	}
	memcpy(a->copy + a->copy_len, bytes, len);
	a->copy_len += len;
}

static bool pass_on(void *user, const uint8_t *bytes, size_t len)
{
	struct answer *a = user;

	bool ok;

	keep_copy(a, bytes, len);
	ok = enqueue(a, bytes, len);
	pthread_mutex_lock(&a->lock);
	if (!a->has_sender && a->copy_len == SIZE_MAX) /* too large for those who share it */
		ok = false;
	pthread_mutex_unlock(&a->lock);
	return ok;
}

/* The answer is larger than the head, or complete: settles the encoding. */
static bool start(struct answer *a, bool is_small)
{
	struct err err;

	a->has_started = true;
	a->encoding = is_small ? ENCODING_NONE : a->wanted;
	if (encoder_create(a->encoding, pass_on, a, &a->encoder, &err) < 0)
		return false;
	return encoder_write(a->encoder, a->head, a->head_len);
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t len)
{
	struct answer *a = cookie;

	if (a->is_dropping)
		return (ssize_t)len;
	if (atomic_load(&a->cancel))
		return 0; /* an error to stdio */
	if (!a->has_started) {
		if (len <= HEAD_BYTES - a->head_len) {
			memcpy(a->head + a->head_len, bytes, len);
			a->head_len += len;
			return (ssize_t)len;
		}
		if (!start(a, false))
			return 0;
	}
	return a->encoder && encoder_write(a->encoder, (const uint8_t *)bytes, len) ? (ssize_t)len
										    : 0;
}

int answer_create(struct compute_slots *slots, enum encoding encoding, struct answer **ret,
		  struct err *err)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set_memory(err, sizeof(*a));
	a->slots = slots;
	a->wanted = encoding;
	a->queue_cap = ANSWER_QUEUE_BYTES;
	a->queue = malloc(a->queue_cap);
	a->content_type = "application/json";
	a->file = fopencookie(a, "w", (cookie_io_functions_t){.write = write_cookie});
	if (!a->queue || !a->file) {
		if (a->file)
			fclose(a->file);
		free(a->queue);
		free(a);
		return err_set_memory(err, ANSWER_QUEUE_BYTES);
	}
	setvbuf(a->file, NULL, _IOFBF, FILE_BYTES);
	__fsetlocking(a->file, FSETLOCKING_BYCALLER); /* one thread: putc() need not lock */
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	a->n_refs = 2;
	a->has_sender = true;
	*ret = a;
	return 0;
}

void answer_set_unsent(struct answer *a)
{
	a->has_sender = false;
	a->n_sharing = 1;
}

void answer_ref(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	a->n_refs++;
	pthread_mutex_unlock(&a->lock);
}

void answer_unref(struct answer *a)
{
	bool is_last;

	pthread_mutex_lock(&a->lock);
	is_last = --a->n_refs == 0;
	pthread_mutex_unlock(&a->lock);
	if (!is_last)
		return;
	a->is_dropping = true;
	if (a->file)
		fclose(a->file);
	encoder_destroy(a->encoder);
	free(a->copy);
	free(a->queue);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

bool answer_begin(struct answer *a)
{
	turn_take(a);
	return !atomic_load(&a->cancel);
}

void answer_set_turn(struct answer *a, const char *client, bool is_instant, bool is_long)
{
	a->turn.is_instant = is_instant;
	snprintf(a->turn.client, sizeof(a->turn.client), "%s", client);
	a->turn.is_long = is_long;
}

void answer_set_needs(struct answer *a, uint64_t n_bytes)
{
	a->turn.needs_bytes = n_bytes;
}

void answer_set_last(struct answer *a)
{
	a->turn.is_last = true;
}

void answer_set_quick(struct answer *a)
{
	a->turn.is_quick = true;
}

void answer_set_guess(struct answer *a, uint64_t cpu_ns)
{
	a->turn.guess_ns = cpu_ns;
}

void answer_pause(struct answer *a)
{
	turn_give(a);
}

uint64_t answer_cpu_ns(const struct answer *a)
{
	return a->turn.cpu_ns;
}

static void give_turn(void *user)
{
	turn_give(user);
}

static void take_turn(void *user)
{
	turn_take(user);
}

struct query_turn answer_turn(struct answer *a)
{
	return (struct query_turn){.give = give_turn, .take = take_turn, .user = a};
}

FILE *answer_file(struct answer *a)
{
	return a->file;
}

const atomic_bool *answer_cancel_flag(const struct answer *a)
{
	return &a->cancel;
}

void answer_set_type(struct answer *a, const char *content_type, const char *file_name)
{
	ASSERT(!a->has_started);
	a->content_type = content_type;
	snprintf(a->file_name, sizeof(a->file_name), "%s", file_name ? file_name : "");
}

void answer_set_done(struct answer *a, answer_done done, void *user)
{
	a->done = done;
	a->done_user = user;
}

void answer_set_stream(struct answer *a)
{
	ASSERT(!a->has_started && a->head_len == 0);
	start(a, true);
}

bool answer_restart(struct answer *a)
{
	if (a->has_started)
		return false;
	a->is_dropping = true;
	fflush(a->file);
	clearerr(a->file);
	a->is_dropping = false;
	a->head_len = 0;
	return true;
}

void answer_finish(struct answer *a, unsigned status)
{
	bool ok = fflush(a->file) == 0 && !ferror(a->file);
	bool was_started = a->has_started;

	a->is_dropping = true;
	fclose(a->file);
	a->file = NULL;
	if (!was_started) { /* status first: the sender may look at once */
		pthread_mutex_lock(&a->lock);
		a->status = status;
		pthread_mutex_unlock(&a->lock);
		ok = ok && start(a, true);
	} else if (status != 200) {
		ok = false;
	}
	ok = ok && a->encoder && encoder_finish(a->encoder);
	if (ok && status == 200 && a->done && a->copy_len != SIZE_MAX) {
		a->done(a->done_user, a, a->copy, a->copy_len);
		a->copy = NULL;
	}
	pthread_mutex_lock(&a->lock);
	a->is_known = a->is_finished = true;
	a->is_broken |= !ok;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	compute_turn_end(a->slots, &a->turn);
	answer_unref(a);
}

/* ---- sender ---- */

static bool has_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return fd >= 0 && poll(&p, 1, 0) == 1 &&
	       (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static void cancel_locked(struct answer *a)
{
	atomic_store(&a->cancel, true);
	a->is_broken = true;
	pthread_cond_broadcast(&a->changed);
}

/* The sender goes. */
static void leave_locked(struct answer *a)
{
	a->has_sender = false;
	if (a->n_sharing == 0)
		cancel_locked(a);
	pthread_cond_broadcast(&a->changed);
}

void answer_cancel(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	leave_locked(a);
	pthread_mutex_unlock(&a->lock);
}

bool answer_wait(struct answer *a, int fd)
{
	bool ok;

	pthread_mutex_lock(&a->lock);
	while (!a->is_known && !a->is_broken && a->has_sender) {
		wait_a_little(&a->changed, &a->lock);
		if (!a->is_known && has_gone(fd))
			leave_locked(a);
	}
	if (a->status == 0)
		a->status = 200;
	ok = a->is_known && a->has_sender;
	pthread_mutex_unlock(&a->lock);
	return ok;
}

bool answer_is_known(struct answer *a, unsigned max_ms)
{
	bool ret;

	pthread_mutex_lock(&a->lock);
	if (!a->is_known && !a->is_broken)
		wait_at_most(&a->changed, &a->lock, (uint64_t)max_ms * NS_PER_MS);
	ret = a->is_known || a->is_broken;
	pthread_mutex_unlock(&a->lock);
	return ret;
}

unsigned answer_status(const struct answer *a)
{
	return a->status;
}

const char *answer_type(const struct answer *a)
{
	return a->content_type;
}

const char *answer_file_name(const struct answer *a)
{
	return a->file_name[0] ? a->file_name : NULL;
}

enum encoding answer_encoding(const struct answer *a)
{
	return a->encoding;
}

bool answer_is_whole(struct answer *a, size_t *len)
{
	bool ret;

	pthread_mutex_lock(&a->lock);
	ret = a->is_finished && !a->is_broken;
	*len = a->queue_len;
	pthread_mutex_unlock(&a->lock);
	return ret;
}

ssize_t answer_take(struct answer *a, int fd, void *buf, size_t len)
{
	ssize_t ret;

	pthread_mutex_lock(&a->lock);
	while (a->queue_len == 0 && !a->is_finished && !a->is_broken && a->has_sender) {
		wait_a_little(&a->changed, &a->lock);
		if (a->queue_len == 0 && !a->is_finished && has_gone(fd))
			leave_locked(a);
	}
	if (len > a->queue_cap - a->queue_at)
		len = a->queue_cap - a->queue_at;
	if (len > a->queue_len)
		len = a->queue_len;
	memcpy(buf, a->queue + a->queue_at, len);
	a->queue_at = (a->queue_at + len) % a->queue_cap;
	a->queue_len -= len;
	ret = len ? (ssize_t)len : a->is_broken || !a->has_sender ? -1 : 0;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

/* ---- those who share ---- */

void answer_share(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	a->n_sharing++;
	a->n_refs++;
	pthread_mutex_unlock(&a->lock);
}

static bool is_unwanted_locked(const struct answer *a)
{
	return !a->has_sender && a->n_sharing == 0 && !a->is_finished;
}

void answer_unshare(struct answer *a, bool comes_back)
{
	pthread_mutex_lock(&a->lock);
	a->n_sharing--;
	if (!comes_back && is_unwanted_locked(a))
		cancel_locked(a);
	pthread_mutex_unlock(&a->lock);
	answer_unref(a);
}

bool answer_is_unwanted(struct answer *a)
{
	bool ret;

	pthread_mutex_lock(&a->lock);
	ret = is_unwanted_locked(a);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

void answer_cancel_unwanted(struct answer *a)
{
	pthread_mutex_lock(&a->lock);
	if (is_unwanted_locked(a))
		cancel_locked(a);
	pthread_mutex_unlock(&a->lock);
}

unsigned answer_n_waiting(struct answer *a)
{
	unsigned n;

	pthread_mutex_lock(&a->lock);
	n = a->n_sharing + a->has_sender;
	pthread_mutex_unlock(&a->lock);
	return n;
}

enum answer_end answer_wait_end(struct answer *a, int fd, unsigned max_ms)
{
	uint64_t end_ns = monotonic_ns() + (uint64_t)max_ms * NS_PER_MS;
	enum answer_end ret = ANSWER_ENDED;

	pthread_mutex_lock(&a->lock);
	while (!a->is_finished && !a->is_broken && ret == ANSWER_ENDED) {
		uint64_t now_ns = monotonic_ns(), wait_ns = LOOK_NS;

		if (max_ms && now_ns < end_ns && end_ns - now_ns < wait_ns)
			wait_ns = end_ns - now_ns;
		if (a->is_stalled && a->has_sender)
			ret = ANSWER_STALLED;
		else if (max_ms && now_ns >= end_ns)
			ret = ANSWER_LATE;
		else if (has_gone(fd))
			ret = ANSWER_LEFT;
		else
			wait_at_most(&a->changed, &a->lock, wait_ns);
	}
	pthread_mutex_unlock(&a->lock);
	return ret;
}
