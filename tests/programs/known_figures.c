/* Allocates in a way that every figure of a report is known from this source. Prints nothing and
 * calls nothing that allocates by itself. tests/e2e/test_report.py holds the sums. */
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static void *volatile sink; /* what is stored here is really made */

/* The last call is no tail call: the function stays in the stack. */
#define STAY() __asm__ volatile("" ::: "memory")

static NOINLINE void *allocate_base(size_t size)
{
	void *p = malloc(size);

	STAY();
	return p;
}

static NOINLINE void make_temporary(void)
{
	sink = malloc(64);
	free(sink);
	STAY();
}

static NOINLINE void *pair_first(void)
{
	void *p = malloc(32);

	STAY();
	return p;
}

static NOINLINE void *pair_second(void)
{
	void *p = calloc(3, 16);

	STAY();
	return p;
}

/* The first of the two is not temporary, the second one is. */
static NOINLINE void make_pair(void)
{
	void *a = pair_first();
	void *b = pair_second();

	free(a);
	free(b);
	STAY();
}

/* Four rows, each released before the next allocation. */
static NOINLINE void make_chain(void)
{
	char *p = malloc(10);

	for (size_t size = 20; size <= 80; size *= 2) {
		sink = p;
		p = realloc(p, size);
	}
	sink = p;
	free(p);
	STAY();
}

static NOINLINE void *burst_block(void)
{
	void *p = malloc(4096);

	STAY();
	return p;
}

static NOINLINE void *burst_top(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 100000) != 0)
		abort();
	STAY();
	return p;
}

/* Reaches the peak twice; the first time counts. */
static NOINLINE void make_burst(void)
{
	void *block[5];

	for (int i = 0; i < 5; i++)
		block[i] = burst_block();
	for (int i = 0; i < 2; i++) {
		sink = burst_top();
		free(sink);
	}
	for (int i = 0; i < 5; i++)
		free(block[i]);
	STAY();
}

static NOINLINE void leak_small(void)
{
	for (int i = 0; i < 7; i++)
		sink = malloc(24);
	STAY();
}

static NOINLINE void leak_zero(void)
{
	sink = malloc(0);
	STAY();
}

static NOINLINE void leak_chain(void)
{
	sink = malloc(5);
	sink = realloc(sink, 50);
	STAY();
}

int main(void)
{
	void *base[10];

	for (int i = 0; i < 10; i++)
		base[i] = allocate_base(1000);
	for (int i = 0; i < 50; i++)
		make_temporary();
	for (int i = 0; i < 20; i++)
		make_pair();
	for (int i = 0; i < 3; i++)
		make_chain();
	make_burst();
	leak_small();
	leak_zero();
	leak_chain();
	for (int i = 0; i < 10; i++)
		free(base[i]);
	return 0;
}
