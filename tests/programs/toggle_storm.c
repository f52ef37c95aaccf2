/* toggle_storm TOGGLES [MS] - recording is switched all the time while threads pass blocks around.
 *
 * Blocks are made, often changed by realloc, and handed over at once to another of four threads,
 * which frees them; made on one side of a switch and freed on the other. With 0 toggles: for MS, or
 * until the standard input ends if MS is 0.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_BOXES 64

static _Atomic(void *) boxes[N_BOXES];
static _Atomic int stop;
static _Atomic unsigned long n_rounds;

static void *pass_around(void *arg)
{
	unsigned r = (unsigned)(size_t)arg;
	unsigned long n;

	for (n = 0; !atomic_load(&stop); n++) {
		void *p = malloc(1 + r % 500);

		r = r * 1664525 + 1013904223;
		if (r >> 31)
			p = realloc(p, 1 + r % 900);
		free(atomic_exchange(&boxes[(r >> 16) % N_BOXES], p));
	}
	atomic_fetch_add(&n_rounds, n);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n_toggles = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	unsigned ms = argc > 2 ? (unsigned)atoi(argv[2]) : 500;
	pthread_t threads[4];
	char c;

	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, pass_around, (void *)(i + 1)))
			return 1;
	for (unsigned i = 0; i < n_toggles; i++) {
		kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
		usleep(i % 7 * 100);
	}
	if (n_toggles == 0 && ms)
		usleep(1000u * ms);
	else if (n_toggles == 0 && read(0, &c, 1))
		return 1;
	atomic_store(&stop, 1);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < N_BOXES; i++)
		free(boxes[i]);
	printf("%s\n", n_rounds > 1000 ? "done" : "too few rounds");
	return 0;
}
