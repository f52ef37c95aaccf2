/* deep_stack DEPTH [MILLIONS]: short-lived blocks from DEPTH frames below main.
 *
 * Not one call site in a loop: each round returns a few frames (at times most of them), goes down
 * again another way, allocates four blocks at the bottom and frees the four oldest. DEPTH 1 has
 * main alone on the stack: what a call costs when there is nothing to unwind.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	N_KEPT = 64
};

static char *kept[N_KEPT];
static unsigned at;
static uint64_t rounds_left;
static uint64_t seed = 88172645463325252u;
static uint64_t sum;
static unsigned way; /* which of 16 ways down is taken; another one after each long return */

static unsigned next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 32);
}

static inline __attribute__((always_inline)) void work(void)
{
	for (int i = 0; i < 4; i++) {
		free(kept[at]);
		kept[at] = malloc(16 + next_random() % 112);
		if (!kept[at])
			abort();
		kept[at][0] = (char)i;
		sum += (unsigned char)kept[at][0];
		at = (at + 1) % N_KEPT;
	}
}

/* Frames to leave now: mostly one or two, one round in 64 half of them. */
static int frames_to_leave(int depth)
{
	unsigned r = next_random();

	if (r % 64 == 0) {
		way = r / 64 % 16;
		return depth / 2 + 1;
	}
	return 1 + (int)(r / 64 % 4);
}

static int descend(int depth, int left);

__attribute__((noinline)) static int descend_odd(int depth, int left)
{
	volatile char pad[32];
	int leave;

	pad[0] = (char)left;
	leave = descend(depth, left);
	return leave + (pad[0] & 0);
}

/* Returns how many more frames its caller is to leave. */
__attribute__((noinline)) static int descend(int depth, int left)
{
	while (rounds_left) {
		int leave;

		if (left == 0) {
			work();
			rounds_left--;
			leave = frames_to_leave(depth);
		} else if (left > 1 && (unsigned)left * (2 * way + 1) % 16 < 6) {
			leave = descend_odd(depth, left - 2);
			leave -= leave > 0;
		} else {
			leave = descend(depth, left - 1);
		}
		if (leave > 0 && left < depth)
			return leave - 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 100;

	rounds_left = (uint64_t)((argc > 2 ? atof(argv[2]) : 4.0) * 1e6 / 8);
	if (depth > 1) {
		descend(depth - 2, depth - 2);
	} else {
		for (; rounds_left; rounds_left--)
			work();
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
