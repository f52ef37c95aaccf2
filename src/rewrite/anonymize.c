/* rewrite/anonymize.c - see anonymize.h. */
#include "rewrite/anonymize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/field.h"
#include "recording/chunk_unpack.h"
#include "rewrite/recording_copy.h"
#include "util/map.h"
#include "util/vec.h"

#define FILE_KIND_ELF 1

/* Texts, and the names that replace them. */
struct name_list {
	const char *prefix;
	struct map at; /* hash of a text (+ 1 on collisions) -> index */
	char **text; /* the text, a zero, its name, a zero */
	size_t n, cap;
};

struct anonymize {
	const struct recording *rec;
	enum anonymize_level level;
	struct name_list functions;
	struct name_list sources;
	struct name_list modules;
	char *line; /* a line of a memory map, or another text that is being made */
	size_t cap_line;
};

int anonymize_create(const struct recording *r, enum anonymize_level level, struct anonymize **ret,
		     struct err *err)
{
	struct anonymize *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set_memory(err, sizeof(*a));
	a->rec = r;
	a->level = level;
	a->functions.prefix = "fn";
	a->sources.prefix = "file";
	a->modules.prefix = "module";
	*ret = a;
	return 0;
}

static void name_list_fini(struct name_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->text[i]);
	free(l->text);
	map_fini(&l->at);
}

void anonymize_destroy(struct anonymize *a)
{
	if (!a)
		return;
	name_list_fini(&a->functions);
	name_list_fini(&a->sources);
	name_list_fini(&a->modules);
	free(a->line);
	free(a);
}

/* ---- names ---- */

static int add_name(struct name_list *l, const char *text, const char **ret, struct err *err)
{
	size_t len = strlen(text), capacity = len + 48;
	int r = vec_reserve(&l->text, &l->cap, l->n + 1, sizeof(*l->text), err);
	char *both;

	if (r < 0)
		return r;
	both = malloc(capacity);
	if (!both)
		return err_set_memory(err, capacity);
	memcpy(both, text, len + 1);
	l->text[l->n++] = both;
	snprintf(both + len + 1, capacity - len - 1, "%s_%zu", l->prefix, l->n);
	*ret = both + len + 1;
	return 0;
}

/* Gives the name that replaces a text. */
static int find_name(struct name_list *l, const char *text, const char **ret, struct err *err)
{
	for (uint64_t key = hash_bytes(text, strlen(text));; key++) {
		uint64_t *at;
		bool is_new;
		int r = map_add(&l->at, key, &at, &is_new, err);

		if (r < 0)
			return r;
		if (is_new) {
			*at = l->n;
			return add_name(l, text, ret, err);
		}
		if (strcmp(l->text[*at], text) == 0) {
			*ret = l->text[*at] + strlen(text) + 1;
			return 0;
		}
	}
}

/* The part of a module's path that may stay. */
static int module_name(struct anonymize *a, const char *path, const char **ret, struct err *err)
{
	if (a->level == ANONYMIZE_FULL)
		return find_name(&a->modules, path, ret, err);
	*ret = a->level == ANONYMIZE_PARTIAL ? text_basename(path) : path;
	return 0;
}

int anonymize_frame(struct anonymize *a, struct symbol_frame *f, struct err *err)
{
	const char *key = f->function ? f->function : f->raw_function;
	int r = 0;

	if (a->level == ANONYMIZE_NONE)
		return 0;
	if (a->level == ANONYMIZE_PARTIAL) {
		f->source = f->source ? text_basename(f->source) : NULL;
		return 0;
	}
	if (key) {
		r = find_name(&a->functions, key, &f->function, err);
		f->raw_function = f->function;
	}
	if (r == 0 && f->source)
		r = find_name(&a->sources, f->source, &f->source, err);
	return r;
}

/* ---- chunks of fields ---- */

/* Copies the bytes of a field to a->line, with a zero byte at the end. */
static int take_text(struct anonymize *a, const struct field *f, struct err *err)
{
	int r = vec_reserve(&a->line, &a->cap_line, f->len + 1, 1, err);

	if (r < 0)
		return r;
	memcpy(a->line, f->bytes, f->len);
	a->line[f->len] = 0;
	return 0;
}

static int put_module_name(struct anonymize *a, struct field_writer *w, const struct field *f,
			   struct err *err)
{
	const char *name = NULL;
	int r = take_text(a, f, err);

	if (r == 0)
		r = module_name(a, a->line, &name, err);
	if (r == 0)
		field_put_text(w, (unsigned)f->tag, name);
	return r;
}

static int put_process_field(struct anonymize *a, struct field_writer *w, const struct field *f,
			     struct err *err)
{
	bool is_full = a->level == ANONYMIZE_FULL;

	switch (f->tag) {
	case PROCESS_ENVIRONMENT:
	case PROCESS_CWD:
	case PROCESS_HOST:
	case PROCESS_CGROUP:
		return 0;
	case PROCESS_UID:
	case PROCESS_GID:
	case PROCESS_KERNEL:
		if (is_full)
			return 0;
		break;
	case PROCESS_EXECUTABLE:
	case PROCESS_CMDLINE: /* only the first part stays: the name of the program */
		return put_module_name(a, w, f, err);
	default:
		if (f->tag > PROCESS_MEMORY_LIMIT_BYTES)
			return 0; /* of a newer version: nobody knows what it says */
		break;
	}
	field_put_bytes(w, (unsigned)f->tag, f->bytes, f->len);
	return 0;
}

static int put_module_field(struct anonymize *a, struct field_writer *w, const struct field *f,
			    struct err *err)
{
	if (f->tag == MODULE_FILE)
		return 0; /* dropped */
	if (f->tag == MODULE_PATH)
		return put_module_name(a, w, f, err);
	if (f->tag == MODULE_BUILD_ID && a->level == ANONYMIZE_FULL)
		return 0;
	if (f->tag > MODULE_FILE && a->level != ANONYMIZE_NONE)
		return 0;
	field_put_bytes(w, (unsigned)f->tag, f->bytes, f->len);
	return 0;
}

static int put_allocator_field(struct anonymize *a, struct field_writer *w, const struct field *f,
			       struct err *err)
{
	if (f->tag == ALLOCATOR_MODULE && f->len)
		return put_module_name(a, w, f, err);
	if (f->tag > ALLOCATOR_N_FUNCTIONS)
		return 0;
	field_put_bytes(w, (unsigned)f->tag, f->bytes, f->len);
	return 0;
}

static int put_thread_field(struct anonymize *a, struct field_writer *w, const struct field *f,
			    struct err *err)
{
	(void)err;
	if (f->tag == THREAD_NAME && a->level == ANONYMIZE_FULL)
		return 0; /* put_fields() writes another one */
	field_put_bytes(w, (unsigned)f->tag, f->bytes, f->len);
	return 0;
}

/* Removes the folders of all paths inside a text. */
static void cut_paths(char *text)
{
	char *out = text, *word = text;

	for (const char *p = text; *p; p++) {
		if (*p == '/') {
			out = word;
			continue;
		}
		*out++ = *p;
		if (strchr(" \t\n'\"()", *p))
			word = out;
	}
	*out = 0;
}

static int put_note_field(struct anonymize *a, struct field_writer *w, const struct field *f,
			  struct err *err)
{
	int r;

	if (f->tag != NOTE_TEXT) {
		field_put_bytes(w, (unsigned)f->tag, f->bytes, f->len);
		return 0;
	}
	if (a->level == ANONYMIZE_FULL) {
		field_put_text(w, NOTE_TEXT, "(removed)");
		return 0;
	}
	r = take_text(a, f, err);
	if (r < 0)
		return r;
	cut_paths(a->line);
	field_put_text(w, NOTE_TEXT, a->line);
	return 0;
}

typedef int (*put_field_fn)(struct anonymize *a, struct field_writer *w, const struct field *f,
			    struct err *err);

static int put_fields(struct anonymize *a, struct recording_writer *out,
		      const struct chunk_header *h, const uint8_t *payload, put_field_fn put,
		      struct err *err)
{
	size_t capacity = (size_t)h->stored_bytes + 4096;
	uint8_t *data = malloc(capacity);
	struct field_writer w = field_writer_make(data, capacity);
	struct cursor c = cursor_make(payload, h->stored_bytes);
	struct recording_chunk chunk = {.type = h->type, .data = data, .is_plain = true};
	uint64_t number = 0;
	char name[32];
	struct field f;
	int r = data ? 0 : err_set_memory(err, capacity);

	while (r == 0 && field_next(&c, &f)) {
		if (f.tag == 1)
			number = field_u64(&f);
		r = put(a, &w, &f, err);
	}
	if (h->type == CHUNK_THREAD && a->level == ANONYMIZE_FULL) {
		snprintf(name, sizeof(name), "thread_%llu", (unsigned long long)number);
		field_put_text(&w, THREAD_NAME, name);
	}
	chunk.data_bytes = w.len;
	if (r == 0)
		r = recording_writer_put(out, &chunk, err);
	free(data);
	return r;
}

/* ---- memory maps ---- */

struct text_out {
	char *bytes;
	size_t len, cap;
};

static int append_text(struct text_out *out, const char *bytes, size_t len, struct err *err)
{
	int r = vec_reserve(&out->bytes, &out->cap, out->len + len + 1, 1, err);

	if (r < 0)
		return r;
	memcpy(out->bytes + out->len, bytes, len);
	out->len += len;
	return 0;
}

/* The name in a line of /proc/self/maps: it comes after five fields. */
static size_t find_map_name(const char *line, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; i < 5; i++) {
		while (at < len && line[at] == ' ')
			at++;
		while (at < len && line[at] != ' ')
			at++;
	}
	while (at < len && line[at] == ' ')
		at++;
	return at;
}

static int put_map_line(struct anonymize *a, struct text_out *out, const char *line, size_t len,
			struct err *err)
{
	size_t at = find_map_name(line, len);
	const char *name = NULL;
	int r = append_text(out, line, at, err);

	if (r == 0)
		r = vec_reserve(&a->line, &a->cap_line, len + 1, 1, err);
	if (r < 0 || at == len)
		return r < 0 ? r : append_text(out, "\n", 1, err);
	memcpy(a->line, line + at, len - at);
	a->line[len - at] = 0;
	name = a->line;
	if (strncmp(name, "[anon:", 6) == 0)
		name = "[anon]"; /* the rest is chosen by the program */
	else if (name[0] != '[')
		r = module_name(a, a->line, &name, err);
	if (r == 0)
		r = append_text(out, name, strlen(name), err);
	return r < 0 ? r : append_text(out, "\n", 1, err);
}

static int put_maps(struct anonymize *a, struct recording_writer *w, const struct chunk_header *h,
		    const uint8_t *payload, struct err *err)
{
	struct recording_chunk c = {
		.type = CHUNK_MAPS, .head = payload, .head_bytes = CHUNK_UNPACK_MAPS_HEAD};
	struct text_out out = {0};
	struct chunk_unpacked u = {0};
	int r = chunk_unpack(h, payload, CHUNK_UNPACK_MAPS_HEAD, &u, err);

	for (size_t at = 0; r == 0 && at < u.len;) {
		const char *line = (const char *)u.data + at;
		const char *end = memchr(line, '\n', u.len - at);
		size_t n = end ? (size_t)(end - line) : u.len - at;

		r = put_map_line(a, &out, line, n, err);
		at += n + 1;
	}
	c.data = out.bytes;
	c.data_bytes = out.len;
	if (r == 0)
		r = recording_writer_put(w, &c, err);
	free(out.bytes);
	free(u.buf);
	return r == -ERR_FORMAT ? 0 : r; /* a text that cannot be read is left out */
}

/* ---- all chunks ---- */

/* Is the chunk (a part of) an embedded file that is dropped? */
static bool is_dropped_file(const struct anonymize *a, const struct chunk_header *h,
			    const uint8_t *payload)
{
	struct cursor c = cursor_make(payload, h->stored_bytes);
	const struct metadata *metadata = &a->rec->metadata;
	const uint64_t *at;
	struct field f;
	uint64_t id = 0;

	if (a->level != ANONYMIZE_NONE)
		return true;
	if (h->type == CHUNK_FILE_DATA) {
		id = h->stored_bytes >= CHUNK_UNPACK_FILE_DATA_HEAD ? load_le32(payload) : 0;
	} else {
		while (field_next(&c, &f)) {
			if (f.tag == FILE_ID)
				id = field_u64(&f);
		}
	}
	at = map_find(&metadata->embedded_at, id);
	return !at || metadata->embedded[*at].kind == FILE_KIND_ELF;
}

int anonymize_chunk(struct anonymize *a, struct recording_writer *w, const struct chunk_header *h,
		    const uint8_t *payload, struct err *err)
{
	bool is_open = a->level == ANONYMIZE_NONE;

	switch (h->type) {
	case CHUNK_FILE:
	case CHUNK_FILE_DATA:
		if (is_dropped_file(a, h, payload))
			return 0;
		return recording_copy_one(w, h, payload, err);
	case CHUNK_MODULE:
		return put_fields(a, w, h, payload, put_module_field, err);
	case CHUNK_PROCESS:
		if (is_open)
			break;
		return put_fields(a, w, h, payload, put_process_field, err);
	case CHUNK_THREAD:
		if (is_open)
			break;
		return put_fields(a, w, h, payload, put_thread_field, err);
	case CHUNK_NOTE:
		if (is_open)
			break;
		return put_fields(a, w, h, payload, put_note_field, err);
	case CHUNK_ALLOCATOR:
		if (is_open)
			break;
		return put_fields(a, w, h, payload, put_allocator_field, err);
	case CHUNK_MAPS:
		if (is_open)
			break;
		return put_maps(a, w, h, payload, err);
	case CHUNK_SAMPLE:
	case CHUNK_ALLOCATOR_SAMPLE:
	case CHUNK_END:
	case CHUNK_DROPPED:
		break;
	default: /* SYMBOLS are written by postprocess */
		if (!is_open || h->type == CHUNK_SYMBOLS)
			return 0;
		break;
	}
	return recording_copy_one(w, h, payload, err);
}
