/* fibers - makecontext fibers on heap stacks allocate in turn, in two threads that swap them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define N_FIBERS 20
#define N_COMPUTE_SLOTS 200
#define STACK_BYTES (64 * 1024)

static ucontext_t scheduler, fibers[N_FIBERS];
static int done[N_FIBERS];
static unsigned long sums[N_FIBERS], sum;

static void work(int n, int depth)
{
	char *p = malloc(100 + (size_t)n * 10);

	memset(p, n, 100);
	if (depth) {
		work(n, depth - 1);
	} else {
		swapcontext(&fibers[n], &scheduler);
		free(malloc(77));
	}
	sums[n] += (unsigned char)p[50];
	free(p);
}

static void fiber_main(int n)
{
	for (int i = 0; i < N_COMPUTE_SLOTS; i++)
		work(n, n);
	done[n] = 1;
	swapcontext(&fibers[n], &scheduler);
}

static void *schedule(void *arg)
{
	int turns = *(int *)arg;

	for (int turn = 0; turn < turns; turn++)
		for (int i = 0; i < N_FIBERS; i++)
			if (!done[i])
				swapcontext(&scheduler, &fibers[i]);
	return NULL;
}

int main(void)
{
	int half = N_COMPUTE_SLOTS / 2, rest = N_COMPUTE_SLOTS;
	pthread_t t;

	for (int i = 0; i < N_FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = malloc(STACK_BYTES);
		fibers[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&fibers[i], (void (*)(void))fiber_main, 1, i);
	}
	/* The same fibers go on in another thread. */
	schedule(&half);
	pthread_create(&t, NULL, schedule, &rest);
	pthread_join(t, NULL);
	for (int i = 0; i < N_FIBERS; i++) {
		sum += sums[i];
		free(fibers[i].uc_stack.ss_sp);
	}
	printf("%lu\n", sum);
	return 0;
}
