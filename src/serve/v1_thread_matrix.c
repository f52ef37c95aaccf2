/* serve/v1_thread_matrix.c - /api/v1: which thread frees whose blocks.
 *
 * Without `top`: all pairs of threads. With `top`: what a page shows, which is what was freed of each
 * thread's blocks, and the matrices of the threads that take part in most, by number and by bytes
 * (query/thread_table.h).
 */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>

#include "query/thread_table.h"

#define MAX_THREADS 1024u
#define MAX_TOP 100u

static void put_pairs(struct json *j, const struct thread_pair *pair, size_t n)
{
	json_array(j, "releases");
	for (size_t i = 0; i < n * n; i++) {
		if (pair[i].count == 0)
			continue;
		json_object(j, NULL);
		json_u64(j, "allocated_by", i / n);
		json_u64(j, "released_by", i % n);
		json_u64(j, "count", pair[i].count);
		json_u64(j, "bytes", pair[i].n_bytes);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_freed(struct json *j, const struct thread_pair *pair, size_t n)
{
	json_array(j, "freed");
	for (size_t i = 0; i < n; i++) {
		struct thread_freed f = thread_freed_of(pair, n, i);

		if (!thread_takes_part(pair, n, i))
			continue;
		json_object(j, NULL);
		json_u64(j, "thread", i);
		json_u64(j, "count", f.all.count);
		json_u64(j, "bytes", f.all.n_bytes);
		json_u64(j, "others_count", f.by_others.count);
		json_u64(j, "others_bytes", f.by_others.n_bytes);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_table(struct json *j, const char *name, const struct thread_table *t)
{
	json_object(j, name);
	json_array(j, "lines");
	for (size_t i = 0; i < t->n; i++) {
		uint64_t total = 0;

		for (size_t k = 0; k < t->n; k++)
			total += t->cell[i * t->n + k];
		json_object(j, NULL);
		if (t->thread[i] == THREAD_TABLE_OTHERS)
			json_null(j, "thread");
		else
			json_u64(j, "thread", t->thread[i]);
		v1_json_numbers(j, "cells", &t->cell[i * t->n], t->n);
		json_u64(j, "total", total);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "max_own", t->max_own);
	json_u64(j, "max_others", t->max_others);
	json_end_object(j);
}

static int put_answer(struct request *rq, const struct thread_pair *pair, size_t n, uint64_t top,
		      struct err *err)
{
	struct thread_table by_count = {0}, by_bytes = {0};
	struct json *j = &rq->json;
	int r = 0;

	if (top)
		r = thread_table_make(pair, n, THREAD_COUNT, top, &by_count, err);
	if (top && r == 0)
		r = thread_table_make(pair, n, THREAD_BYTES, top, &by_bytes, err);
	if (r < 0)
		goto out;
	json_object(j, NULL);
	if (top) {
		put_freed(j, pair, n);
		put_table(j, "by_count", &by_count);
		put_table(j, "by_bytes", &by_bytes);
	} else {
		put_pairs(j, pair, n);
	}
	json_end_object(j);
out:
	thread_table_fini(&by_count);
	thread_table_fini(&by_bytes);
	return r;
}

int v1_thread_matrix(struct request *rq, struct err *err)
{
	struct thread_pair *pair;
	uint64_t top;
	size_t n;
	int r = request_u64(rq, "top", 0, MAX_TOP, &top, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	store_table(rq->store, STORE_THREADS, &n);
	if (n > MAX_THREADS)
		n = MAX_THREADS; /* the first ones; more cannot be looked at anyway */
	pair = calloc(n * n + 1, sizeof(*pair));
	if (!pair)
		return err_set_memory(err, n * n * sizeof(*pair));
	r = thread_pairs_count(rq->query, n, pair, err);
	if (r == 0)
		r = put_answer(rq, pair, n, top, err);
	free(pair);
	return r;
}
