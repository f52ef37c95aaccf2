/* linked_allocator ROUNDS - eight threads use an allocator that is linked in, and count what they do.
 *
 * -DPREFIX=_rjem_ says how the allocator's functions are named; -DHAS_X=1 that it has jemalloc's
 * mallocx() and the like. Prints: allocations, reallocations, frees, bytes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PREFIX
#define PREFIX
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)

void *F(malloc)(size_t size);
void *F(calloc)(size_t n, size_t size);
void *F(realloc)(void *block, size_t size);
void F(free)(void *block);
int F(posix_memalign)(void **ret, size_t alignment, size_t size);
void *F(memalign)(size_t alignment, size_t size);
void *F(valloc)(size_t size);
#if HAS_X
void *F(mallocx)(size_t size, int flags);
void *F(rallocx)(void *block, size_t size, int flags);
void F(dallocx)(void *block, int flags);
void F(sdallocx)(void *block, size_t size, int flags);
#endif

#define N_THREADS 8
#define N_BLOCKS 128

struct counts {
	uint64_t allocations, reallocations, frees, bytes;
};

struct worker {
	pthread_t thread;
	unsigned seed;
	unsigned n_rounds;
	struct counts done;
	struct {
		unsigned char *block;
		size_t size;
		unsigned how; /* it was allocated */
	} kept[N_BLOCKS];
};

/* A block that is damaged by others shows it. */
static void fill(unsigned char *block, size_t size)
{
	if (!block)
		abort();
	memset(block, (int)(size & 0xff), size);
}

static void check(const unsigned char *block, size_t size)
{
	if (size && (block[0] != (size & 0xff) || block[size - 1] != (size & 0xff)))
		abort();
}

static void *get(unsigned how, size_t size)
{
	void *block = NULL;

	switch (how % 7) {
	case 0:
		return F(calloc)(1, size);
	case 1:
		return F(posix_memalign)(&block, 256, size) ? NULL : block;
	case 2:
		return F(memalign)(64, size);
	case 3:
		return how % 5 ? F(malloc)(size) : F(valloc)(size);
	case 4:
		return F(realloc)(NULL, size);
#if HAS_X
	case 5:
		return F(mallocx)(size, how % 2 ? 6 | 64 : 0);
#endif
	default:
		return F(malloc)(size);
	}
}

/* sdallocx() wants to know the alignment, which blocks of malloc() do not have. */
static void put(unsigned how, unsigned how_gotten, void *block, size_t size)
{
	(void)how;
	(void)how_gotten;
	(void)size;
#if HAS_X
	if (how % 3 == 0)
		F(dallocx)(block, 0);
	else if (how_gotten % 7 == 6)
		F(sdallocx)(block, size, 0);
	else
#endif
		F(free)(block);
}

static void *again(unsigned how, void *block, size_t size)
{
	(void)how;
#if HAS_X
	if (how % 2)
		return F(rallocx)(block, size, 0);
#endif
	return F(realloc)(block, size);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; i < w->n_rounds; i++) {
		unsigned how = (unsigned)rand_r(&w->seed), k = how / 8 % N_BLOCKS;
		size_t size = (size_t)rand_r(&w->seed) % (i % 50 ? 600 : 200000) + 1;

		if (!w->kept[k].block) {
			w->kept[k].block = get(how, size);
			w->kept[k].how = how;
			w->done.allocations++;
			w->done.bytes += size;
		} else if (i % 4 == 0) {
			check(w->kept[k].block, w->kept[k].size);
			w->kept[k].block = again(how, w->kept[k].block, size);
			w->done.reallocations++;
			w->done.bytes += size;
		} else {
			check(w->kept[k].block, w->kept[k].size);
			put(how, w->kept[k].how, w->kept[k].block, w->kept[k].size);
			w->done.frees++;
			w->kept[k].block = NULL;
			continue;
		}
		w->kept[k].size = size;
		fill(w->kept[k].block, size);
	}
	for (unsigned k = 0; k < N_BLOCKS; k++) {
		F(free)(w->kept[k].block); /* free(NULL) counts for nothing */
		w->done.frees += w->kept[k].block != NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[N_THREADS];
	struct counts sum = {0};

	for (unsigned i = 0; i < N_THREADS; i++) {
		worker[i].seed = i + 1;
		worker[i].n_rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			return 1;
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		sum.allocations += worker[i].done.allocations;
		sum.reallocations += worker[i].done.reallocations;
		sum.frees += worker[i].done.frees;
		sum.bytes += worker[i].done.bytes;
	}
	printf("%llu %llu %llu %llu\n", (unsigned long long)sum.allocations,
	       (unsigned long long)sum.reallocations, (unsigned long long)sum.frees,
	       (unsigned long long)sum.bytes);
	return 9;
}
