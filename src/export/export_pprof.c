/* export/export_pprof.c - profile.proto, gzip: go tool pprof and the services that take pprof.
 *
 * One sample per stack with four values, in the order that readers know as a heap profile. A code
 * is a Location; inlined frames are its Lines, innermost first. Addresses point into the call.
 * Texts are numbered as they come, so the table of texts is written last.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export_i.h"
#include "export/gzip_out.h"
#include "export/proto.h"
#include "util/map.h"
#include "util/text_set.h"

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

static const struct {
	const char *type;
	const char *unit;
} sample_types[] = {
	{"alloc_objects", "count"},
	{"alloc_space", "bytes"},
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

struct pprof {
	FILE *out;
	struct err *err;
	struct export_stacks stacks;
	struct text_set *texts;
	struct map functions; /* name and file -> id of the function */
	uint8_t *is_located; /* by code: its Location is written */
	uint64_t n_functions;
	struct proto message; /* a field of the profile */
	struct proto line, function, packed;
	struct proto file; /* what goes out */
	bool failed; /* memory ran out; err says so */
};

static uint64_t text(struct pprof *p, const char *t)
{
	uint32_t number = 0;
	char *valid = NULL;

	if (t && export_valid_text(t, &valid, p->err) < 0)
		p->failed = true;
	if (text_set_add(p->texts, valid ? valid : t ? t : "", &number, p->err) < 0)
		p->failed = true;
	free(valid);
	return number;
}

/* Writes the message as a field of the profile, and clears it for the next one. */
static void emit(struct pprof *p, unsigned field, struct proto *message)
{
	proto_clear(&p->file);
	proto_message(&p->file, field, message);
	fwrite(p->file.byte, 1, p->file.n, p->out);
	proto_clear(message);
}

static void put_number(struct pprof *p, unsigned field, uint64_t value)
{
	proto_clear(&p->file);
	proto_u64(&p->file, field, value);
	fwrite(p->file.byte, 1, p->file.n, p->out);
}

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	proto_u64(&p->message, 1, text(p, type));
	proto_u64(&p->message, 2, text(p, unit));
	emit(p, field, &p->message);
}

static void put_header(struct pprof *p, const struct store_facts *facts)
{
	text(p, ""); /* number 0 must be the empty text */
	for (size_t i = 0; i < ARRAY_LEN(sample_types); i++)
		put_type(p, PROFILE_SAMPLE_TYPE, sample_types[i].type, sample_types[i].unit);
	put_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(p, PROFILE_PERIOD, 1); /* every allocation, not a sample of them */
	put_number(p, PROFILE_TIME_NANOS, facts->start_realtime_ns + facts->duration_ns);
	put_number(p, PROFILE_DURATION_NANOS, facts->duration_ns);
	put_number(p, PROFILE_DEFAULT_SAMPLE_TYPE, text(p, "inuse_space"));
}

/* The executable's mapping must be the first. */
static void put_mappings(struct pprof *p)
{
	const struct store *s = p->stacks.store;
	const char *executable = store_string(s, store_facts(s)->executable, NULL);
	size_t n;
	const struct store_module *m = store_table(s, STORE_MODULES, &n);

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			const char *path = store_string(s, m[i].path, NULL);

			if ((strcmp(path, executable) == 0) != (pass == 0))
				continue;
			proto_u64(&p->message, 1, i + 1);
			proto_u64(&p->message, 2, m[i].start);
			proto_u64(&p->message, 3, m[i].end);
			proto_u64(&p->message, 5, text(p, path));
			proto_u64(&p->message, 6, text(p, store_string(s, m[i].build_id, NULL)));
			for (unsigned has = 7; has <= 10; has++) /* has_functions ... */
				proto_u64(&p->message, has, 1);
			emit(p, PROFILE_MAPPING, &p->message);
		}
	}
}

/* The id of a frame's function. Writes a Function when the function is new. */
static uint64_t function_id(struct pprof *p, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];
	uint64_t name = text(p, export_frame_label(f, buf));
	uint64_t source = text(p, f->source);
	uint64_t *id;
	bool is_new;

	if (map_add(&p->functions, name << 32 | source, &id, &is_new, p->err) < 0) {
		p->failed = true;
		return 0;
	}
	if (is_new) {
		*id = ++p->n_functions;
		proto_u64(&p->function, 1, *id);
		proto_u64(&p->function, 2, name);
		proto_u64(&p->function, 3, f->raw_function ? text(p, f->raw_function) : name);
		proto_u64(&p->function, 4, source);
		emit(p, PROFILE_FUNCTION, &p->function);
	}
	return *id;
}

/* Writes the Location of a code. The code's number is its id. */
static void put_location(struct pprof *p, uint32_t code)
{
	const struct store_code *c = store_code(p->stacks.store, code);
	size_t n;
	const struct frame *f = frames_of_code(p->stacks.frames, code, &n);

	proto_u64(&p->message, 1, code);
	if (c->module != STORE_NO_MODULE)
		proto_u64(&p->message, 2, (uint64_t)c->module + 1);
	proto_u64(&p->message, 3, c->addr - 1);
	for (size_t i = 0; i < n; i++) {
		proto_u64(&p->line, 1, function_id(p, &f[i]));
		proto_u64(&p->line, 2, f[i].line);
		proto_u64(&p->line, 3, f[i].column);
		proto_message(&p->message, 4, &p->line);
		proto_clear(&p->line);
	}
	emit(p, PROFILE_LOCATION, &p->message);
}

static int put_sample(struct pprof *p, const struct query_group *g)
{
	const uint64_t value[ARRAY_LEN(sample_types)] = {g->n_allocs, g->n_bytes, g->n_leaked,
							 g->leaked_bytes};
	struct export_stacks *s = &p->stacks;
	int r = export_stacks_codes(s, (uint32_t)g->key, p->err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n_codes; i++) {
		if (!p->is_located[s->code[i]])
			put_location(p, s->code[i]);
		p->is_located[s->code[i]] = 1;
	}
	for (size_t i = 0; i < s->n_codes; i++)
		proto_varint(&p->packed, s->code[i]);
	proto_message(&p->message, 1, &p->packed);
	proto_clear(&p->packed);
	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		proto_varint(&p->packed, value[i]);
	proto_message(&p->message, 2, &p->packed);
	proto_clear(&p->packed);
	emit(p, PROFILE_SAMPLE, &p->message);
	r = p->failed ? -ERR_MEMORY : proto_check(&p->file, p->err);
	return r < 0 ? r : export_check(p->out, p->err);
}

static int put_profile(struct pprof *p, const struct store_facts *facts)
{
	const struct query_groups *groups = &p->stacks.groups;
	int r = 0;

	put_header(p, facts);
	put_mappings(p);
	for (size_t i = 0; i < groups->n && r == 0; i++)
		r = put_sample(p, &groups->group[i]);
	for (uint32_t i = 0; i < text_set_count(p->texts) && r == 0; i++) {
		const char *text = text_set_get(p->texts, i);

		proto_clear(&p->file);
		proto_bytes(&p->file, PROFILE_STRING_TABLE, text, strlen(text));
		fwrite(p->file.byte, 1, p->file.n, p->out);
		r = proto_check(&p->file, p->err);
	}
	return r;
}

int export_pprof(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct pprof p = {.err = err};
	size_t n_codes;
	int r = export_stacks_init(&p.stacks, q, o, err);
	int closed;

	if (r < 0)
		return r;
	store_table(p.stacks.store, STORE_CODES, &n_codes);
	p.is_located = calloc(n_codes + 1, 1);
	r = p.is_located ? text_set_create(true, &p.texts, err) : err_set_memory(err, n_codes);
	if (r == 0)
		r = gzip_out_open(out, &p.out, err);
	if (r == 0) {
		r = put_profile(&p, store_facts(p.stacks.store));
		closed = gzip_out_close(p.out, out, r < 0 ? NULL : err);
		r = r < 0 ? r : closed;
	}
	free(p.is_located);
	map_fini(&p.functions);
	text_set_destroy(p.texts);
	proto_fini(&p.message);
	proto_fini(&p.line);
	proto_fini(&p.function);
	proto_fini(&p.packed);
	proto_fini(&p.file);
	export_stacks_fini(&p.stacks);
	return r;
}
