/* drive ROUNDS - four threads use an allocator with the prefix PREFIX, and count what they do.
 *
 * -DIS_SNMALLOC=1: its functions for Rust. Prints: allocations, reallocations, frees, bytes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)

#if IS_SNMALLOC
void *sn_rust_alloc(size_t alignment, size_t size);
void *sn_rust_alloc_zeroed(size_t alignment, size_t size);
void *sn_rust_realloc(void *block, size_t alignment, size_t old, size_t size);
void sn_rust_dealloc(void *block, size_t alignment, size_t size);
#define GET(size) sn_rust_alloc(8, size)
#define GET_ZERO(size) sn_rust_alloc_zeroed(8, size)
#define GET_ALIGNED(size) sn_rust_alloc(64, size)
#define AGAIN(block, old, size) sn_rust_realloc(block, 8, old, size)
#define PUT(block, size) sn_rust_dealloc(block, 8, size)
#define PUT_ALIGNED(block, size) sn_rust_dealloc(block, 64, size)
#else
void *F(malloc)(size_t size);
void *F(calloc)(size_t n, size_t size);
void *F(realloc)(void *block, size_t size);
void *F(memalign)(size_t alignment, size_t size);
void F(free)(void *block);
#define GET(size) F(malloc)(size)
#define GET_ZERO(size) F(calloc)(1, size)
#define GET_ALIGNED(size) F(memalign)(64, size)
#define AGAIN(block, old, size) F(realloc)(block, size)
#define PUT(block, size) F(free)(block)
#define PUT_ALIGNED(block, size) F(free)(block)
#endif

static unsigned n_rounds;

struct worker {
	pthread_t thread;
	uint64_t n_allocations, n_reallocations, n_frees, n_bytes;
};

/* A block that is damaged by others shows it. */
static unsigned char *fill(struct worker *w, unsigned char *block, size_t size)
{
	if (!block)
		abort();
	memset(block, (int)(size & 0xff), size);
	w->n_bytes += size;
	return block;
}

static void check(const unsigned char *block, size_t size)
{
	if (block[0] != (size & 0xff) || block[size - 1] != (size & 0xff))
		abort();
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; i < n_rounds; i++) {
		size_t size = i * 7919 % (i % 40 ? 900 : 150000) + 1, more = size * 2 + 1;
		unsigned char *a = fill(w, GET(size), size);
		unsigned char *b = fill(w, GET_ZERO(size), size);
		unsigned char *c = fill(w, GET_ALIGNED(size), size);

		check(a, size);
		a = fill(w, AGAIN(a, size, more), more);
		check(b, size);
		check(c, size);
		PUT(b, size);
		PUT_ALIGNED(c, size);
		check(a, more);
		PUT(a, more);
		w->n_allocations += 3;
		w->n_reallocations++;
		w->n_frees += 3;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[4];

	n_rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	for (unsigned i = 0; i < 4; i++) {
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			return 1;
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(worker[i].thread, NULL);
		if (i == 0)
			continue;
		worker[0].n_allocations += worker[i].n_allocations;
		worker[0].n_reallocations += worker[i].n_reallocations;
		worker[0].n_frees += worker[i].n_frees;
		worker[0].n_bytes += worker[i].n_bytes;
	}
	printf("%lu %lu %lu %lu\n", worker[0].n_allocations, worker[0].n_reallocations,
	       worker[0].n_frees, worker[0].n_bytes);
	return 9;
}
