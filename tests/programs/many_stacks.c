/* Allocates from as many different call stacks as argv[1] says (100000 when not given).
 *
 * A number, its digits in base 4 from the outside to the inside, is a path through four functions
 * that call each other; every path ends with one allocation, half of which are released.
 */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define N_WAYS 4
#define MAX_DEPTH 16

typedef void (*way)(unsigned long path, unsigned depth);

static void *volatile sink;
static way ways[N_WAYS];

static NOINLINE void allocate(unsigned long path)
{
	sink = malloc(16 + path % 1000);
	if (path % 2)
		free(sink);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static inline void go_on(unsigned long path, unsigned depth)
{
	if (depth == 0)
		allocate(path);
	else
		ways[path >> 2 * (depth - 1) & 3](path, depth - 1);
	__asm__ volatile("" ::: "memory");
}

#define WAY(name)                                                                                  \
	static NOINLINE void name(unsigned long path, unsigned depth)                              \
	{                                                                                          \
		go_on(path, depth);                                                                \
	}

WAY(north)
WAY(east)
WAY(south)
WAY(west)

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	unsigned depth = 1;

	ways[0] = north;
	ways[1] = east;
	ways[2] = south;
	ways[3] = west;
	while (depth < MAX_DEPTH && 1ul << 2 * depth < n)
		depth++;
	for (unsigned long path = 0; path < n; path++)
		go_on(path, depth);
	return 0;
}
