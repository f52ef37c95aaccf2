/* programs/stacks/stack_swap.c - loads two libraries in turn, so that they share their addresses.
 *
 * usage: stack_swap ONE TWO [hidden]
 * Prints how many times the second came to lie where the first had been. hidden: unloads them by
 * libc's own dlclose, past any library that was put before it.
 */
#define _GNU_SOURCE
#include "mark.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>

#define ROUNDS 30

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

int main(int argc, char **argv)
{
	int n_same = 0;

	if (argc < 3)
		return 2;
	if (argc > 3)
		closes = (int (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
	for (int i = 0; i < ROUNDS; i++)
		n_same += uses(argv[1], 4001) == uses(argv[2], 4002);
	printf("%d of %d\n", n_same, ROUNDS);
	return n_same == 0;
}
