/* churn [MILLIONS [THREADS [LIVE]]]: a program that runs long, for measuring the analysis.
 *
 * Makes about MILLIONS million calls (default 30) in THREADS threads (2): each thread keeps LIVE
 * blocks (500000) and replaces them at random, mostly young ones, from stacks 3 to 40 frames deep
 * with some thousand different call sites; one call in eight is a realloc, half of all blocks are
 * freed at once. The same calls in every run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
	uint64_t n_calls; /* still to make */
	uint64_t random;
	void **live;
	size_t n_live;
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Small ones are many. */
static size_t any_size(uint64_t r)
{
	unsigned bits = 4 + (unsigned)(r & 7);

	if ((r >> 8 & 1023) == 0)
		bits += 6;
	return (1u << bits) + (r >> 20 & ((1u << bits) - 1));
}

__attribute__((noinline)) static void *make_block(size_t size)
{
	char *p = malloc(size);

	if (!p)
		abort();
	p[0] = 1;
	return p;
}

__attribute__((noinline)) static void use_slot(struct worker *w, uint64_t r)
{
	/* Most accesses go to a small part: young blocks die young. */
	size_t range = (r & 15) ? w->n_live / 64 + 1 : w->n_live;
	void **slot = &w->live[(r >> 32) % range];

	if ((r & 0x700) == 0 && *slot) {
		*slot = realloc(*slot, any_size(r >> 4));
		w->n_calls--;
		return;
	}
	free(*slot);
	*slot = make_block(any_size(r >> 4));
	w->n_calls -= 2;
}

__attribute__((noinline)) static void use_temporary(struct worker *w, uint64_t r)
{
	void *p = make_block(any_size(r >> 4));

	free(p);
	w->n_calls -= 2;
}

/* Two ways down at each level make many different stacks. */
static void descend(struct worker *w, unsigned depth, uint64_t way);

__attribute__((noinline)) static void left(struct worker *w, unsigned depth, uint64_t way)
{
	descend(w, depth - 1, way >> 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void right(struct worker *w, unsigned depth, uint64_t way)
{
	descend(w, depth - 1, way >> 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void descend(struct worker *w, unsigned depth, uint64_t way)
{
	if (depth > 0) {
		if (way & 1)
			left(w, depth, way);
		else
			right(w, depth, way);
	} else {
		for (unsigned i = 0; i < 24 && w->n_calls > 2; i++) {
			uint64_t r = next_random(w);

			if (r & 0x8000)
				use_temporary(w, r);
			else
				use_slot(w, r);
		}
	}
	__asm__ volatile("");
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->live = calloc(w->n_live, sizeof(*w->live));
	if (!w->live)
		abort();
	for (size_t i = 0; i < w->n_live && w->n_calls > 2; i++, w->n_calls--)
		w->live[i] = make_block(any_size(next_random(w)));
	while (w->n_calls > 2) {
		uint64_t r = next_random(w);

		descend(w, (unsigned)(r >> 40) % 20, r & 0x3ff);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n_calls = (argc > 1 ? strtoull(argv[1], NULL, 10) : 30) * 1000000;
	unsigned n_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
	size_t n_live = argc > 3 ? strtoull(argv[3], NULL, 10) : 500000;
	struct worker *worker = calloc(n_threads ? n_threads : 1, sizeof(*worker));
	pthread_t *thread = calloc(n_threads ? n_threads : 1, sizeof(*thread));

	if (!worker || !thread || n_threads == 0)
		return 1;
	for (unsigned i = 0; i < n_threads; i++) {
		worker[i] = (struct worker){n_calls / n_threads, 88172645463325252ull + i, NULL,
					    n_live};
		if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	puts("done");
	return 0;
}
