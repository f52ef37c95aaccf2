/* service [MILLIONS [STACKS]]: a program that looks like a busy server, for measuring the GUI.
 *
 * Four threads make about MILLIONS million allocations (default 10) from STACKS call stacks
 * (24000), through about 200 functions. Of the allocations
 *   - half are temporary: freed before the thread allocates again
 *   - most others go into a table that all threads share; whoever needs the slot frees the block
 *   - one in 16 begins a buffer that grows by realloc, six times
 *   - one in 512 is kept for ever, from a few stacks more than from others
 * In the middle the first thread maps memory and fills it with large blocks: the peak. Markers
 * divide the run into four parts. The same calls in every run; who frees a shared block differs.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory_profiler.h"

enum {
	N_THREADS = 4,
	N_LEVELS = 5,
	N_WAYS = 64, /* functions of a level */
	N_SLOTS = 1 << 16,
	N_GROWS = 6,
	N_LARGE = 256,
	LARGE_BYTES = 200000
};

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t n_left; /* allocations still to make */
	uint64_t n_stacks;
	unsigned number;
};

typedef void (*way)(struct worker *w, uint64_t path);

static _Atomic(void *) slot[N_SLOTS];
static void *kept[N_SLOTS];
static atomic_uint n_kept;

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static size_t any_size(uint64_t r)
{
	unsigned bits = 4 + (unsigned)(r & 7);

	return (1u << bits) + (r >> 20 & ((1u << bits) - 1));
}

static void *checked(void *p)
{
	if (!p)
		abort();
	*(volatile char *)p = 1;
	return p;
}

__attribute__((noinline)) static void use_temporary(uint64_t r)
{
	free(checked(malloc(any_size(r))));
}

__attribute__((noinline)) static void share(uint64_t r)
{
	void *mine = checked(malloc(any_size(r)));

	free(atomic_exchange(&slot[(r >> 32) % N_SLOTS], mine));
}

__attribute__((noinline)) static void grow(uint64_t r)
{
	size_t size = 24 + (r >> 32) % 40;
	void *p = checked(malloc(size));

	for (unsigned i = 0; i < N_GROWS; i++)
		p = checked(realloc(p, size *= 2));
	free(p);
}

__attribute__((noinline)) static void keep(uint64_t r)
{
	kept[atomic_fetch_add(&n_kept, 1) % N_SLOTS] = checked(malloc(any_size(r) / 4 + 8));
}

__attribute__((noinline)) static void allocate(struct worker *w, uint64_t path)
{
	uint64_t r = next_random(w);

	w->n_left--;
	if (path % 512 == 7)
		keep(r);
	else if (path & 1)
		use_temporary(r);
	else if (path % 64 == 2) {
		grow(r);
		w->n_left -= w->n_left < N_GROWS ? w->n_left : N_GROWS;
	} else
		share(r);
}

/* Level by level, each with functions of its own: the names in a flame graph differ. */
#define WAY(level, name, next)                                                                     \
	__attribute__((noinline)) static void level##name(struct worker *w, uint64_t path)         \
	{                                                                                          \
		next;                                                                              \
		__asm__ volatile("" ::: "memory"); /* no tail call */                              \
	}
#define WAYS_8(l, n, next)                                                                         \
	WAY(l, n##0, next)                                                                         \
	WAY(l, n##1, next)                                                                         \
	WAY(l, n##2, next)                                                                         \
	WAY(l, n##3, next)                                                                         \
	WAY(l, n##4, next)                                                                         \
	WAY(l, n##5, next)                                                                         \
	WAY(l, n##6, next)                                                                         \
	WAY(l, n##7, next)
#define NAMES_8(l, n) l##n##0, l##n##1, l##n##2, l##n##3, l##n##4, l##n##5, l##n##6, l##n##7
#define LEVEL(l, next)                                                                             \
	WAYS_8(l, 0, next)                                                                         \
	WAYS_8(l, 1, next)                                                                         \
	WAYS_8(l, 2, next)                                                                         \
	WAYS_8(l, 3, next)                                                                         \
	WAYS_8(l, 4, next)                                                                         \
	WAYS_8(l, 5, next)                                                                         \
	WAYS_8(l, 6, next)                                                                         \
	WAYS_8(l, 7, next)                                                                         \
	static const way l##table[N_WAYS] = {NAMES_8(l, 0), NAMES_8(l, 1), NAMES_8(l, 2),          \
					     NAMES_8(l, 3), NAMES_8(l, 4), NAMES_8(l, 5),          \
					     NAMES_8(l, 6), NAMES_8(l, 7)};

LEVEL(write_, allocate(w, path))
LEVEL(encode_, write_table[path * 7 % N_WAYS](w, path))
LEVEL(handle_, encode_table[path / 512 * 5 % N_WAYS](w, path))
LEVEL(route_, handle_table[path / 64 % N_WAYS](w, path))
LEVEL(accept_, route_table[path % 64 / 8](w, path))

/* Low paths are taken more often: some call sites are hot, most are not. */
static uint64_t any_path(struct worker *w)
{
	uint64_t r = next_random(w) >> 16;
	uint64_t a = r % w->n_stacks;

	return r >> 44 & 1 ? a : a * a / w->n_stacks;
}

static void reach_peak(void)
{
	static void *large[N_LARGE];

	checked(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (unsigned i = 0; i < N_LARGE; i++)
		large[i] = checked(malloc(LARGE_BYTES));
	for (unsigned i = 0; i < N_LARGE; i++)
		free(large[i]);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t quarter = w->n_left / 4;
	unsigned part = 4;

	while (w->n_left > 0) {
		uint64_t path = any_path(w);

		if (w->number == 0 && part > 0 && w->n_left <= quarter * part) {
			if (memory_profiler_set_marker)
				memory_profiler_set_marker(5 - part);
			if (part-- == 2)
				reach_peak();
		}
		accept_table[path % 8](w, path);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000;
	uint64_t n_stacks = argc > 2 ? strtoull(argv[2], NULL, 10) : 24000;
	static struct worker worker[N_THREADS];

	if (n_stacks == 0)
		return 1;
	for (unsigned i = 0; i < N_THREADS; i++) {
		worker[i] = (struct worker){.random = 88172645463325252ull + i,
					    .n_left = n / N_THREADS,
					    .n_stacks = n_stacks,
					    .number = i};
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	puts("done");
	return 0;
}
