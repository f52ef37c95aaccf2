/* recording/metadata.c - see metadata.h. Each kind of chunk has a table: tag, offset in the struct,
 * type. */
#include "recording/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/field.h"
#include "recording/dropped_chunk.h"
#include "util/vec.h"

#define MAX_NOTES_COMPARED 200

/* Where the value of a tag goes. */
struct tag_field {
	uint8_t tag;
	bool is_text;
	size_t offset;
};

#define NUMBER(tag, type, member)                                                                  \
	{                                                                                          \
		tag, false, offsetof(struct type, member)                                          \
	}
#define TEXT(tag, type, member)                                                                    \
	{                                                                                          \
		tag, true, offsetof(struct type, member)                                           \
	}

static const struct tag_field process_tags[] = {
	NUMBER(PROCESS_PID, metadata_process, pid),
	NUMBER(PROCESS_PPID, metadata_process, ppid),
	NUMBER(PROCESS_UID, metadata_process, uid),
	NUMBER(PROCESS_GID, metadata_process, gid),
	TEXT(PROCESS_EXECUTABLE, metadata_process, executable),
	TEXT(PROCESS_CMDLINE, metadata_process, cmdline),
	TEXT(PROCESS_ENVIRONMENT, metadata_process, environment),
	TEXT(PROCESS_CWD, metadata_process, cwd),
	TEXT(PROCESS_HOST, metadata_process, host),
	TEXT(PROCESS_KERNEL, metadata_process, kernel),
	TEXT(PROCESS_ARCH, metadata_process, arch),
	NUMBER(PROCESS_PAGE_BYTES, metadata_process, page_bytes),
	NUMBER(PROCESS_N_CPUS, metadata_process, n_cpus),
	TEXT(PROCESS_CGROUP, metadata_process, cgroup),
	TEXT(PROCESS_LIMITS, metadata_process, limits),
	TEXT(PROCESS_RECORDER, metadata_process, recorder),
	NUMBER(PROCESS_PARENT, metadata_process, parent_pid),
	NUMBER(PROCESS_MEMORY_BYTES, metadata_process, memory_bytes),
	NUMBER(PROCESS_MEMORY_LIMIT_BYTES, metadata_process, memory_limit_bytes),
};

static const struct tag_field module_tags[] = {
	NUMBER(MODULE_ID, metadata_module, id),
	TEXT(MODULE_PATH, metadata_module, path),
	NUMBER(MODULE_BASE, metadata_module, base),
	NUMBER(MODULE_START, metadata_module, start),
	NUMBER(MODULE_END, metadata_module, end),
	TEXT(MODULE_BUILD_ID, metadata_module, build_id),
	NUMBER(MODULE_GENERATION, metadata_module, generation),
	NUMBER(MODULE_TICKS, metadata_module, ticks),
	NUMBER(MODULE_FILE, metadata_module, file_id),
};

static const struct tag_field thread_tags[] = {
	NUMBER(THREAD_NUMBER, metadata_thread, number),
	NUMBER(THREAD_TID, metadata_thread, tid),
	TEXT(THREAD_NAME, metadata_thread, name),
	NUMBER(THREAD_START, metadata_thread, start_ticks),
	NUMBER(THREAD_END, metadata_thread, end_ticks),
};

static const struct tag_field sample_tags[] = {
	NUMBER(SAMPLE_TICKS, metadata_sample, ticks),
	NUMBER(SAMPLE_MONOTONIC_NS, metadata_sample, monotonic_ns),
	NUMBER(SAMPLE_RSS_BYTES, metadata_sample, rss_bytes),
	NUMBER(SAMPLE_VIRTUAL_BYTES, metadata_sample, virtual_bytes),
	NUMBER(SAMPLE_SHARED_BYTES, metadata_sample, shared_bytes),
	NUMBER(SAMPLE_CPU_NS, metadata_sample, cpu_ns),
	NUMBER(SAMPLE_PEAK_RSS_BYTES, metadata_sample, peak_rss_bytes),
};

static const struct tag_field note_tags[] = {
	NUMBER(NOTE_TICKS, metadata_note, ticks),
	NUMBER(NOTE_LEVEL, metadata_note, level),
	TEXT(NOTE_TEXT, metadata_note, text),
};

static const struct tag_field allocator_tags[] = {
	NUMBER(ALLOCATOR_NUMBER, metadata_allocator, number),
	TEXT(ALLOCATOR_NAME, metadata_allocator, name),
	TEXT(ALLOCATOR_PREFIX, metadata_allocator, prefix),
	TEXT(ALLOCATOR_MODULE, metadata_allocator, module),
	NUMBER(ALLOCATOR_N_FUNCTIONS, metadata_allocator, n_functions),
};

static const struct tag_field allocator_sample_tags[] = {
	NUMBER(ALLOCATOR_SAMPLE_NUMBER, metadata_allocator_sample, number),
	NUMBER(ALLOCATOR_SAMPLE_TICKS, metadata_allocator_sample, ticks),
	NUMBER(ALLOCATOR_SAMPLE_COST_NS, metadata_allocator_sample, cost_ns),
	NUMBER(ALLOCATOR_SAMPLE_ALLOCATED, metadata_allocator_sample, allocated_bytes),
	NUMBER(ALLOCATOR_SAMPLE_ACTIVE, metadata_allocator_sample, active_bytes),
	NUMBER(ALLOCATOR_SAMPLE_METADATA, metadata_allocator_sample, metadata_bytes),
	NUMBER(ALLOCATOR_SAMPLE_RESIDENT, metadata_allocator_sample, resident_bytes),
	NUMBER(ALLOCATOR_SAMPLE_MAPPED, metadata_allocator_sample, mapped_bytes),
	NUMBER(ALLOCATOR_SAMPLE_RETAINED, metadata_allocator_sample, retained_bytes),
};

static const struct tag_field file_tags[] = {
	NUMBER(FILE_ID, metadata_file, id),
	TEXT(FILE_PATH, metadata_file, path),
	NUMBER(FILE_SIZE, metadata_file, size_bytes),
	TEXT(FILE_BUILD_ID, metadata_file, build_id),
	NUMBER(FILE_KIND, metadata_file, kind),
	NUMBER(FILE_IS_BESIDE, metadata_file, is_beside),
};

static const struct tag_field end_tags[] = {
	NUMBER(END_TICKS, metadata_end, ticks),
	NUMBER(END_HOW, metadata_end, how),
	NUMBER(END_STATUS, metadata_end, status),
};

static int set_text(struct metadata_text *text, const struct field *f, struct err *err)
{
	char *bytes = malloc(f->len + 1);

	if (!bytes)
		return err_set_memory(err, f->len + 1);
	memcpy(bytes, f->bytes, f->len);
	bytes[f->len] = 0;
	free(text->bytes);
	*text = (struct metadata_text){.bytes = bytes, .len = f->len};
	return 0;
}

static int parse_fields(const struct tag_field *tags, size_t n_tags, struct cursor *c, void *out,
			struct err *err)
{
	struct field f;

	while (field_next(c, &f)) {
		size_t i = 0;
		int r;

		while (i < n_tags && tags[i].tag != f.tag)
			i++;
		if (i == n_tags)
			continue;
		if (!tags[i].is_text) {
			*(uint64_t *)(void *)((char *)out + tags[i].offset) = field_u64(&f);
			continue;
		}
		r = set_text((void *)((char *)out + tags[i].offset), &f, err);
		if (r < 0)
			return r;
	}
	if (c->failed)
		return err_set(err, ERR_FORMAT, "malformed field at byte %zu of %zu", c->pos,
			       c->len);
	return 0;
}

/* Appends a zeroed element to one of the arrays. */
static int append(void *array, size_t *n, size_t *capacity, size_t elem_bytes, void **ret,
		  struct err *err)
{
	int r = vec_reserve(array, capacity, *n + 1, elem_bytes, err);
	char *data;

	if (r < 0)
		return r;
	memcpy(&data, array, sizeof(data));
	*ret = memset(data + *n * elem_bytes, 0, elem_bytes);
	(*n)++;
	return 0;
}

static void free_thread(struct metadata_thread *t)
{
	free(t->name.bytes);
}

/* A thread may have several chunks: later ones add to earlier ones. */
static int add_thread(struct metadata *f, struct cursor *c, struct err *err)
{
	struct metadata_thread t = {0};
	struct metadata_thread *old = NULL;
	uint64_t *at = NULL;
	bool is_new = false;
	void *item = NULL;
	int r_parse = parse_fields(thread_tags, ARRAY_LEN(thread_tags), c, &t, err);
	int r = map_add(&f->thread_at, t.number, &at, &is_new, err);

	if (r == 0 && is_new) {
		*at = f->n_threads;
		r = append(&f->thread, &f->n_threads, &f->cap_threads, sizeof(t), &item, err);
	}
	if (r < 0) {
		free_thread(&t);
		return r;
	}
	old = &f->thread[*at];
	old->number = t.number;
	if (t.tid)
		old->tid = t.tid;
	if (t.start_ticks)
		old->start_ticks = t.start_ticks;
	if (t.end_ticks)
		old->end_ticks = t.end_ticks;
	if (t.name.bytes) {
		free(old->name.bytes);
		old->name = t.name;
	}
	return r_parse;
}

static int add_embedded(struct metadata *f, struct cursor *c, struct err *err)
{
	uint64_t *at = NULL;
	void *item = NULL;
	int r_parse, r;

	r = append(&f->embedded, &f->n_embedded, &f->cap_embedded, sizeof(*f->embedded), &item,
		   err);
	if (r < 0)
		return r;
	r_parse = parse_fields(file_tags, ARRAY_LEN(file_tags), c, item, err);
	r = map_add(&f->embedded_at, f->embedded[f->n_embedded - 1].id, &at, NULL, err);
	if (r < 0)
		return r;
	*at = f->n_embedded - 1;
	return r_parse;
}

static int add_allocator_sample(struct metadata *f, struct cursor *c, struct err *err)
{
	struct metadata_allocator_sample *s;
	void *p = NULL;
	int r = append(&f->allocator_sample, &f->n_allocator_samples, &f->cap_allocator_samples,
		       sizeof(*f->allocator_sample), &p, err);

	if (r < 0)
		return r;
	s = p;
	s->allocated_bytes = s->active_bytes = s->metadata_bytes = UINT64_MAX;
	s->resident_bytes = s->mapped_bytes = s->retained_bytes = UINT64_MAX;
	return parse_fields(allocator_sample_tags, ARRAY_LEN(allocator_sample_tags), c, s, err);
}

int metadata_add(struct metadata *f, enum format_chunk_type type, const uint8_t *payload,
		 size_t len, struct err *err)
{
	struct cursor c = cursor_make(payload, len);
	void *p = NULL;
	int r;

	switch (type) {
	case CHUNK_PROCESS:
		f->process.is_known = true;
		return parse_fields(process_tags, ARRAY_LEN(process_tags), &c, &f->process, err);
	case CHUNK_END:
		f->end.is_known = true;
		return parse_fields(end_tags, ARRAY_LEN(end_tags), &c, &f->end, err);
	case CHUNK_THREAD:
		return add_thread(f, &c, err);
	case CHUNK_MODULE:
		r = append(&f->module, &f->n_modules, &f->cap_modules, sizeof(*f->module), &p, err);
		return r < 0 ? r : parse_fields(module_tags, ARRAY_LEN(module_tags), &c, p, err);
	case CHUNK_SAMPLE:
		r = append(&f->sample, &f->n_samples, &f->cap_samples, sizeof(*f->sample), &p, err);
		return r < 0 ? r : parse_fields(sample_tags, ARRAY_LEN(sample_tags), &c, p, err);
	case CHUNK_NOTE:
		r = append(&f->note, &f->n_notes, &f->cap_notes, sizeof(*f->note), &p, err);
		return r < 0 ? r : parse_fields(note_tags, ARRAY_LEN(note_tags), &c, p, err);
	case CHUNK_ALLOCATOR:
		r = append(&f->allocator, &f->n_allocators, &f->cap_allocators,
			   sizeof(*f->allocator), &p, err);
		return r < 0 ? r
			     : parse_fields(allocator_tags, ARRAY_LEN(allocator_tags), &c, p, err);
	case CHUNK_ALLOCATOR_SAMPLE:
		return add_allocator_sample(f, &c, err);
	case CHUNK_FILE:
		return add_embedded(f, &c, err);
	default:
		return 0;
	}
}

/* Does an earlier module have the id of the last one? */
static bool is_module_repeated(const struct metadata *f)
{
	size_t last = f->n_modules - 1;

	for (size_t i = last; i-- > 0;) {
		if (f->module[i].id == f->module[last].id)
			return true;
	}
	return false;
}

static void drop_last_module(struct metadata *f)
{
	struct metadata_module *m = &f->module[--f->n_modules];

	free(m->path.bytes);
	free(m->build_id.bytes);
}

/* The last allocator, if an earlier one has its number. */
static void drop_repeated_allocator(struct metadata *f)
{
	const struct metadata_allocator *last = &f->allocator[f->n_allocators - 1];
	size_t i = 0;

	while (f->allocator[i].number != last->number)
		i++;
	if (&f->allocator[i] == last)
		return;
	free(last->name.bytes);
	free(last->prefix.bytes);
	free(last->module.bytes);
	f->n_allocators--;
}

static bool is_note_repeated(const struct metadata *f)
{
	const struct metadata_note *last = &f->note[f->n_notes - 1];

	for (size_t i = 0; i + 1 < f->n_notes && i < MAX_NOTES_COMPARED; i++) {
		if (f->note[i].text.len == last->text.len &&
		    (!last->text.len ||
		     memcmp(f->note[i].text.bytes, last->text.bytes, last->text.len) == 0))
			return true;
	}
	return false;
}

int metadata_add_again(struct metadata *f, enum format_chunk_type type, const uint8_t *payload,
		       size_t len, struct err *err)
{
	size_t n_modules = f->n_modules, n_notes = f->n_notes, n_allocators = f->n_allocators;
	int r;

	if (type == CHUNK_PROCESS && f->process.is_known)
		return 0;
	r = metadata_add(f, type, payload, len, err);
	if (f->n_modules > n_modules && is_module_repeated(f))
		drop_last_module(f);
	if (f->n_allocators > n_allocators)
		drop_repeated_allocator(f);
	if (f->n_notes > n_notes && is_note_repeated(f))
		free(f->note[--f->n_notes].text.bytes);
	return r;
}

void metadata_add_file_data(struct metadata *f, const uint8_t *head, uint64_t n_bytes)
{
	const uint64_t *at = map_find(&f->embedded_at, load_le32(head));
	uint64_t offset = load_le64(head + 8);
	struct metadata_file *e = at ? &f->embedded[*at] : NULL;

	if (!e)
		return;
	if (offset == e->covered_bytes)
		e->covered_bytes += n_bytes;
	if (n_bytes == 0 && offset == e->size_bytes && e->covered_bytes == e->size_bytes)
		e->is_complete = true;
}

const struct metadata_thread *metadata_find_thread(const struct metadata *f, uint64_t number)
{
	const uint64_t *at = map_find(&f->thread_at, number);

	return at ? &f->thread[*at] : NULL;
}

static void free_process(struct metadata_process *p)
{
	for (size_t i = 0; i < ARRAY_LEN(process_tags); i++) {
		if (process_tags[i].is_text)
			free(((struct metadata_text *)(void *)((char *)p + process_tags[i].offset))
				     ->bytes);
	}
}

void metadata_fini(struct metadata *f)
{
	map_residency_fini(&f->residency);
	free_process(&f->process);
	for (size_t i = 0; i < f->n_modules; i++) {
		free(f->module[i].path.bytes);
		free(f->module[i].build_id.bytes);
	}
	for (size_t i = 0; i < f->n_threads; i++)
		free_thread(&f->thread[i]);
	for (size_t i = 0; i < f->n_notes; i++)
		free(f->note[i].text.bytes);
	for (size_t i = 0; i < f->n_allocators; i++) {
		free(f->allocator[i].name.bytes);
		free(f->allocator[i].prefix.bytes);
		free(f->allocator[i].module.bytes);
	}
	for (size_t i = 0; i < f->n_embedded; i++) {
		free(f->embedded[i].path.bytes);
		free(f->embedded[i].build_id.bytes);
	}
	free(f->module);
	free(f->thread);
	free(f->sample);
	free(f->note);
	free(f->allocator);
	free(f->allocator_sample);
	free(f->embedded);
	free(f->maps.bytes);
	map_fini(&f->thread_at);
	map_fini(&f->embedded_at);
	*f = (struct metadata){0};
}

static void on_summary(void *user, const struct dropped_summary *s)
{
	struct metadata_dropped *d = user;

	d->has_threshold = s->has_threshold && (d->n_runs == 0 || d->has_threshold);
	d->n_runs++;
	if (s->threshold_ns > d->threshold_ns)
		d->threshold_ns = s->threshold_ns;
	d->n_allocations += s->n_allocations;
	d->n_bytes += s->n_bytes;
	d->n_events += s->n_events;
}

int metadata_add_dropped(struct metadata *f, const uint8_t *data, size_t len, struct err *err)
{
	const struct dropped_callbacks callbacks = {.user = &f->dropped, .on_summary = on_summary};

	return dropped_chunk_decode(data, len, &callbacks, err);
}
