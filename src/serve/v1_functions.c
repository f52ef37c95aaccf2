/* serve/v1_functions.c - /api/v1: costs of functions, who calls whom, and names by a part of them. */
#include "query/by_function.h"
#include "serve/comparison.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>
#include <string.h>

#define N_ROWS 200u
#define N_FOUND 20u

struct ranking {
	unsigned sort; /* index of V1_FUNCTIONS_SORT */
	bool is_ascending;
};

static uint64_t rank_of(const struct query_function *f, unsigned sort)
{
	const struct query_group *g = &f->cost;
	const uint64_t value[] = {g->n_bytes,
				  g->leaked_bytes,
				  g->n_leaked,
				  g->peak_bytes,
				  g->n_allocs,
				  g->n_temporary,
				  f->self[QUERY_MAIN_BYTES],
				  f->self[QUERY_MAIN_ALLOCS],
				  f->self[QUERY_MAIN_LEAKED],
				  f->self[QUERY_MAIN_PEAK],
				  f->self[QUERY_MAIN_TEMPORARY]};

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

static void put_function(struct request *rq, const char *name, const struct query_function *f)
{
	struct json *j = &rq->json;

	json_object(j, name);
	json_u64(j, "key", f->key);
	json_text(j, "function", f->name);
	v1_json_frame_text(rq, "frame", f->frame);
	v1_json_cost(j, "cost", &f->cost);
	v1_json_self(j, f->self);
	json_end_object(j);
}

static void put_functions(struct request *rq, const char *name, const struct query_functions *f,
			  uint64_t skip, uint64_t count)
{
	json_array(&rq->json, name);
	for (uint64_t i = skip; i < f->n && i - skip < count && !request_is_over(rq); i++)
		put_function(rq, NULL, &f->function[i]);
	json_end_array(&rq->json);
}

/* An ERR_USAGE of the query about one of the texts. */
int v1_functions_refuse(struct request *rq, int r, const struct err *err)
{
	static const char *const parameter[] = {"q", "module_q", "source_q"};

	for (size_t i = 0; r == -ERR_USAGE && i < ARRAY_LEN(parameter); i++) {
		size_t len = strlen(parameter[i]);

		if (strncmp(err->text, parameter[i], len) == 0 && err->text[len] == ':')
			request_refuse(rq, 400, parameter[i], url_find(&rq->url, parameter[i]),
				       "a text in UTF-8");
	}
	return r;
}

int v1_functions_match(struct request *rq, struct query_function_match *ret, struct err *err)
{
	*ret = (struct query_function_match){
		.name = url_find(&rq->url, "q"),
		.module = url_find(&rq->url, "module_q"),
		.source = url_find(&rq->url, "source_q"),
	};
	return request_flag(rq, "own", false, &ret->own_only, err);
}

int v1_functions(struct request *rq, struct err *err)
{
	struct query_function_match match;
	struct query_functions f = {0};
	struct query_group total;
	struct ranking k = {0};
	uint64_t skip, count;
	unsigned order = 1;
	int r;

	if (request_is_comparison(rq))
		return comparison_functions(rq, err);
	r = v1_functions_match(rq, &match, err);
	if (r == 0)
		r = request_u64(rq, "skip", 0, UINT64_MAX, &skip, err);
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
		r = v1_functions_refuse(rq, query_functions(rq->query, &match, &f, err), err);
	if (r == 0) {
		k.is_ascending = order == 0;
		if (f.n)
			qsort_r(f.function, f.n, sizeof(*f.function), compare, &k);
		json_object(&rq->json, NULL);
		put_functions(rq, "functions", &f, skip, count);
		json_u64(&rq->json, "total_count", f.n);
		v1_json_cost(&rq->json, "total", &total);
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
	if (request_is_comparison(rq))
		return comparison_callers(rq, err);
	r = request_query(rq, err);
	if (r < 0)
		return r;
	query_want(rq->query, QUERY_WANT_PEAK);
	r = query_callers(rq->query, function, &c, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 404, "function", function, "a name that /functions gives");
	if (r == 0) {
		json_object(&rq->json, NULL);
		put_function(rq, "function", &c.function);
		put_functions(rq, "callers", &c.callers, 0, UINT64_MAX);
		put_functions(rq, "callees", &c.callees, 0, UINT64_MAX);
		v1_json_lines(&rq->json, "lines", &c.lines, true);
		json_end_object(&rq->json);
	}
	query_callers_fini(&c);
	return r;
}

/* ---- search ---- */

/* text: what the text is called; NULL: the frame shows it. */
static void put_found(struct request *rq, const char *name, const char *text,
		      const struct query_found_list *l, uint64_t count)
{
	struct json *j = &rq->json;

	json_array(j, name);
	for (uint64_t i = 0; i < l->n && i < count && !request_is_over(rq); i++) {
		json_object(j, NULL);
		if (text)
			json_text(j, text, l->item[i].text);
		else
			v1_json_frame_text(rq, "frame", l->item[i].frame);
		v1_json_cost(j, "cost", &l->item[i].cost);
		json_end_object(j);
	}
	json_end_array(j);
}

int v1_search(struct request *rq, struct err *err)
{
	const char *text = url_find(&rq->url, "q");
	struct query_search s = {0};
	struct json *j = &rq->json;
	uint64_t count;
	bool own_only;
	int r = request_u64(rq, "count", N_FOUND, UINT64_MAX, &count, err);

	if (r == 0)
		r = request_flag(rq, "own", false, &own_only, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r == 0) {
		query_want(rq->query, QUERY_WANT_PEAK);
		r = v1_functions_refuse(
			rq, query_search(rq->query, text ? text : "", own_only, &s, err), err);
	}
	if (r < 0)
		return r;
	json_object(j, NULL);
	put_found(rq, "functions", NULL, &s.functions, count);
	put_found(rq, "files", "source", &s.files, count);
	put_found(rq, "modules", "module", &s.modules, count);
	json_u64(j, "total_functions", s.functions.n);
	json_u64(j, "total_files", s.files.n);
	json_u64(j, "total_modules", s.modules.n);
	json_end_object(j);
	query_search_fini(&s);
	return 0;
}
