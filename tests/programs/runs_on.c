/* runs_on THREADS [PAUSE_US] - runs until it is ended: threads allocate, reallocate, hand blocks to each
 * other and free them, through stacks that are new now and then; two threads do next to nothing. A byte
 * on its input ends it in order.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_BOXES 512

static _Atomic(void *) box[N_BOXES];
static atomic_bool is_over;
static unsigned pause_us;

struct worker {
	uint64_t random;
	uint64_t n;
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Another stack for each path of left and right. */
static void *go(struct worker *w, uint64_t path, unsigned depth, size_t size);

static __attribute__((noinline)) void *left(struct worker *w, uint64_t path, unsigned depth,
					    size_t size)
{
	void *p = go(w, path >> 1, depth - 1, size);

	__asm__ volatile("" ::: "memory");
	return p;
}

static __attribute__((noinline)) void *right(struct worker *w, uint64_t path, unsigned depth,
					     size_t size)
{
	void *p = go(w, path >> 1, depth - 1, size);

	__asm__ volatile("" ::: "memory");
	return p;
}

static __attribute__((noinline)) void *go(struct worker *w, uint64_t path, unsigned depth,
					  size_t size)
{
	void *p;

	if (depth)
		p = path & 1 ? left(w, path, depth, size) : right(w, path, depth, size);
	else
		p = path % 7 == 3 ? calloc(1, size) : malloc(size);
	__asm__ volatile("" ::: "memory");
	return p;
}

static void step(struct worker *w)
{
	uint64_t r = next_random(w);
	size_t size = 16 + (r >> 8) % 2000;
	/* the number of different paths grows slowly, whatever the speed */
	void *p = go(w, r % (4 + w->n / 2048), 3 + r % 9, size);
	void *old = atomic_exchange(&box[(r >> 24) % N_BOXES], p);

	if (old && (r >> 40) % 4 == 0)
		old = realloc(old, 16 + (r >> 44) % 8000);
	if (old && (r >> 50) % 1024 == 0)
		return; /* leaked */
	free(old);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&is_over)) {
		for (unsigned i = 0; i < 64; i++, w->n++)
			step(w);
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

/* A thread that hardly ever does something, so that its block is never full. */
static void *idle(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&is_over)) {
		for (unsigned i = 0; i < 7 && !atomic_load(&is_over); i++)
			usleep(100000);
		step(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	pthread_t thread[64];
	struct worker worker[64];
	char byte;

	pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (n > 60)
		return 2;
	for (unsigned i = 0; i < n + 2; i++) {
		worker[i] = (struct worker){.random = 88172645463325252ull + i * 7919};
		if (pthread_create(&thread[i], NULL, i < n ? work : idle, &worker[i]))
			return 1;
	}
	(void)!read(0, &byte, 1);
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < n + 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
