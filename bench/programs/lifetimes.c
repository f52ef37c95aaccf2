/* lifetimes BLOCKS_PER_S SECONDS [THREADS] - what a server does that runs for days: of 1000 blocks
 * 999 are freed soon, and one lives for LONG_S seconds.
 *
 * Each thread allocates at its share of the rate. A short-lived block is freed when its thread has
 * made N_HELD more. Prints allocations, bytes and blocks that live at the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_HELD 64u
#define PER_STEP 1000u /* one of them is long-lived */
#define LONG_S 20u
#define MAX_LONG (1u << 16)
#define MAX_THREADS 64u
#define N_DEPTHS 29u

struct worker {
	pthread_t thread;
	double rate, seconds;
	uint64_t n, n_bytes, n_live;
	void *held[N_HELD];
	void *kept[MAX_LONG];
};

static struct worker worker[MAX_THREADS];
static volatile unsigned depth_used; /* keeps the calls from becoming jumps */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void *allocate(size_t size, unsigned depth)
{
	void *p = depth ? allocate(size, depth - 1) : malloc(size);

	depth_used = depth;
	return p;
}

static void *make(struct worker *w)
{
	size_t size = 16 + w->n * 7 % 500;

	w->n++;
	w->n_bytes += size;
	return allocate(size, (unsigned)(w->n % N_DEPTHS));
}

static void step(struct worker *w, uint64_t n_steps, uint64_t n_kept)
{
	void **old = &w->kept[n_steps % n_kept];

	free(*old);
	*old = make(w);
	for (unsigned i = 1; i < PER_STEP; i++) {
		void **slot = &w->held[i % N_HELD];

		free(*slot);
		*slot = make(w);
	}
}

static void count_live(struct worker *w)
{
	for (unsigned i = 0; i < N_HELD; i++)
		w->n_live += w->held[i] != NULL;
	for (unsigned i = 0; i < MAX_LONG; i++)
		w->n_live += w->kept[i] != NULL;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	double start = now_s();
	uint64_t n_kept = (uint64_t)(w->rate / PER_STEP * LONG_S);

	n_kept = n_kept < 1 ? 1 : n_kept > MAX_LONG ? MAX_LONG : n_kept;
	for (uint64_t i = 0; (double)i * PER_STEP < w->rate * w->seconds; i++) {
		double ahead;

		step(w, i, n_kept);
		ahead = (double)w->n / w->rate - (now_s() - start);
		if (ahead > 0.001)
			nanosleep(&(struct timespec){.tv_sec = (time_t)ahead,
						     .tv_nsec = (long)(ahead * 1e9) % 1000000000},
				  NULL);
	}
	count_live(w);
	return NULL;
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? atof(argv[1]) : 1e6, seconds = argc > 2 ? atof(argv[2]) : 10;
	unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	struct worker sum = {0};

	if (n_threads < 1 || n_threads > MAX_THREADS)
		return 2;
	for (unsigned i = 0; i < n_threads; i++) {
		worker[i].rate = rate / n_threads;
		worker[i].seconds = seconds;
		if (i > 0)
			pthread_create(&worker[i].thread, NULL, work, &worker[i]);
	}
	work(&worker[0]);
	for (unsigned i = 0; i < n_threads; i++) {
		if (i > 0)
			pthread_join(worker[i].thread, NULL);
		sum.n += worker[i].n;
		sum.n_bytes += worker[i].n_bytes;
		sum.n_live += worker[i].n_live;
	}
	printf("%llu %llu %llu\n", (unsigned long long)sum.n, (unsigned long long)sum.n_bytes,
	       (unsigned long long)sum.n_live);
	return 0;
}
