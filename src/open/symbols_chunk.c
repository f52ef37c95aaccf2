/* open/symbols_chunk.c - see symbols_chunk.h. */
#include "open/symbols_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/varint.h"
#include "util/vec.h"

enum record_kind {
	RECORD_STRING = 1,
	RECORD_MODULE = 2,
	RECORD_PLACE = 3,
};

#define FRAME_INLINE 1u
#define FRAME_FIELDS 6

/* ---- reading ---- */

struct reader {
	const char **string; /* by number - 1; in the payload */
	size_t n_strings, cap_strings;
	struct symbol_frame *frame;
	size_t cap_frames;
	uint64_t module_id;
	uint64_t offset;
	symbols_chunk_fn fn;
	void *user;
};

static int bad(const char *what, size_t at, struct err *err)
{
	return err_set(err, ERR_FORMAT, "%s at byte %zu", what, at);
}

static int read_string(struct reader *r, const struct cursor *c, size_t at, struct err *err)
{
	int n;

	if (c->len == 0 || memchr(c->data, 0, c->len) != c->data + c->len - 1)
		return bad("a text without its end", at, err);
	n = vec_reserve(&r->string, &r->cap_strings, r->n_strings + 1, sizeof(*r->string), err);
	if (n == 0)
		r->string[r->n_strings++] = (const char *)c->data;
	return n;
}

/* The text with a number; NULL for 0. */
static const char *get_string(const struct reader *r, struct cursor *c)
{
	uint64_t number = cursor_uleb(c);

	if (number > r->n_strings)
		c->failed = true;
	return number == 0 || number > r->n_strings ? NULL : r->string[number - 1];
}

static int read_location(struct reader *r, struct cursor *c, size_t at, struct err *err)
{
	struct symbols_location location = {.module_id = r->module_id};
	uint64_t n_frames;
	int n;

	r->offset += cursor_uleb(c);
	location.offset = r->offset;
	n_frames = cursor_uleb(c);
	if (c->failed || n_frames > cursor_left(c) / FRAME_FIELDS)
		return bad("a location that makes no sense", at, err);
	n = vec_reserve(&r->frame, &r->cap_frames, n_frames, sizeof(*r->frame), err);
	if (n < 0)
		return n;
	for (uint64_t i = 0; i < n_frames; i++) {
		struct symbol_frame f = {0};

		f.function = get_string(r, c);
		f.raw_function = get_string(r, c);
		f.source = get_string(r, c);
		f.line = (uint32_t)cursor_uleb(c);
		f.column = (uint32_t)cursor_uleb(c);
		f.is_inline = cursor_uleb(c) & FRAME_INLINE;
		r->frame[i] = f;
	}
	if (c->failed)
		return bad("a frame that makes no sense", at, err);
	location.frame = r->frame;
	location.n_frames = (size_t)n_frames;
	return r->fn(r->user, &location, err);
}

static int read_record(struct reader *r, struct cursor *in, struct err *err)
{
	size_t at = in->pos;
	uint64_t kind = cursor_uleb(in);
	uint64_t n_bytes = cursor_uleb(in);
	const uint8_t *bytes = cursor_take(in, n_bytes);
	struct cursor c = cursor_make(bytes, bytes ? n_bytes : 0);

	if (!bytes)
		return bad("a record that is cut off", at, err);
	switch (kind) {
	case RECORD_STRING:
		return read_string(r, &c, at, err);
	case RECORD_MODULE:
		r->module_id = cursor_uleb(&c);
		r->offset = 0;
		return c.failed ? bad("a module without a number", at, err) : 0;
	case RECORD_PLACE:
		return read_location(r, &c, at, err);
	default:
		return 0; /* a record of a newer version */
	}
}

int symbols_chunk_decode(const uint8_t *data, size_t len, symbols_chunk_fn fn, void *user,
			 struct err *err)
{
	struct cursor in = cursor_make(data, len);
	struct reader r = {.fn = fn, .user = user};
	int n = 0;

	while (n >= 0 && cursor_left(&in) > 0)
		n = read_record(&r, &in, err);
	free(r.string);
	free(r.frame);
	return n < 0 ? n : 0;
}

/* ---- writing ---- */

void symbols_writer_fini(struct symbols_writer *w)
{
	map_fini(&w->string_at);
	free(w->string_offset);
	free(w->data);
	*w = (struct symbols_writer){0};
}

void symbols_writer_clear(struct symbols_writer *w)
{
	map_fini(&w->string_at);
	w->string_at = (struct map){0};
	w->n_strings = 0;
	w->len = 0;
	w->has_module = false;
}

static int put_record(struct symbols_writer *w, enum record_kind kind, const void *bytes,
		      size_t len, struct err *err)
{
	int r = vec_reserve(&w->data, &w->cap, w->len + len + (size_t)2 * ULEB_MAX_BYTES, 1, err);
	uint8_t *p;

	if (r < 0)
		return r;
	p = uleb_put(w->data + w->len, kind);
	p = uleb_put(p, len);
	memcpy(p, bytes, len);
	w->len = (size_t)(p + len - w->data);
	return 0;
}

/* Gives the number of a text; adds the text if it is new. */
static int find_string(struct symbols_writer *w, const char *text, uint64_t *ret, struct err *err)
{
	size_t len;
	int r;

	*ret = 0;
	if (!text)
		return 0;
	for (uint64_t key = hash_bytes(text, strlen(text));; key++) {
		uint64_t *number;
		bool is_new;

		r = map_add(&w->string_at, key, &number, &is_new, err);
		if (r < 0)
			return r;
		if (is_new) {
			*number = w->n_strings + 1;
			*ret = *number;
			break;
		}
		*ret = *number;
		if (strcmp((char *)w->data + w->string_offset[*ret - 1], text) == 0)
			return 0;
	}
	len = strlen(text) + 1;
	r = vec_reserve(&w->string_offset, &w->cap_strings, w->n_strings + 1,
			sizeof(*w->string_offset), err);
	if (r == 0)
		r = put_record(w, RECORD_STRING, text, len, err);
	if (r == 0)
		w->string_offset[w->n_strings++] = w->len - len;
	return r;
}

static int put_module(struct symbols_writer *w, uint64_t module_id, struct err *err)
{
	uint8_t bytes[ULEB_MAX_BYTES];
	size_t len = (size_t)(uleb_put(bytes, module_id) - bytes);

	w->module_id = module_id;
	w->offset = 0;
	w->has_module = true;
	return put_record(w, RECORD_MODULE, bytes, len, err);
}

static int encode_frame(struct symbols_writer *w, const struct symbol_frame *f, uint8_t **at,
			struct err *err)
{
	const char *const text[] = {f->function, f->raw_function, f->source};

	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		uint64_t number;
		int r = find_string(w, text[i], &number, err);

		if (r < 0)
			return r;
		*at = uleb_put(*at, number);
	}
	*at = uleb_put(*at, f->line);
	*at = uleb_put(*at, f->column);
	*at = uleb_put(*at, f->is_inline ? FRAME_INLINE : 0);
	return 0;
}

int symbols_writer_add(struct symbols_writer *w, const struct symbols_location *location,
		       struct err *err)
{
	uint8_t *bytes = malloc((2 + location->n_frames * FRAME_FIELDS) * ULEB_MAX_BYTES);
	uint8_t *at = bytes;
	int r = 0;

	if (!bytes)
		return err_set_memory(err, location->n_frames * FRAME_FIELDS * ULEB_MAX_BYTES);
	if (!w->has_module || w->module_id != location->module_id || location->offset < w->offset)
		r = put_module(w, location->module_id, err);
	at = uleb_put(at, location->offset - w->offset);
	at = uleb_put(at, location->n_frames);
	for (size_t i = 0; r == 0 && i < location->n_frames; i++)
		r = encode_frame(w, &location->frame[i], &at, err);
	if (r == 0)
		r = put_record(w, RECORD_PLACE, bytes, (size_t)(at - bytes), err);
	w->offset = location->offset;
	free(bytes);
	return r;
}
