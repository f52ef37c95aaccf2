/* serve/request.c - see request.h. */
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter_value.h"
#include "query/query_regex.h"

#define SHOWN_VALUE_BYTES 200u /* of a bad value in an error: enough to recognise it */

void request_init(struct request *rq, const struct route *route, struct url *url)
{
	memset(rq, 0, sizeof(*rq));
	rq->route = route;
	rq->url = *url;
	*url = URL_NONE;
	filter_init(&rq->filter);
}

void request_fini(struct request *rq)
{
	for (size_t i = 0; i < REQUEST_N_BACKTRACES; i++)
		free(rq->backtrace[i].text);
	query_destroy(rq->query);
	query_destroy(rq->base.query);
	query_regex_destroy(rq->rules.own);
	filter_fini(&rq->filter);
	url_fini(&rq->url);
	free(rq->body);
	registry_give(rq->snapshot);
	registry_give(rq->base.snapshot);
}

bool request_is_over(const struct request *rq)
{
	return (rq->context.cancel && atomic_load(rq->context.cancel)) || ferror(rq->out);
}

/* ---- errors ---- */

void request_write_error(FILE *out, const char *text, const struct refusal *r)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_text(&j, "error", text);
	if (r && r->parameter)
		json_text(&j, "parameter", r->parameter);
	if (r && r->value)
		json_bytes(&j, "value", r->value, strnlen(r->value, SHOWN_VALUE_BYTES));
	if (r && r->valid[0])
		json_text(&j, "valid", r->valid);
	json_end_object(&j);
	json_line(&j);
}

int request_refuse(struct request *rq, unsigned status, const char *parameter, const char *value,
		   const char *valid)
{
	struct refusal *r = &rq->refusal;

	r->status = status;
	r->parameter = parameter;
	r->value = value;
	snprintf(r->valid, sizeof(r->valid), "%s", valid ? valid : "");
	return -ERR_USAGE;
}

static unsigned status_of(const struct request *rq, const struct err *err)
{
	if (rq->refusal.status)
		return rq->refusal.status;
	switch (err->code) {
	case ERR_USAGE:
	case ERR_LIMIT:
		return 400;
	case ERR_MEMORY:
		return 503;
	default:
		return 500;
	}
}

/* rq->rules, for queries as well. */
static int set_rules(struct request *rq, struct err *err)
{
	const char *own = url_find(&rq->url, ROUTE_OWN_PARAMETER);
	int r = 0;

	if (!rq->store)
		return 0;
	rq->rules.executable = store_string(rq->store, store_facts(rq->store)->executable, NULL);
	rq->context.rules = &rq->rules;
	if (own && *own && route_takes_own(rq->route))
		r = query_regex_create(ROUTE_OWN_PARAMETER, own, &rq->rules.own, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 400, ROUTE_OWN_PARAMETER, own, filter_type_help("regex"));
	return r;
}

int request_handle(struct request *rq, struct err *err)
{
	const struct err *failure = &rq->rules.failure;
	int r = set_rules(rq, err);

	if (r == 0)
		r = rq->route->handler(rq, err);
	if (!failure->code)
		failure = &rq->base.rules.failure;
	if (rq->store && store_is_cut(rq->store)) { /* so any other error may be nonsense */
		r = err_set(err, ERR_FORMAT, "%s", STORE_CUT_TEXT);
		rq->refusal = (struct refusal){0};
	}
	/* A class that could not be found out was shown as another. */
	if (r == 0 && failure->code) {
		r = err_set(err, failure->code, "%s", failure->text);
		request_refuse(rq, 400, ROUTE_OWN_PARAMETER,
			       url_find(&rq->url, ROUTE_OWN_PARAMETER), filter_type_help("regex"));
	}
	return r;
}

/* Marks an estimate, after the passes over rows and before the end of the answer's object. */
static void put_estimate(void *user)
{
	struct request *rq = user;
	double share = rq->query ? query_read_share(rq->query) : 1;

	if (share >= 1)
		return;
	json_object(&rq->json, "estimate");
	json_double(&rq->json, "read_percent", 100 * share, 3);
	json_end_object(&rq->json);
}

uint64_t request_run(struct request *rq)
{
	struct err err = {0};
	unsigned status = 200;
	uint64_t cpu_ns;

	rq->out = answer_file(rq->answer);
	json_init(&rq->json, rq->out);
	if (rq->context.sample_blocks)
		json_at_end(&rq->json, put_estimate, rq);
	if (rq->route->content_type)
		answer_set_type(rq->answer, rq->route->content_type, NULL);
	if (!answer_begin(rq->answer)) {
		answer_finish(rq->answer, 503);
		return 0;
	}
	if (request_handle(rq, &err) < 0) {
		status = status_of(rq, &err);
		if (answer_restart(rq->answer)) {
			answer_set_type(rq->answer, "application/json", NULL);
			request_write_error(rq->out, err.text, &rq->refusal);
		}
	}
	answer_pause(rq->answer);
	cpu_ns = answer_cpu_ns(rq->answer);
	answer_finish(rq->answer, status);
	return cpu_ns;
}

/* ---- filter ---- */

static void describe_filter_parameter(struct request *rq, const char *name, const char *value)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);
	char valid[sizeof(rq->refusal.valid)];

	for (size_t i = 0; i < n; i++) {
		const char *type = p[i].choices ? p[i].choices : filter_type_help(p[i].type);

		if (strcmp(p[i].name, name) != 0)
			continue;
		snprintf(valid, sizeof(valid), "%s", type ? type : p[i].type);
		request_refuse(rq, 400, name, value, valid);
		return;
	}
	request_refuse(rq, 400, name, value, NULL);
}

/* A parameter of the route's own counts before a condition of the same name. */
static bool is_own(const struct route *r, const char *name)
{
	for (size_t i = 0; i < r->n_parameters; i++) {
		if (strcmp(r->parameter[i].name, name) == 0)
			return true;
	}
	return false;
}

int request_filter(struct request *rq, struct err *err)
{
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		const struct url_pair *p = &rq->url.pair[i];
		int r = is_own(rq->route, p->name)
				? 0
				: filter_set(&rq->filter, p->name, p->value, err);

		if (r == -ERR_USAGE)
			describe_filter_parameter(rq, p->name, p->value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The query's errors name the parameter in their text: the JSON shows it as a field. */
static void find_culprit(struct request *rq, const struct err *err)
{
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		const struct url_pair *p = &rq->url.pair[i];
		const char *at = strstr(err->text, p->name);

		if (p->name[0] && at && (at == err->text || at[-1] != '_')) {
			describe_filter_parameter(rq, p->name, p->value);
			return;
		}
	}
}

int request_make_query(struct request *rq, struct err *err)
{
	int r = query_create(&rq->context, &rq->filter, &rq->query, err);

	if (r == -ERR_USAGE)
		find_culprit(rq, err);
	return r;
}

int request_query(struct request *rq, struct err *err)
{
	int r = request_filter(rq, err);

	return r < 0 ? r : request_make_query(rq, err);
}

/* ---- values ---- */

int request_u64(struct request *rq, const char *name, uint64_t preset, uint64_t max, uint64_t *ret,
		struct err *err)
{
	const char *text = url_find(&rq->url, name);
	char valid[80];
	uint64_t n;

	*ret = preset;
	if (!text)
		return 0;
	if (filter_value_count(text, &n) && n <= max) {
		*ret = n;
		return 0;
	}
	snprintf(valid, sizeof(valid), "a number from 0 to %llu", (unsigned long long)max);
	request_refuse(rq, 400, name, text, valid);
	return err_set(err, ERR_USAGE, "%s: '%.*s' is not %s", name, (int)SHOWN_VALUE_BYTES, text,
		       valid);
}

int request_choice(struct request *rq, const char *name, const char *choices, unsigned preset,
		   unsigned *ret, struct err *err)
{
	const char *text = url_find(&rq->url, name);
	size_t len = text ? strlen(text) : 0;
	unsigned index = 0;

	*ret = preset;
	if (!text)
		return 0;
	for (const char *p = choices; *p; index++) {
		size_t n = strcspn(p, "|");

		if (n == len && memcmp(p, text, n) == 0) {
			*ret = index;
			return 0;
		}
		p += n + (p[n] == '|');
	}
	request_refuse(rq, 400, name, text, choices);
	return err_set(err, ERR_USAGE, "%s: '%.*s' is none of %s", name, (int)SHOWN_VALUE_BYTES,
		       text, choices);
}

int request_flag(struct request *rq, const char *name, bool preset, bool *ret, struct err *err)
{
	unsigned choice;
	int r = request_choice(rq, name, "false|true|0|1|no|yes", preset, &choice, err);

	*ret = choice & 1;
	return r;
}

static int take_page(struct request *rq, uint64_t n_preset, uint64_t n_max, struct query_page *ret,
		     struct err *err)
{
	unsigned order = 0;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &ret->skip, err);

	if (r == 0)
		r = request_u64(rq, "count", n_preset, n_max, &ret->count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 0, &order, err);
	ret->is_descending = order > 0;
	return r;
}

int request_page(struct request *rq, struct query_page *ret, struct err *err)
{
	return take_page(rq, UINT64_MAX, UINT64_MAX, ret, err);
}

int request_row_page(struct request *rq, uint64_t n_preset, uint64_t n_max, struct query_page *ret,
		     struct err *err)
{
	static const enum query_sort sort[] = {
		QUERY_BY_TIME,         QUERY_BY_ADDRESS,      QUERY_BY_SIZE, QUERY_BY_LIFETIME,
		QUERY_BY_USABLE_SIZE,  QUERY_BY_FREE_TIME,    QUERY_BY_KIND, QUERY_BY_CHAIN_LENGTH,
		QUERY_BY_THREAD_INDEX, QUERY_BY_STACK_NUMBER,
	};
	unsigned by = 0;
	int r = take_page(rq, n_preset, n_max, ret, err);

	if (r == 0)
		r = request_choice(rq, "sort_by", REQUEST_ROW_SORT, 0, &by, err);
	ret->sort = sort[by];
	return r;
}

int request_time(struct request *rq, const char *name, bool is_upper, uint64_t preset,
		 uint64_t *ret, struct err *err)
{
	const struct store_facts *facts = store_facts(rq->store);
	const char *text = url_find(&rq->url, name);
	struct filter_time t;

	*ret = preset;
	if (!text)
		return 0;
	if (!filter_value_time(text, is_upper, &t)) {
		request_refuse(rq, 400, name, text, filter_type_help("time"));
		return err_set(err, ERR_USAGE, "%s: '%.*s' is not a time", name,
			       (int)SHOWN_VALUE_BYTES, text);
	}
	if (t.kind == FILTER_TIME_RELATIVE)
		*ret = t.ns;
	else if (t.kind == FILTER_TIME_PERCENT)
		*ret = (uint64_t)((double)facts->duration_ns * t.percent / 100);
	else
		*ret = t.ns > facts->start_realtime_ns ? t.ns - facts->start_realtime_ns : 0;
	return 0;
}

uint64_t request_unix_ns(const struct request *rq, uint64_t at_ns)
{
	return store_facts(rq->store)->start_realtime_ns + at_ns;
}

bool request_has_stack(const struct request *rq, uint64_t stack)
{
	return stack < store_n_stacks(rq->store);
}
