/* serve/wire.c - see wire.h. */
#include "serve/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/frame_name.h"
#include "util/vec.h"

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

uint64_t wire_tid(const struct request *rq, uint64_t thread)
{
	size_t n;
	const struct store_thread *t = store_table(rq->store, STORE_THREADS, &n);

	return thread < n ? t[thread].tid : 0;
}

bool wire_has_stack(const struct request *rq, uint64_t stack)
{
	return stack < store_n_stacks(rq->store);
}

/* ---- frames ---- */

struct collected {
	const struct frame **frame;
	size_t n, cap;
	struct err *err;
	int r;
};

static bool collect(void *user, const struct frame *f)
{
	struct collected *c = user;

	c->r = vec_reserve(&c->frame, &c->cap, c->n + 1, sizeof(*c->frame), c->err);
	if (c->r < 0)
		return false;
	c->frame[c->n++] = f;
	return true;
}

int wire_each_frame(struct request *rq, uint32_t stack,
		    void (*fn)(struct request *rq, const struct frame *f), struct err *err)
{
	struct collected c = {.err = err};
	int r = 0;

	if (wire_has_stack(rq, stack))
		r = frames_each(rq->frames, stack, collect, &c, err);
	if (r == 0)
		r = c.r;
	for (size_t i = c.n; r == 0 && i-- > 0;)
		fn(rq, c.frame[i]);
	free(c.frame);
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
	const uint64_t *count = shelf_code_counts(rq->item);
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

static enum frame_class class_of(const struct request *rq, const struct frame *f)
{
	const struct store_facts *facts = store_facts(rq->store);

	return frame_class_of(f, store_string(rq->store, facts->executable, NULL));
}

void wire_frame_text(struct request *rq, const char *name, const struct frame *f)
{
	struct json *j = &rq->json;
	char address[20];

	snprintf(address, sizeof(address), "0x%" PRIx64, f->addr);
	json_object(j, name);
	json_text(j, "function", f->function);
	json_text(j, "source", f->source);
	if (f->line)
		json_u64(j, "line", f->line);
	else
		json_null(j, "line");
	json_text(j, "module", f->module);
	json_text(j, "address", address);
	json_bool(j, "is_inline", f->is_inline);
	json_text(j, "class", frame_class_name(class_of(rq, f)));
	json_end_object(j);
}

struct blame {
	const struct request *rq;
	const struct frame *innermost, *outside_allocator, *own;
};

static bool look_for_blame(void *user, const struct frame *f)
{
	struct blame *b = user;
	enum frame_class c = class_of(b->rq, f);

	if (!b->innermost)
		b->innermost = f;
	if (!b->outside_allocator && !frame_class_is_folded(c))
		b->outside_allocator = f;
	if (c == FRAME_CLASS_OWN)
		b->own = f;
	return !b->own;
}

const struct frame *wire_blame(struct request *rq, uint32_t stack, struct err *err)
{
	struct blame b = {.rq = rq};

	if (!wire_has_stack(rq, stack) ||
	    frames_each(rq->frames, stack, look_for_blame, &b, err) < 0)
		return NULL;
	return b.own ? b.own : b.outside_allocator ? b.outside_allocator : b.innermost;
}

void wire_cost(struct json *j, const char *name, const struct query_group *g)
{
	json_object(j, name);
	json_u64(j, "allocations", g->n_allocs);
	json_u64(j, "bytes", g->n_bytes);
	json_u64(j, "leaked_count", g->n_leaked);
	json_u64(j, "leaked_bytes", g->leaked_bytes);
	json_u64(j, "temporary_count", g->n_temporary);
	json_u64(j, "temporary_bytes", g->temporary_bytes);
	json_u64(j, "extra_bytes", g->extra_bytes);
	json_u64(j, "peak_count", g->peak_count);
	json_u64(j, "peak_bytes", g->peak_bytes);
	json_end_object(j);
}

void wire_list(struct json *j, const char *name, const char *text, size_t len)
{
	json_array(j, name);
	for (size_t at = 0; at < len;) {
		size_t n = strnlen(text + at, len - at);

		json_bytes(j, NULL, text + at, n);
		at += n + 1;
	}
	json_end_array(j);
}
