/* factor [LIMIT]: factors every number below LIMIT, each factor in a block of its own.
 *
 * A recursive divider with lists of 16-byte nodes, as such programs are written; some factorisations
 * are kept until the end of their window, so blocks of several ages lie between one another. Eleven
 * million blocks for the default limit.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	WINDOW = 512
};

struct factor {
	struct factor *next;
	uint32_t prime;
};

static uint32_t *smallest; /* smallest prime factor of each number */

static void sieve(uint32_t limit)
{
	smallest = calloc(limit, sizeof(*smallest));
	if (!smallest)
		abort();
	for (uint32_t p = 2; p < limit; p++) {
		if (smallest[p])
			continue;
		for (uint32_t n = p; n < limit; n += p) {
			if (!smallest[n])
				smallest[n] = p;
		}
	}
}

/* A call per prime factor: stacks of 2 to 22 frames. */
__attribute__((noinline)) static struct factor *factors_of(uint32_t n)
{
	struct factor *f;

	if (n < 2)
		return NULL;
	f = malloc(sizeof(*f));
	if (!f)
		abort();
	f->prime = smallest[n];
	f->next = factors_of(n / smallest[n]);
	return f;
}

__attribute__((noinline)) static uint64_t multiply_and_free(struct factor *f)
{
	uint64_t product = 1;

	while (f) {
		struct factor *next = f->next;

		product *= f->prime;
		free(f);
		f = next;
	}
	return product;
}

int main(int argc, char **argv)
{
	uint32_t limit = argc > 1 ? (uint32_t)atoi(argv[1]) : 3000000;
	static struct factor *kept[WINDOW];
	uint64_t sum = 0;

	sieve(limit);
	for (uint32_t n = 2; n < limit; n++) {
		struct factor *f = factors_of(n);

		if (n % 8) {
			sum += multiply_and_free(f);
		} else {
			sum += multiply_and_free(kept[n / 8 % WINDOW]);
			kept[n / 8 % WINDOW] = f;
		}
	}
	for (size_t i = 0; i < WINDOW; i++)
		sum += multiply_and_free(kept[i]);
	printf("%llu\n", (unsigned long long)sum);
	free(smallest);
	return 0;
}
