/* shapes SHAPE N [M]: programs whose recordings are large in one way each.
 *
 *   live N       allocates N blocks, frees every eleventh again, keeps the others
 *   stacks N     allocates twice from N different stacks, and frees from N others
 *   events N     four threads, N allocations and frees together
 *   threads N M  N threads come and go, at most eight at a time; each allocates M blocks
 *   day N M      24 bursts of N allocations, with a pause of M milliseconds after each
 *
 * scale.py records them and measures what the recordings cost to read.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	N_EVENT_THREADS = 4,
	N_KEPT = 4096, /* blocks that each thread of `events` has live */
	N_THREADS_AT_ONCE = 8,
	N_BURSTS = 24
};

static void *make(size_t size_bytes)
{
	char *p = malloc(size_bytes);

	if (!p)
		abort();
	*(volatile char *)p = 1;
	return p;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- live ---- */

static void run_live(uint64_t n)
{
	void *old[64] = {0};

	for (uint64_t i = 0; i < n; i++) {
		void *p = make(16 + i % 5 * 8);

		if (i % 11)
			continue;
		free(old[i / 11 % 64]);
		old[i / 11 % 64] = p;
	}
}

/* ---- stacks: the bits of a number choose the function at each level ---- */

enum {
	LEVELS = 21
};

static void go(uint32_t number, unsigned level);

static void __attribute__((noinline)) left(uint32_t number, unsigned level)
{
	go(number, level);
	__asm__ volatile(""); /* no tail call */
}

/* Not the same code as left(): compilers make one function of equal ones. */
static void __attribute__((noinline)) right(uint32_t number, unsigned level)
{
	go(number, level);
	__asm__ volatile("nop");
}

static void __attribute__((noinline)) go(uint32_t number, unsigned level)
{
	if (level == 0)
		free(make(24 + number % 100));
	else if (number >> (level - 1) & 1)
		left(number, level - 1);
	else
		right(number, level - 1);
	__asm__ volatile("");
}

static void __attribute__((noinline)) go_all(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		go((uint32_t)i, LEVELS);
	__asm__ volatile("");
}

static void run_stacks(uint64_t n)
{
	for (volatile unsigned round = 0; round < 2; round++) /* from one call site */
		go_all(n);
}

/* ---- events: sizes, lifetimes and call sites of many kinds, from four threads ---- */

static void *__attribute__((noinline)) make_small(uint64_t x)
{
	return make(16 + x % 64);
}

static void *__attribute__((noinline)) make_medium(uint64_t x)
{
	return make(64 + x % 1000);
}

static void *__attribute__((noinline)) make_large(uint64_t x)
{
	return make(1024 + x % 10000);
}

struct event_thread {
	pthread_t thread;
	uint64_t n, seed;
};

static void *run_event_thread(void *arg)
{
	struct event_thread *t = arg;
	void **kept = calloc(N_KEPT, sizeof(*kept));
	uint64_t state = t->seed;

	if (!kept)
		abort();
	for (uint64_t i = 0; i < t->n; i += 2) {
		uint64_t x = next_random(&state);
		void **at = &kept[x % 8 ? x % 16 : x / 8 % N_KEPT];

		free(*at);
		if (x >> 40 & 15)
			*at = make_small(x >> 20);
		else if (x >> 44 & 15)
			*at = make_medium(x >> 20);
		else
			*at = make_large(x >> 20);
	}
	return kept;
}

static void run_events(uint64_t n)
{
	static struct event_thread t[N_EVENT_THREADS];

	for (unsigned i = 0; i < N_EVENT_THREADS; i++) {
		t[i].n = n / N_EVENT_THREADS;
		t[i].seed = 0x9e3779b97f4a7c15ull * (i + 1);
		if (pthread_create(&t[i].thread, NULL, run_event_thread, &t[i]))
			abort();
	}
	for (unsigned i = 0; i < N_EVENT_THREADS; i++)
		pthread_join(t[i].thread, NULL);
}

/* ---- threads ---- */

static void *run_short_thread(void *arg)
{
	uint64_t n = *(uint64_t *)arg;
	void *last = NULL;

	for (uint64_t i = 0; i < n; i++) {
		void *p = make(16 + i % 500);

		free(last);
		last = p;
	}
	return NULL; /* the last block leaks */
}

static void run_threads(uint64_t n, uint64_t m)
{
	pthread_t thread[N_THREADS_AT_ONCE];

	for (uint64_t i = 0; i < n + N_THREADS_AT_ONCE; i++) {
		if (i >= N_THREADS_AT_ONCE)
			pthread_join(thread[i % N_THREADS_AT_ONCE], NULL);
		if (i < n &&
		    pthread_create(&thread[i % N_THREADS_AT_ONCE], NULL, run_short_thread, &m))
			abort();
	}
}

/* ---- day ---- */

static void run_day(uint64_t n, uint64_t pause_ms)
{
	for (unsigned burst = 0; burst < N_BURSTS; burst++) {
		uint64_t state = burst + 1;

		for (uint64_t i = 0; i < n; i++) {
			void *p = make(16 + next_random(&state) % 2000);

			if (i % 1000)
				free(p);
		}
		usleep((useconds_t)(pause_ms * 1000));
	}
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t m = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;

	if (n == 0) {
		fputs("usage: shapes live|stacks|events|threads|day N [M]\n", stderr);
		return 2;
	}
	if (strcmp(shape, "live") == 0)
		run_live(n);
	else if (strcmp(shape, "stacks") == 0)
		run_stacks(n < 1u << LEVELS ? n : 1u << LEVELS);
	else if (strcmp(shape, "events") == 0)
		run_events(n);
	else if (strcmp(shape, "threads") == 0)
		run_threads(n, m);
	else if (strcmp(shape, "day") == 0)
		run_day(n, m);
	else
		return 2;
	return 0;
}
