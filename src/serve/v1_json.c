/* serve/v1_json.c - see v1_json.h. */
#include "serve/v1_json.h"
#include "query/by_function.h"

#include "query/frame_class.h"
#include "query/frame_name.h"
#include "query/query_json.h"

void v1_json_frame_text(struct request *rq, const char *name, const struct frame *f)
{
	query_json_frame(&rq->json, name, f, frame_class_by(&rq->rules, f), false);
}

void v1_json_run_text(struct request *rq, const char *name, const struct frame *f,
		      const char *title)
{
	static const struct frame none = {0};

	query_json_run(&rq->json, name, f ? f : &none, FRAME_CLASS_RUNTIME, title);
}

const struct frame *v1_json_blame(struct request *rq, uint32_t stack, struct err *err)
{
	return request_has_stack(rq, stack) ? frame_class_blame(&rq->rules, rq->frames, stack, err)
					    : NULL;
}

struct callers {
	struct request *rq;
	const struct frame *blame;
	const struct frame *called; /* by the blame frame; NULL: the blame frame is the innermost */
	bool is_outside; /* the blame frame has been passed */
	unsigned n;
};

static bool put_caller(void *user, const struct frame *f)
{
	struct callers *c = user;

	if (c->is_outside) {
		v1_json_frame_text(c->rq, NULL, f);
		c->n++;
	}
	if (f == c->blame)
		c->is_outside = true;
	else if (!c->is_outside)
		c->called = f;
	return c->n < V1_JSON_MAX_CALLERS;
}

int v1_json_site(struct request *rq, uint32_t stack, struct err *err)
{
	struct callers c = {.rq = rq, .blame = v1_json_blame(rq, stack, err)};
	int r;

	if (!c.blame)
		return 0;
	v1_json_frame_text(rq, "blame", c.blame);
	json_array(&rq->json, "callers");
	r = frames_each(rq->frames, stack, put_caller, &c, err);
	json_end_array(&rq->json);
	if (c.called)
		v1_json_frame_text(rq, "called", c.called);
	return r;
}

const char *v1_json_group_name(struct request *rq, enum query_group_by by, uint64_t key)
{
	size_t n;
	const struct store_thread *thread = store_table(rq->store, STORE_THREADS, &n);

	if (by != QUERY_BY_THREAD)
		return query_group_name(rq->query, by, key);
	return key < n ? store_string(rq->store, thread[key].name, NULL) : NULL;
}

void v1_json_numbers(struct json *j, const char *name, const uint64_t *value, size_t n)
{
	json_array(j, name);
	for (size_t i = 0; i < n; i++)
		json_u64(j, NULL, value[i]);
	json_end_array(j);
}

void v1_json_cost(struct json *j, const char *name, const struct query_group *g)
{
	json_object(j, name);
	query_json_cost(j, g);
	json_end_object(j);
}

bool v1_mean_lifetime(const struct query_group *g, uint64_t *ret)
{
	uint64_t n_freed = g->n_allocs - g->n_leaked;

	*ret = n_freed && !g->n_culled ? g->lifetime_sum_ns / n_freed : 0;
	return n_freed && !g->n_culled;
}

void v1_json_lifetime(struct json *j, const struct query_group *g)
{
	uint64_t lifetime_ns;

	json_u64(j, "culled_count", g->n_culled);
	if (v1_mean_lifetime(g, &lifetime_ns))
		json_u64(j, "mean_lifetime_ns", lifetime_ns);
	else
		json_null(j, "mean_lifetime_ns");
}

void v1_json_self(struct json *j, const uint64_t self[QUERY_N_MAIN_COSTS])
{
	json_u64(j, "self_bytes", self[QUERY_MAIN_BYTES]);
	json_u64(j, "self_allocations", self[QUERY_MAIN_ALLOCS]);
	json_u64(j, "self_leaked_bytes", self[QUERY_MAIN_LEAKED]);
	json_u64(j, "self_peak_bytes", self[QUERY_MAIN_PEAK]);
	json_u64(j, "self_temporary_count", self[QUERY_MAIN_TEMPORARY]);
}

void v1_json_lines(struct json *j, const char *name, const struct query_lines *l, bool has_source)
{
	json_array(j, name);
	for (size_t i = 0; i < l->n; i++) {
		json_object(j, NULL);
		if (has_source)
			json_text(j, "source", l->line[i].source);
		json_u64(j, "line", l->line[i].line);
		json_text(j, "function", l->line[i].function);
		v1_json_cost(j, "cost", &l->line[i].cost);
		v1_json_self(j, l->line[i].self);
		json_end_object(j);
	}
	json_end_array(j);
}
