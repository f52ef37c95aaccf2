/* programs/stacks/stack_swap.c - loads two libraries in turn, so that they share their addresses.
 *
 * usage: stack_swap ONE TWO [hidden|threads]
 * Prints how many times the second came to lie where the first had been. hidden: unloads them by
 * libc's own dlclose, past any library that was put before it. threads: two threads at once, each
 * with one of them, so that one is loaded while the other is being unloaded.
 */
#define _GNU_SOURCE
#include "mark.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 30
#define THREAD_ROUNDS 300
#define MAX_TRIES 20

typedef void (*swap_call)(size_t size);

static int (*closes)(void *lib) = dlclose;

SEPARATE static void calls_library(swap_call fn, size_t size)
{
	fn(size);
	STAY();
}

SEPARATE static void *opens(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib)
		puts(dlerror());
	return lib;
}

SEPARATE static unsigned long uses(const char *path, size_t size)
{
	void *lib = opens(path);
	unsigned long base;

	if (!lib)
		return 0;
	base = ((struct link_map *)lib)->l_addr;
	calls_library((swap_call)dlsym(lib, "swap_call"), size);
	closes(lib);
	return base;
}

static unsigned long bases[2][THREAD_ROUNDS];

SEPARATE static void *swaps_one(void *path)
{
	for (int i = 0; i < THREAD_ROUNDS; i++)
		bases[0][i] = uses(path, 4003);
	return NULL;
}

SEPARATE static void *swaps_two(void *path)
{
	for (int i = 0; i < THREAD_ROUNDS; i++)
		bases[1][i] = uses(path, 4004);
	return NULL;
}

/* Counts the places at which both have been. */
static int swap_in_threads(char **paths)
{
	pthread_t one;
	pthread_t two;
	int n_shared = 0;

	pthread_create(&one, NULL, swaps_one, paths[0]);
	pthread_create(&two, NULL, swaps_two, paths[1]);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	for (int i = 0; i < THREAD_ROUNDS; i++) {
		int k = 0;

		while (k < THREAD_ROUNDS && bases[1][k] != bases[0][i])
			k++;
		n_shared += k < THREAD_ROUNDS;
	}
	printf("%d of %d\n", n_shared, THREAD_ROUNDS);
	return n_shared;
}

/* Two threads may get into step, so that each keeps a place of its own: then they begin again. */
static int run_threads(char **paths)
{
	int n_tries = 0;

	while (n_tries++ < MAX_TRIES) {
		if (swap_in_threads(paths) > 0)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	int n_same = 0;

	if (argc < 3)
		return 2;
	if (argc > 3 && !strcmp(argv[3], "threads"))
		return run_threads(argv + 1);
	if (argc > 3)
		closes = (int (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
	for (int i = 0; i < ROUNDS; i++)
		n_same += uses(argv[1], 4001) == uses(argv[2], 4002);
	printf("%d of %d\n", n_same, ROUNDS);
	return n_same == 0;
}
