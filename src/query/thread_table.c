/* query/thread_table.c - see thread_table.h. */
#include "query/thread_table.h"

#include <stdlib.h>

static uint64_t value_of(const struct thread_pair *p, enum thread_measure m)
{
	return m == THREAD_BYTES ? p->n_bytes : p->count;
}

struct thread_freed thread_freed_of(const struct thread_pair *pair, size_t n_threads, size_t thread)
{
	struct thread_freed f = {0};

	for (size_t by = 0; by < n_threads; by++) {
		const struct thread_pair *p = &pair[thread * n_threads + by];

		f.all.count += p->count;
		f.all.n_bytes += p->n_bytes;
		if (by != thread) {
			f.by_others.count += p->count;
			f.by_others.n_bytes += p->n_bytes;
		}
	}
	return f;
}

bool thread_takes_part(const struct thread_pair *pair, size_t n_threads, size_t thread)
{
	for (size_t i = 0; i < n_threads; i++) {
		if (pair[thread * n_threads + i].count || pair[i * n_threads + thread].count)
			return true;
	}
	return false;
}

struct weight {
	uint64_t value;
	uint32_t thread;
};

static int compare_weights(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int compare_threads(const void *a, const void *b)
{
	uint32_t x = ((const struct weight *)a)->thread, y = ((const struct weight *)b)->thread;

	return x < y ? -1 : x > y;
}

/* The threads that take part, most first. Returns how many. */
static size_t weigh(const struct thread_pair *pair, size_t n_threads, enum thread_measure m,
		    struct weight *ret)
{
	size_t n = 0;

	for (size_t t = 0; t < n_threads; t++) {
		uint64_t value = 0;

		if (!thread_takes_part(pair, n_threads, t))
			continue;
		for (size_t i = 0; i < n_threads; i++)
			value += value_of(&pair[t * n_threads + i], m) +
				 value_of(&pair[i * n_threads + t], m);
		ret[n++] = (struct weight){value, (uint32_t)t};
	}
	qsort(ret, n, sizeof(*ret), compare_weights);
	return n;
}

static void fill_cells(const struct thread_pair *pair, size_t n_threads, const uint32_t *place,
		       enum thread_measure m, struct thread_table *t)
{
	for (size_t a = 0; a < n_threads; a++) {
		for (size_t f = 0; f < n_threads; f++) {
			uint64_t value = value_of(&pair[a * n_threads + f], m);

			if (value) /* else one of the two may have no place */
				t->cell[place[a] * t->n + place[f]] += value;
		}
	}
	for (size_t i = 0; i < t->n * t->n; i++) {
		bool is_own = i / t->n == i % t->n && t->thread[i / t->n] != THREAD_TABLE_OTHERS;
		uint64_t *most = is_own ? &t->max_own : &t->max_others;

		*most = t->cell[i] > *most ? t->cell[i] : *most;
	}
}

int thread_table_make(const struct thread_pair *pair, size_t n_threads, enum thread_measure m,
		      size_t top, struct thread_table *ret, struct err *err)
{
	struct weight *weight = calloc(n_threads + 1, sizeof(*weight));
	uint32_t *place = calloc(n_threads + 1, sizeof(*place)); /* by thread: its line */
	struct thread_table t = {0};
	size_t n_all = weight ? weigh(pair, n_threads, m, weight) : 0;
	size_t n_kept = n_all < top ? n_all : top;
	int r = 0;

	t.n = n_kept + (n_all > n_kept);
	t.thread = calloc(t.n + 1, sizeof(*t.thread));
	t.cell = calloc(t.n * t.n + 1, sizeof(*t.cell));
	if (!weight || !place || !t.thread || !t.cell) {
		r = err_set_memory(err, t.n * t.n * sizeof(*t.cell));
		goto out;
	}
	qsort(weight, n_kept, sizeof(*weight), compare_threads);
	for (size_t i = n_kept; i < n_all; i++)
		place[weight[i].thread] = (uint32_t)n_kept;
	for (size_t i = 0; i < n_kept; i++) {
		t.thread[i] = weight[i].thread;
		place[weight[i].thread] = (uint32_t)i;
	}
	if (n_all > n_kept)
		t.thread[n_kept] = THREAD_TABLE_OTHERS;
	fill_cells(pair, n_threads, place, m, &t);
	*ret = t;
	t = (struct thread_table){0};
out:
	thread_table_fini(&t);
	free(weight);
	free(place);
	return r;
}

void thread_table_fini(struct thread_table *t)
{
	free(t->thread);
	free(t->cell);
	*t = (struct thread_table){0};
}
