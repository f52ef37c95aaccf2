/* A library whose only function is called by known_plugin.c. Built twice, with another name of the
 * inner function: a library that is replaced after the recording must not give its names. */
#include <stdlib.h>

#ifndef INNER
#define INNER inner_as_recorded
#endif

static void *volatile sink;

static __attribute__((noinline)) void INNER(size_t size)
{
	sink = malloc(size);
	__asm__ volatile("" ::: "memory");
}

__attribute__((visibility("default"))) void known_lib_call(void);

void known_lib_call(void)
{
	INNER(3000);
	__asm__ volatile("" ::: "memory");
}
