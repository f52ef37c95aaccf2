/* serve/wire.c - see wire.h. */
#include "serve/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/frame_name.h"
#include "query/query_json.h"

#define NS_PER_S 1000000000u

void wire_timeval(struct json *j, const char *name, uint64_t ns)
{
	json_object(j, name);
	json_u64(j, "secs", ns / NS_PER_S);
	json_u64(j, "fract_nsecs", ns % NS_PER_S);
	json_end_object(j);
}

uint64_t wire_unix_ns(const struct request *rq, uint64_t at_ns)
{
	return store_facts(rq->store)->start_realtime_ns + at_ns;
}

void wire_moment(struct request *rq, const char *name, uint64_t at_ns)
{
	uint64_t duration = store_facts(rq->store)->duration_ns;
	char more[96];

	wire_timeval(&rq->json, name, wire_unix_ns(rq, at_ns));
	snprintf(more, sizeof(more), "%s_relative", name);
	wire_timeval(&rq->json, more, at_ns);
	snprintf(more, sizeof(more), "%s_relative_p", name);
	json_double(&rq->json, more, duration ? 100.0 * (double)at_ns / (double)duration : 0, 6);
}

bool wire_has_stack(const struct request *rq, uint64_t stack)
{
	return stack < store_n_stacks(rq->store);
}

/* ---- frames ---- */

int wire_each_frame(struct request *rq, uint32_t stack,
		    void (*fn)(struct request *rq, const struct frame *f), struct err *err)
{
	const struct frame **frame = NULL;
	size_t n = 0;
	int r = 0;

	if (wire_has_stack(rq, stack))
		r = frames_list(rq->frames, stack, &frame, &n, err);
	while (n-- > 0)
		fn(rq, frame[n]);
	free(frame);
	return r;
}

static bool is_stripping(const struct request *rq)
{
	const char *text = url_find(&rq->url, "strip_template_args");

	return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

static void put_text(struct json *j, const char *name, const char *text)
{
	if (text)
		json_text(j, name, text);
}

void wire_frame(struct request *rq, const char *name, const struct frame *f)
{
	const uint64_t *count = shelf_code_counts(rq->picture);
	char buf[FRAME_NAME_BYTES], address[20];
	struct json *j = &rq->json;
	size_t n_codes;

	store_table(rq->store, STORE_CODES, &n_codes);
	snprintf(address, sizeof(address), "%016" PRIX64, f->addr);
	json_object(j, name);
	json_u64(j, "address", f->addr);
	json_text(j, "address_s", address);
	json_u64(j, "count", count && f->code < n_codes ? count[f->code] : 0);
	put_text(j, "library", f->module);
	if (f->function && is_stripping(rq))
		json_text(j, "function", frame_name_short(f->function, buf));
	else
		put_text(j, "function", f->function);
	put_text(j, "raw_function", f->raw_function);
	put_text(j, "source", f->source);
	if (f->line)
		json_u64(j, "line", f->line);
	if (f->column)
		json_u64(j, "column", f->column);
	json_bool(j, "is_inline", f->is_inline);
	json_end_object(j);
}

static void put_frame(struct request *rq, const struct frame *f)
{
	wire_frame(rq, NULL, f);
}

/* Writes the frames to a text of its own: what stands between the brackets. NULL: no memory. */
static char *frames_as_text(struct request *rq, uint32_t stack, size_t *len, struct err *err)
{
	struct json saved = rq->json;
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	int r;

	if (!out) {
		err_set_memory(err, 1);
		return NULL;
	}
	json_init(&rq->json, out);
	json_array(&rq->json, NULL);
	r = wire_each_frame(rq, stack, put_frame, err);
	rq->json = saved;
	if (fclose(out) != 0 && r == 0)
		r = err_set_memory(err, *len);
	if (r < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Lists of allocations name few stacks many times: their frames are written out once. */
int wire_backtrace(struct request *rq, const char *name, uint32_t stack, struct err *err)
{
	struct request_text *kept = &rq->backtrace[stack % REQUEST_N_BACKTRACES];
	char *text = kept->stack == stack ? kept->text : NULL;
	size_t len = kept->len;

	if (!text) {
		text = frames_as_text(rq, stack, &len, err);
		if (!text)
			return -(int)err->code;
	}
	json_array(&rq->json, name);
	fwrite(text + 1, 1, len - 1, rq->out); /* without the '[' */
	json_end_array(&rq->json);
	if (text == kept->text)
		return 0;
	if (len > REQUEST_BACKTRACE_BYTES) {
		free(text);
		return 0;
	}
	free(kept->text);
	*kept = (struct request_text){.text = text, .len = len, .stack = stack};
	return 0;
}

/* ---- /api/v1 ---- */

void wire_frame_text(struct request *rq, const char *name, const struct frame *f)
{
	query_json_frame(&rq->json, name, f, frame_class_by(&rq->rules, f), false);
}

void wire_run_text(struct request *rq, const char *name, const struct frame *f, const char *title)
{
	static const struct frame none = {0};

	query_json_run(&rq->json, name, f ? f : &none, FRAME_CLASS_RUNTIME, title);
}

const struct frame *wire_blame(struct request *rq, uint32_t stack, struct err *err)
{
	return wire_has_stack(rq, stack) ? frame_class_blame(&rq->rules, rq->frames, stack, err)
					 : NULL;
}

struct callers {
	struct request *rq;
	const struct frame *blame;
	const struct frame *called; /* what the blame frame called; NULL: it is the innermost */
	bool is_outside; /* the blame frame has been passed */
	unsigned n;
};

static bool put_caller(void *user, const struct frame *f)
{
	struct callers *c = user;

	if (c->is_outside) {
		wire_frame_text(c->rq, NULL, f);
		c->n++;
	}
	if (f == c->blame)
		c->is_outside = true;
	else if (!c->is_outside)
		c->called = f;
	return c->n < WIRE_MAX_CALLERS;
}

int wire_site(struct request *rq, uint32_t stack, struct err *err)
{
	struct callers c = {.rq = rq, .blame = wire_blame(rq, stack, err)};
	int r;

	if (!c.blame)
		return 0;
	wire_frame_text(rq, "blame", c.blame);
	json_array(&rq->json, "callers");
	r = frames_each(rq->frames, stack, put_caller, &c, err);
	json_end_array(&rq->json);
	if (c.called)
		wire_frame_text(rq, "called", c.called);
	return r;
}

const char *wire_group_name(struct request *rq, enum query_group_by by, uint64_t key)
{
	size_t n;
	const struct store_thread *thread = store_table(rq->store, STORE_THREADS, &n);

	if (by != QUERY_BY_THREAD)
		return query_group_name(rq->query, by, key);
	return key < n ? store_string(rq->store, thread[key].name, NULL) : NULL;
}

void wire_numbers(struct json *j, const char *name, const uint64_t *value, size_t n)
{
	json_array(j, name);
	for (size_t i = 0; i < n; i++)
		json_u64(j, NULL, value[i]);
	json_end_array(j);
}

void wire_cost(struct json *j, const char *name, const struct query_group *g)
{
	json_object(j, name);
	query_json_cost(j, g);
	json_end_object(j);
}

void wire_self(struct json *j, const uint64_t self[QUERY_N_MAIN_COSTS])
{
	json_u64(j, "self_bytes", self[QUERY_MAIN_BYTES]);
	json_u64(j, "self_allocations", self[QUERY_MAIN_ALLOCS]);
	json_u64(j, "self_leaked_bytes", self[QUERY_MAIN_LEAKED]);
	json_u64(j, "self_peak_bytes", self[QUERY_MAIN_PEAK]);
	json_u64(j, "self_temporary_count", self[QUERY_MAIN_TEMPORARY]);
}

void wire_lines(struct json *j, const char *name, const struct query_lines *l, bool has_source)
{
	json_array(j, name);
	for (size_t i = 0; i < l->n; i++) {
		json_object(j, NULL);
		if (has_source)
			json_text(j, "source", l->line[i].source);
		json_u64(j, "line", l->line[i].line);
		json_text(j, "function", l->line[i].function);
		wire_cost(j, "cost", &l->line[i].cost);
		wire_self(j, l->line[i].self);
		json_end_object(j);
	}
	json_end_array(j);
}
