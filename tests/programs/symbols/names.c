/* Functions whose names, files and lines test_symbol.py knows; C. */
#include "marks.h"

static volatile int sink;

static inline __attribute__((always_inline)) void innermost(int n)
{
	mark("c_inlined"); /* c_inlined */
	sink += n;
}

static inline __attribute__((always_inline)) void middle(int n)
{
	innermost(n + 1); /* middle calls innermost */
	sink += n;
}

__attribute__((noinline)) void outer(int n)
{
	middle(n * 2); /* outer calls middle */
	sink += n;
}

static __attribute__((noinline)) int internal(int n)
{
	mark("c_static"); /* c_static */
	return n + sink;
}

/* A cold part in a place of its own: one function with two ranges. */
__attribute__((noinline)) int with_ranges(int n)
{
	if (__builtin_expect(n > 1000000, 0)) {
		mark("never");
		sink = n;
	}
	for (int i = 0; i < n; i++)
		sink += i;
	return sink;
}

int main(void)
{
	outer(3);
	sink += internal(4);
	mark("c_main"); /* c_main */
	return with_ranges(2) == 12345;
}
