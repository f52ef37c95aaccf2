/* export/export_json.c - all that is known, as JSON: one object, streamed.
 *
 * Rows name their backtraces by number; each backtrace that occurs comes once, after all rows.
 * Times are nanoseconds since the start of the recording; null means never or none.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export_i.h"
#include "export/row_text.h"
#include "query/query_json.h"

struct json_rows {
	struct json json;
	const struct store *store;
	struct frames *frames;
	struct frame_rules *rules;
	uint8_t *is_used; /* by stack */
	uint64_t n_rows;
	struct err *err;
	int result;
};

static void put_recording(struct json *j, const struct export_options *o)
{
	const struct store *s = o->context->store;
	const struct store_facts *f = store_facts(s);

	json_object(j, "recording");
	json_text(j, "title", export_title(o));
	json_text(j, "executable", store_string(s, f->executable, NULL));
	json_u64(j, "pid", f->pid);
	json_u64(j, "started_unix_ns", f->start_realtime_ns);
	json_u64(j, "duration_ns", f->duration_ns);
	json_bool(j, "is_complete", f->is_complete);
	json_u64(j, "lost_events", f->lost_events);
	json_u64(j, "allocations", f->n_rows);
	json_u64(j, "bytes", f->n_bytes);
	json_u64(j, "leaked_count", f->live_count);
	json_u64(j, "leaked_bytes", f->live_bytes);
	json_u64(j, "peak_bytes", f->peak_bytes);
	json_u64(j, "peak_ns", f->peak_ns);
	json_end_object(j);
}

static bool put_frame(void *user, const struct frame *f)
{
	struct json_rows *w = user;

	query_json_frame(&w->json, NULL, f, frame_class_by(w->rules, f), true);
	return true;
}

static int put_frames(struct json_rows *w, uint32_t stack)
{
	int r;

	json_array(&w->json, "frames");
	r = frames_each(w->frames, stack, put_frame, w, w->err);
	json_end_array(&w->json);
	return r < 0 ? r : export_check(w->json.out, w->err);
}

static void put_number(struct row_text *t, const char *name, uint64_t v)
{
	row_text_put(t, name);
	row_text_u64(t, v);
}

static void put_bool(struct row_text *t, const char *name, bool v)
{
	row_text_put(t, name);
	row_text_put(t, v ? "true" : "false");
}

static void put_release(struct json_rows *w, struct row_text *t, const struct query_row *r)
{
	if (r->free_ns == UINT64_MAX) {
		row_text_put(t, ",\"released\":null");
		return;
	}
	put_number(t, ",\"released\":{\"at_ns\":", r->free_ns);
	put_number(t, ",\"thread\":", store_tid(w->store, r->free_thread));
	if (r->free_stack)
		put_number(t, ",\"backtrace\":", r->free_stack);
	else
		row_text_put(t, ",\"backtrace\":null");
	row_text_put(t, "}");
	w->is_used[r->free_stack] = 1;
}

/* Without json_write.h, which is slower: there is one object per row, and no text needs
 * escaping. */
static bool put_row(void *user, const struct query_row *r)
{
	struct json_rows *w = user;
	struct row_text t = {.n = 0};

	put_number(&t, w->n_rows++ ? ",\n{\"id\":" : "\n{\"id\":", r->row);
	row_text_put(&t, ",\"address\":\"0x");
	row_text_hex(&t, r->addr);
	put_number(&t, "\",\"size\":", r->size_bytes);
	put_number(&t, ",\"extra\":", r->extra_bytes);
	row_text_put(&t, ",\"kind\":\"");
	row_text_put(&t, store_kind_name(r->flags));
	put_number(&t, "\",\"at_ns\":", r->alloc_ns);
	put_number(&t, ",\"thread\":", store_tid(w->store, r->thread));
	put_number(&t, ",\"backtrace\":", r->stack);
	put_release(w, &t, r);
	put_bool(&t, ",\"is_temporary\":", r->flags & STORE_FLAG_TEMPORARY);
	put_bool(&t, ",\"is_mmaped\":", r->flags & STORE_FLAG_MMAPED);
	put_bool(&t, ",\"in_main_arena\":", r->flags & STORE_FLAG_MAIN_ARENA);
	if (r->marker)
		put_number(&t, ",\"marker\":", r->marker);
	if (r->chain != UINT64_MAX) {
		put_number(&t, ",\"chain\":", r->chain);
		put_number(&t, ",\"position_in_chain\":", r->chain_position);
	}
	row_text_put(&t, "}");
	row_text_write(&t, w->json.out);
	w->is_used[r->stack] = 1;
	w->result = export_check(w->json.out, w->err);
	return w->result == 0;
}

static int put_backtraces(struct json_rows *w)
{
	size_t n = store_n_stacks(w->store);
	int r = 0;

	json_array(&w->json, "backtraces");
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!w->is_used[i])
			continue;
		putc('\n', w->json.out);
		json_object(&w->json, NULL);
		json_u64(&w->json, "id", i);
		r = put_frames(w, (uint32_t)i);
		json_end_object(&w->json);
	}
	json_end_array(&w->json);
	return r;
}

static void begin(struct json_rows *w, const struct export_options *o, const char *what)
{
	json_object(&w->json, NULL);
	json_text(&w->json, "format", what);
	json_u64(&w->json, "version", 1);
	put_recording(&w->json, o);
}

int export_json(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	const struct query_page page = {.sort = QUERY_BY_TIME, .count = UINT64_MAX};
	struct json_rows w = {.store = o->context->store,
			      .frames = o->context->frames,
			      .rules = query_rules(q),
			      .err = err};
	int r;

	w.is_used = calloc(store_n_stacks(w.store) + 1, 1);
	if (!w.is_used)
		return err_set_memory(err, store_n_stacks(w.store));
	json_init(&w.json, out);
	begin(&w, o, "memory-profiler allocations");
	json_array(&w.json, "allocations");
	r = query_rows(q, &page, put_row, &w, NULL, err);
	r = w.result < 0 ? w.result : r;
	json_end_array(&w.json);
	if (r == 0)
		r = put_backtraces(&w);
	json_end_object(&w.json);
	json_line(&w.json);
	free(w.is_used);
	return r;
}

static void put_group(struct json *j, const struct query_group *g)
{
	query_json_cost(j, g);
	json_u64(j, "min_size", g->min_size_bytes);
	json_u64(j, "max_size", g->max_size_bytes);
	json_u64(j, "first_ns", g->first_ns);
	json_u64(j, "last_ns", g->last_ns);
	json_u64(j, "lifetime_sum_ns", g->lifetime_sum_ns);
}

int export_json_groups(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct json_rows w = {.store = o->context->store,
			      .frames = o->context->frames,
			      .rules = query_rules(q),
			      .err = err};
	struct export_stacks s;
	int r = export_stacks_init(&s, q, o, err);

	if (r < 0)
		return r;
	json_init(&w.json, out);
	begin(&w, o, "memory-profiler groups");
	json_object(&w.json, "total");
	put_group(&w.json, &s.groups.total);
	json_end_object(&w.json);
	json_array(&w.json, "groups");
	for (size_t i = 0; i < s.groups.n && r == 0; i++) {
		putc('\n', out);
		json_object(&w.json, NULL);
		json_u64(&w.json, "backtrace", s.groups.group[i].key);
		put_group(&w.json, &s.groups.group[i]);
		r = put_frames(&w, (uint32_t)s.groups.group[i].key);
		json_end_object(&w.json);
	}
	json_end_array(&w.json);
	json_end_object(&w.json);
	json_line(&w.json);
	export_stacks_fini(&s);
	return r;
}
