/* util/scratch.c - see scratch.h. */
#include "util/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/huge_pages.h"
#include "util/memory_budget.h"

#define HEAD_BYTES 64u
#define SMALL_BYTES ((size_t)256 << 10) /* below, malloc() does not go to the system */
#define MAX_KEPT 32u
#define LARGER 2u /* a kept one may be so many times as large as what is asked for */

/* In front of the data. */
struct head {
	size_t n_bytes; /* of the data that follows */
};

/* The kept ones, oldest first. */
static struct {
	pthread_mutex_t lock; /* guards the rest */
	struct head *kept[MAX_KEPT];
	size_t n, n_bytes;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct head *remove_kept(size_t i)
{
	struct head *h = pool.kept[i];

	pool.n--;
	pool.n_bytes -= h->n_bytes;
	memmove(&pool.kept[i], &pool.kept[i + 1], (pool.n - i) * sizeof(pool.kept[0]));
	return h;
}

/* The smallest one that is large enough. NULL: none is kept. */
static struct head *find_kept(size_t n_bytes)
{
	struct head *found = NULL;
	size_t best = MAX_KEPT;

	pthread_mutex_lock(&pool.lock);
	for (size_t i = 0; i < pool.n; i++) {
		size_t has = pool.kept[i]->n_bytes;

		if (has >= n_bytes && has / LARGER <= n_bytes &&
		    (best == MAX_KEPT || has < pool.kept[best]->n_bytes))
			best = i;
	}
	if (best < MAX_KEPT)
		found = remove_kept(best);
	pthread_mutex_unlock(&pool.lock);
	return found;
}

void *scratch_take(size_t n_bytes)
{
	struct head *h = n_bytes >= SMALL_BYTES ? find_kept(n_bytes) : NULL;

	if (h) {
		memset((char *)h + HEAD_BYTES, 0, n_bytes);
		return (char *)h + HEAD_BYTES;
	}
	n_bytes = align_up(n_bytes, HEAD_BYTES);
	h = aligned_alloc(HEAD_BYTES, HEAD_BYTES + n_bytes);
	if (!h)
		return NULL;
	huge_pages_advise(h, HEAD_BYTES + n_bytes);
	memset(h, 0, HEAD_BYTES + n_bytes);
	h->n_bytes = n_bytes;
	return (char *)h + HEAD_BYTES;
}

void scratch_give(void *data)
{
	size_t most = memory_budget_share(1);
	struct head *h, *dropped[MAX_KEPT];
	size_t n_dropped = 0;

	if (!data)
		return;
	h = (struct head *)(void *)((char *)data - HEAD_BYTES);
	if (h->n_bytes < SMALL_BYTES || h->n_bytes > most) {
		free(h);
		return;
	}
	pthread_mutex_lock(&pool.lock);
	while (pool.n == MAX_KEPT || pool.n_bytes + h->n_bytes > most)
		dropped[n_dropped++] = remove_kept(0);
	pool.kept[pool.n++] = h;
	pool.n_bytes += h->n_bytes;
	pthread_mutex_unlock(&pool.lock);
	for (size_t i = 0; i < n_dropped; i++)
		free(dropped[i]);
}
