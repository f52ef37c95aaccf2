/* serve/comparison.c - see comparison.h. */
#include "serve/comparison.h"

#include <string.h>

#include "base/text.h"
#include "query/query_json.h"
#include "serve/v1_json.h"

/* ---- the other recording ---- */

static int refuse_base(struct request *rq, unsigned status, const char *valid, const char *why,
		       struct err *err)
{
	request_refuse(rq, status, ROUTE_BASE_PARAMETER, url_find(&rq->url, ROUTE_BASE_PARAMETER),
		       valid);
	return err_set(err, ERR_USAGE, "base: %s", why);
}

int comparison_find(struct request *rq, unsigned max_ms, struct err *err)
{
	const char *id = url_find(&rq->url, ROUTE_BASE_PARAMETER);
	struct request_base *b = &rq->base;
	struct registry_entry *i;

	/* The old paths ignore what they do not know. */
	if (!id || !rq->item || strncmp(rq->route->path, "/api/v1/", 8) != 0)
		return 0;
	if (!(rq->route->flags & ROUTE_BASE))
		return refuse_base(rq, 400,
				   "no base here; summary, groups, functions, callers, tree and "
				   "timeline compare",
				   "this path does not compare recordings; ask without base", err);
	i = registry_find(rq->registry, id);
	if (!i)
		return refuse_base(rq, 404, "an id that /api/v1/recordings gives",
				   "there is no recording with this id", err);
	if (registry_state(i) == REGISTRY_LOADING)
		return refuse_base(rq, 503, "the same once /api/v1/recordings says ready",
				   "that recording is still being loaded; ask again", err);
	if (registry_state(i) == REGISTRY_FAILED)
		return refuse_base(rq, 404, "the id of a recording that is ready",
				   registry_error(i), err);
	registry_freshen(i, max_ms);
	b->id = registry_id(i);
	b->file_name = text_basename(registry_path(i));
	b->snapshot = registry_take(i);
	b->context = rq->context;
	b->context.store = registry_store(b->snapshot);
	b->context.frames = registry_frames(b->snapshot);
	b->context.shared = registry_shared(b->snapshot);
	return 0;
}

/* ---- queries ---- */

int comparison_refuse(struct request *rq, const char *parameter, const char *remedy,
		      struct err *err)
{
	const char *value = url_find(&rq->url, parameter);

	if (!value)
		return 0;
	request_refuse(rq, 400, parameter, value, remedy);
	return err_set(err, ERR_USAGE, "%s: has no meaning in a comparison (base); use %s",
		       parameter, remedy);
}

/* Conditions must mean something in both recordings. */
static int check_filter(struct request *rq, struct err *err)
{
	static const char *const numbers[] = {"backtraces", "negative_backtraces",
					      "deallocation_backtraces", "thread", "from_map"};
	const struct filter *f = &rq->filter;
	const struct {
		const char *name;
		const struct filter_time *time;
	} moment[] = {
		{"from", &f->from},
		{"to", &f->to},
		{"alive_at", &f->alive_at},
		{"alive_at_2", &f->alive_at_2},
		{"window_from", &f->window_from},
		{"window_to", &f->window_to},
		{"group_max_total_usage_first_seen_min", &f->group_max_total_usage_first_seen_min},
		{"group_max_total_usage_first_seen_max", &f->group_max_total_usage_first_seen_max},
	};
	const char *name;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(numbers) && r == 0; i++)
		r = comparison_refuse(rq, numbers[i], "a condition by name, such as function_regex",
				      err);
	for (size_t i = 0; i < ARRAY_LEN(moment) && r == 0; i++) {
		if (moment[i].time->kind != FILTER_TIME_UNIX)
			continue;
		name = moment[i].name;
		if (!url_find(&rq->url, name)) /* the tree's own word for alive_at */
			name = "at";
		request_refuse(rq, 400, name, url_find(&rq->url, name),
			       "a time since the start of each recording, such as +10s, or 50%");
		r = err_set(err, ERR_USAGE,
			    "%s: the time of day has no meaning in a comparison (base); use a time "
			    "since the start of each recording, such as +10s, or 50%%",
			    name);
	}
	return r;
}

int comparison_make_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
			  struct err *err)
{
	struct request_base *b = &rq->base;
	int r = check_filter(rq, err);

	if (r == 0)
		r = request_make_query(rq, err);
	if (r < 0)
		return r;
	b->rules = (struct frame_rules){
		.executable = store_string(b->context.store,
					   store_facts(b->context.store)->executable, NULL),
		.own = rq->rules.own,
	};
	b->context.rules = &b->rules;
	b->context.cancel = rq->context.cancel;
	b->context.n_threads = rq->context.n_threads;
	r = query_create(&b->context, &rq->filter, &b->query, err);
	if (r < 0)
		return r;
	q[COMPARE_BEFORE] = b->query;
	q[COMPARE_AFTER] = rq->query;
	for (unsigned s = 0; s < COMPARE_N_SIDES; s++)
		query_want(q[s], wants);
	return 0;
}

int comparison_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
		     struct err *err)
{
	int r = request_filter(rq, err);

	return r < 0 ? r : comparison_make_query(rq, wants, q, err);
}

/* ---- answers ---- */

void comparison_put_change(struct json *j, const char *name, uint64_t before, uint64_t after)
{
	json_i64(j, name, (int64_t)(after - before));
}

void comparison_put_costs(struct json *j, const char *name, const struct query_group *before,
			  const struct query_group *after)
{
	json_object(j, name);
	query_json_cost_change(j, before, after);
	json_end_object(j);
}

void comparison_put_row(struct json *j, const struct query_group cost[COMPARE_N_SIDES])
{
	comparison_put_costs(j, "cost", &cost[COMPARE_BEFORE], &cost[COMPARE_AFTER]);
	v1_json_cost(j, "before", &cost[COMPARE_BEFORE]);
	v1_json_cost(j, "after", &cost[COMPARE_AFTER]);
}

int comparison_put_total(struct request *rq, struct query *const q[COMPARE_N_SIDES],
			 struct err *err)
{
	struct query_group total[COMPARE_N_SIDES];

	for (unsigned s = 0; s < COMPARE_N_SIDES; s++) {
		int r = query_total(q[s], &total[s], err);

		if (r < 0)
			return r;
	}
	comparison_put_costs(&rq->json, "total", &total[COMPARE_BEFORE], &total[COMPARE_AFTER]);
	v1_json_cost(&rq->json, "total_before", &total[COMPARE_BEFORE]);
	v1_json_cost(&rq->json, "total_after", &total[COMPARE_AFTER]);
	return 0;
}

void comparison_put_self(struct json *j, const uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS])
{
	static const char *const name[QUERY_N_MAIN_COSTS] = {
		[QUERY_MAIN_BYTES] = "self_bytes",
		[QUERY_MAIN_LEAKED] = "self_leaked_bytes",
		[QUERY_MAIN_PEAK] = "self_peak_bytes",
		[QUERY_MAIN_ALLOCS] = "self_allocations",
		[QUERY_MAIN_TEMPORARY] = "self_temporary_count",
	};

	for (unsigned c = 0; c < QUERY_N_MAIN_COSTS; c++)
		comparison_put_change(j, name[c], self[COMPARE_BEFORE][c], self[COMPARE_AFTER][c]);
}

void comparison_put_frame(struct request *rq, const char *name, const struct frame *f,
			  enum compare_side side)
{
	struct frame_rules *rules = side == COMPARE_AFTER ? &rq->rules : &rq->base.rules;

	query_json_frame(&rq->json, name, f, frame_class_by(rules, f), false);
}
