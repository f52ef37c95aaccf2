/* reallocs [MILLIONS]: many strings and arrays that grow bit by bit, as in a parser's output.
 *
 * 256 buffers are appended to in turn; each grows by a realloc per append (no doubling), is cut to
 * size when it is done and starts anew. Some grow beyond the mmap threshold.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_BUFFERS = 256
};

struct buffer {
	char *bytes;
	size_t len, limit;
};

static struct buffer buffers[N_BUFFERS];
static uint32_t seed = 12345;

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void __attribute__((noinline)) buffer_append(struct buffer *b, size_t n)
{
	char *bytes = realloc(b->bytes, b->len + n);

	if (!bytes)
		abort();
	memset(bytes + b->len, 'x', n);
	b->bytes = bytes;
	b->len += n;
}

static uint64_t __attribute__((noinline)) buffer_finish(struct buffer *b)
{
	uint64_t sum;
	char *bytes = realloc(b->bytes, b->len / 2 + 1);

	if (!bytes)
		abort();
	sum = b->len + (unsigned char)bytes[b->len / 2];
	free(bytes);
	b->bytes = NULL;
	b->len = 0;
	/* One in 512 becomes large enough to be mapped and moved by mremap. */
	b->limit = next_random() % 512 ? 64 + next_random() % 2000 : 200000;
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t n = (uint64_t)((argc > 1 ? atof(argv[1]) : 4.0) * 1e6);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct buffer *b = &buffers[next_random() % N_BUFFERS];

		if (b->len > b->limit)
			sum += buffer_finish(b);
		buffer_append(b, b->limit < 100000 ? 8 + next_random() % 64 : 4000);
	}
	for (size_t i = 0; i < N_BUFFERS; i++) {
		sum += buffers[i].len;
		free(buffers[i].bytes);
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
