/* programs/stacks/mark.h - allocations whose stacks tests/e2e/test_stacks.py knows.
 *
 * Each test has sizes of its own, which no library uses by chance; the caller's chain for a size
 * is written down in the test.
 */
#ifndef STACKS_MARK_H
#define STACKS_MARK_H

#include <stdlib.h>

/* In its caller's frame: allocates and frees, and is not the last thing that the caller does. */
#define MARK(size)                                                                                 \
	do {                                                                                       \
		void *volatile marked = malloc(size);                                              \
		free(marked);                                                                      \
		__asm__ volatile("");                                                              \
	} while (0)

/* A local array that the compiler must keep. */
#define KEEP(array) __asm__ volatile("" : : "r"(array) : "memory")

/* The calls above it are real ones, not in tail position. */
#define STAY() __asm__ volatile("")

#if defined(__clang__)
#define SEPARATE __attribute__((noinline, optnone))
#else
#define SEPARATE __attribute__((noipa))
#endif

#endif
