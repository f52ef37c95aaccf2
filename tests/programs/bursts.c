/* bursts N [THREADS] - N times: thousands of events one right after the other, then a pause.
 *
 * Each pause is the life of a block of its own size, FIRST_SIZE + 16 * (N * thread + i): it is made right
 * behind the burst, and its free is the first event after the pause. For each, a line with the size and
 * four times of CLOCK_MONOTONIC: before and after its malloc, before and after its free.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	N_PAIRS = 10000,
	MAX_THREADS = 8,
	MAX_PAUSES = 1000,
	FIRST_SIZE = 10000,
	PAUSE_NS = 10000000
};

struct pause {
	uint64_t at_ns[4];
};

static struct pause pauses[MAX_THREADS][MAX_PAUSES];
static int n_pauses;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void make_pairs(int n)
{
	for (int i = 0; i < n; i++)
		free(malloc(24 + 16 * ((size_t)i % 8)));
}

/* Every second one is spent computing. */
static void rest(int i)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t end_ns = now_ns() + PAUSE_NS;

	if (i % 2)
		nanosleep(&pause, NULL);
	while (now_ns() < end_ns)
		;
}

static void *run(void *arg)
{
	struct pause *p = arg;
	size_t thread = (size_t)(p - pauses[0]) / MAX_PAUSES;

	for (int i = 0; i < n_pauses; i++, p++) {
		void *block;

		make_pairs(N_PAIRS + i % 17);
		p->at_ns[0] = now_ns();
		block = malloc(FIRST_SIZE + 16 * ((size_t)n_pauses * thread + (size_t)i));
		p->at_ns[1] = now_ns();
		rest(i);
		p->at_ns[2] = now_ns();
		free(block);
		p->at_ns[3] = now_ns();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n_threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t thread[MAX_THREADS];

	n_pauses = argc > 1 ? atoi(argv[1]) : 10;
	if (n_threads < 1 || n_threads > MAX_THREADS || n_pauses < 1 || n_pauses > MAX_PAUSES)
		return 2;
	for (int i = 1; i < n_threads; i++) {
		if (pthread_create(&thread[i], NULL, run, pauses[i]))
			return 1;
	}
	run(pauses[0]);
	for (int i = 1; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < n_threads * n_pauses; i++) {
		const uint64_t *t = pauses[i / n_pauses][i % n_pauses].at_ns;

		printf("%d %llu %llu %llu %llu\n", FIRST_SIZE + 16 * i, (unsigned long long)t[0],
		       (unsigned long long)t[1], (unsigned long long)t[2],
		       (unsigned long long)t[3]);
	}
	return 0;
}
