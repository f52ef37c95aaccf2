/* usage: known_threads [N_TEMPORARY]
 * Eight threads at once, each with its own known number of temporary and other allocations; and a
 * block that goes from one thread to another, which is not temporary. */
#include <pthread.h>
#include <stdlib.h>

#define N_THREADS 8
#define N_KEPT 100

static size_t n_temporary = 5000; /* of a thread, and one more per number of the thread */

static void *volatile handed_over;
static pthread_barrier_t barrier;

/* Thread i: n_temporary + i temporary ones, N_KEPT that are not, all of 16 * (i + 1) bytes. */
static void *work(void *arg)
{
	size_t i = (size_t)arg;
	void *kept[N_KEPT];

	pthread_barrier_wait(&barrier);
	for (size_t k = 0; k < n_temporary + i; k++) {
		void *volatile p = malloc(16 * (i + 1));

		free(p);
	}
	for (size_t k = 0; k < N_KEPT; k++)
		kept[k] = malloc(16 * (i + 1));
	/* the last one made goes last: it would be temporary otherwise */
	free(malloc(1));
	for (size_t k = 0; k < N_KEPT; k++)
		free(kept[k]);
	return NULL;
}

static void *releases(void *arg)
{
	(void)arg;
	free(handed_over);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[N_THREADS], other;

	if (argc > 1)
		n_temporary = strtoul(argv[1], NULL, 10);
	pthread_barrier_init(&barrier, NULL, N_THREADS);
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(thread[i], NULL);
	handed_over = malloc(777);
	pthread_create(&other, NULL, releases, NULL);
	pthread_join(other, NULL);
	return 0;
}
