/* steady ALLOCATIONS_PER_S SECONDS - allocates and frees at an even rate, as a server under load does.
 *
 * Keeps the newest 4096 blocks alive. Prints how many allocations there were in how many seconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_HELD 4096u
#define PER_STEP 1000u

static void *held[N_HELD];
static volatile unsigned depth_used; /* keeps the calls from becoming jumps */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void *allocate(size_t size, unsigned depth)
{
	void *p = depth ? allocate(size, depth - 1) : malloc(size);

	depth_used = depth;
	return p;
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? atof(argv[1]) : 1e6, seconds = argc > 2 ? atof(argv[2]) : 10;
	double start = now_s();
	uint64_t n = 0;

	while (now_s() - start < seconds) {
		double ahead;

		for (unsigned i = 0; i < PER_STEP; i++, n++) {
			free(held[n % N_HELD]);
			held[n % N_HELD] = allocate(16 + n * 7 % 500, (unsigned)(n % 29));
		}
		ahead = (double)n / rate - (now_s() - start);
		if (ahead > 0.001)
			nanosleep(&(struct timespec){.tv_nsec = (long)(ahead * 1e9) % 1000000000},
				  NULL);
	}
	printf("%llu allocations in %.1f s\n", (unsigned long long)n, now_s() - start);
	return 0;
}
