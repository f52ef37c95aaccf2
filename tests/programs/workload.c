/* workload ROUNDS [THREADS] [FILE] - a fixed amount of work, a digest of it, exit status 7.
 *
 * What it prints (and writes to FILE) depends on the contents of its blocks only, so it is the same
 * wherever it runs, unless somebody disturbed it. Makes about 3 * ROUNDS * THREADS calls.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_HELD 256
#define MAX_THREADS 16

struct block {
	size_t size;
	unsigned char *bytes;
};

static unsigned long n_rounds;

static uint64_t digest_block(uint64_t digest, const struct block *b)
{
	for (size_t i = 0; i < b->size; i += 1 + b->size / 8)
		digest = (digest ^ b->bytes[i]) * 0x100000001b3ull;
	return digest;
}

static void *work(void *arg)
{
	uint64_t *digest = arg;
	struct block held[N_HELD] = {0};
	uint32_t r = 12345;

	for (unsigned long round = 0; round < n_rounds; round++) {
		struct block *b = &held[round % N_HELD];
		unsigned char *bytes;
		size_t size;

		r = r * 1664525 + 1013904223;
		size = 1 + (r >> 16) % 700;
		*digest = digest_block(*digest, b);
		bytes = round % 3 ? malloc(size) : realloc(b->bytes, size);
		if (!bytes)
			abort();
		if (round % 3)
			free(b->bytes);
		memset(bytes, (int)(r >> 8), size);
		b->bytes = bytes;
		b->size = size;
	}
	for (unsigned i = 0; i < N_HELD; i++) {
		*digest = digest_block(*digest, &held[i]);
		free(held[i].bytes);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	uint64_t digests[MAX_THREADS] = {0}, digest = 0;
	pthread_t threads[MAX_THREADS];
	FILE *f;

	n_rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	for (unsigned i = 0; n_threads > 1 && i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, work, &digests[i]))
			return 1;
	if (n_threads == 1)
		work(&digests[0]);
	for (unsigned i = 0; i < n_threads; i++) {
		if (n_threads > 1)
			pthread_join(threads[i], NULL);
		digest += digests[i];
	}
	printf("digest %016llx\n", (unsigned long long)digest);
	if (argc > 3) {
		f = fopen(argv[3], "w");
		if (!f || fprintf(f, "%016llx\n", (unsigned long long)digest) < 0 || fclose(f))
			return 1;
	}
	return 7;
}
