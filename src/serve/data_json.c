/* serve/data_json.c - see data_json.h. */
#include "serve/data_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/frame_name.h"
#include "query/query_json.h"

#define NS_PER_S 1000000000u

void data_json_timeval(struct json *j, const char *name, uint64_t ns)
{
	json_object(j, name);
	json_u64(j, "secs", ns / NS_PER_S);
	json_u64(j, "fract_nsecs", ns % NS_PER_S);
	json_end_object(j);
}

void data_json_moment(struct request *rq, const char *name, uint64_t at_ns)
{
	uint64_t duration = store_facts(rq->store)->duration_ns;
	char more[96];

	data_json_timeval(&rq->json, name, request_unix_ns(rq, at_ns));
	snprintf(more, sizeof(more), "%s_relative", name);
	data_json_timeval(&rq->json, more, at_ns);
	snprintf(more, sizeof(more), "%s_relative_p", name);
	json_double(&rq->json, more, duration ? 100.0 * (double)at_ns / (double)duration : 0, 6);
}

/* ---- frames ---- */

int data_json_each_frame(struct request *rq, uint32_t stack,
			 void (*fn)(struct request *rq, const struct frame *f), struct err *err)
{
	const struct frame **frame = NULL;
	size_t n = 0;
	int r = 0;

	if (request_has_stack(rq, stack))
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

void data_json_frame(struct request *rq, const char *name, const struct frame *f)
{
	const uint64_t *count = registry_code_counts(rq->snapshot);
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
	data_json_frame(rq, NULL, f);
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
	r = data_json_each_frame(rq, stack, put_frame, err);
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
int data_json_backtrace(struct request *rq, const char *name, uint32_t stack, struct err *err)
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
