/* serve/v1_functions.c - /api/v1: costs of functions, and who calls whom. */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stdlib.h>

#define N_ROWS 200u

struct ranking {
	unsigned sort; /* index of V1_FUNCTIONS_SORT */
	bool is_ascending;
};

static uint64_t rank_of(const struct query_function *f, unsigned sort)
{
	const struct query_group *g = &f->cost;
	const uint64_t value[] = {g->n_bytes,  g->leaked_bytes, g->n_leaked,   g->peak_bytes,
				  g->n_allocs, g->n_temporary,  f->self_bytes, f->self_allocs};

	return value[sort];
}

static int compare(const void *a, const void *b, void *user)
{
	const struct query_function *x = a, *y = b;
	const struct ranking *k = user;
	uint64_t n = rank_of(x, k->sort), m = rank_of(y, k->sort);

	if (n != m)
		return (n < m) == k->is_ascending ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_function(struct json *j, const char *name, const struct query_function *f)
{
	json_object(j, name);
	json_u64(j, "key", f->key);
	json_text(j, "function", f->name);
	wire_cost(j, "cost", &f->cost);
	json_u64(j, "self_bytes", f->self_bytes);
	json_u64(j, "self_allocations", f->self_allocs);
	json_end_object(j);
}

static void put_functions(struct request *rq, const char *name, const struct query_functions *f,
			  uint64_t skip, uint64_t count)
{
	json_array(&rq->json, name);
	for (uint64_t i = skip; i < f->n && i - skip < count; i++)
		put_function(&rq->json, NULL, &f->function[i]);
	json_end_array(&rq->json);
}

int v1_functions(struct request *rq, struct err *err)
{
	struct query_functions f = {0};
	struct query_group total;
	struct ranking k = {0};
	uint64_t skip, count;
	unsigned order = 1;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, UINT64_MAX, &count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &order, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", V1_FUNCTIONS_SORT, 0, &k.sort, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0) {
		query_want(rq->query, QUERY_WANT_PEAK);
		r = query_total(rq->query, &total, err);
	}
	if (r == 0)
		r = query_functions(rq->query, &f, err);
	if (r == 0) {
		k.is_ascending = order == 0;
		if (f.n)
			qsort_r(f.function, f.n, sizeof(*f.function), compare, &k);
		json_object(&rq->json, NULL);
		put_functions(rq, "functions", &f, skip, count);
		json_u64(&rq->json, "total_count", f.n);
		wire_cost(&rq->json, "total", &total);
		json_end_object(&rq->json);
	}
	query_functions_fini(&f);
	return r;
}

int v1_callers(struct request *rq, struct err *err)
{
	const char *function = url_find(&rq->url, "function");
	struct query_callers c = {0};
	int r;

	if (!function || !*function) {
		request_refuse(rq, 400, "function", function, "the full name of a function");
		return err_set(err, ERR_USAGE, "function: which one?");
	}
	r = request_query(rq, err);
	if (r < 0)
		return r;
	query_want(rq->query, QUERY_WANT_PEAK);
	r = query_callers(rq->query, function, &c, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 404, "function", function, "a name that /functions gives");
	if (r == 0) {
		json_object(&rq->json, NULL);
		put_function(&rq->json, "function", &c.function);
		put_functions(rq, "callers", &c.callers, 0, UINT64_MAX);
		put_functions(rq, "callees", &c.callees, 0, UINT64_MAX);
		json_end_object(&rq->json);
	}
	query_callers_fini(&c);
	return r;
}
