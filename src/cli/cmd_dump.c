/* cli/cmd_dump.c - `memory-profiler-cli dump`: the events of a recording as JSON lines.
 *
 * For tests and debugging: the events are printed as recorded. Only the two halves of a realloc
 * become one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "ingest/stacks.h"
#include "open/symbol_table.h"
#include "recording/merge.h"
#include "util/json_write.h"
#include "util/vec.h"

/* The reallocs of a lane that have begun and not ended: a stack, since a signal handler may realloc
 * in between. */
struct dump_lane {
	struct event *begun;
	size_t n, cap;
};

struct dump {
	struct json json;
	struct recording *rec;
	struct merge *merge;
	struct stacks *stacks;
	struct symbol_table *symbols;
	struct dump_lane *lane;
	uint8_t *is_shown; /* per stack node: has its line been printed? */
	size_t n_shown; /* length of is_shown */
};

static void put_modules(struct dump *d)
{
	struct json *j = &d->json;

	for (size_t i = 0; i < d->rec->metadata.n_modules; i++) {
		const struct metadata_module *m = &d->rec->metadata.module[i];

		json_object(j, NULL);
		json_text(j, "e", "module");
		json_u64(j, "id", m->id);
		json_text(j, "path", m->path.bytes);
		json_hex(j, "base", m->base);
		json_hex(j, "start", m->start);
		json_hex(j, "end", m->end);
		json_u64(j, "generation", m->generation);
		json_hex_bytes(j, "build_id", (const uint8_t *)m->build_id.bytes, m->build_id.len);
		json_end_object(j);
		json_line(j);
	}
}

/* Prints the names that the recording carries for an address. */
static void put_symbols(struct dump *d, uint64_t module_id, uint64_t offset)
{
	const struct symbol_frame *frame;
	size_t n;

	if (!symbol_table_find(d->symbols, module_id, offset, &frame, &n))
		return;
	json_array(&d->json, "symbols");
	for (size_t i = 0; i < n; i++) {
		json_object(&d->json, NULL);
		json_text(&d->json, "function", frame[i].function);
		json_text(&d->json, "raw_function", frame[i].raw_function);
		json_text(&d->json, "source", frame[i].source);
		json_u64(&d->json, "line", frame[i].line);
		json_u64(&d->json, "column", frame[i].column);
		json_bool(&d->json, "inline", frame[i].is_inline);
		json_end_object(&d->json);
	}
	json_end_array(&d->json);
}

static void put_frame(struct dump *d, const struct stack_node *n)
{
	const struct metadata_module *m =
		n->module == MODULE_MAP_NONE ? NULL : &d->rec->metadata.module[n->module];

	json_object(&d->json, NULL);
	json_hex(&d->json, "addr", n->addr);
	if (m) {
		json_text(&d->json, "module", m->path.bytes);
		json_hex(&d->json, "offset", n->addr - m->base);
	} else {
		json_null(&d->json, "module");
		json_null(&d->json, "offset");
	}
	put_symbols(d, m ? m->id : SYMBOLS_NO_MODULE, m ? n->addr - m->base : n->addr);
	json_end_object(&d->json);
}

static int mark_shown(struct dump *d, uint32_t node, bool *is_new, struct err *err)
{
	size_t old = d->n_shown;
	int r;

	if (node >= d->n_shown) {
		r = vec_reserve(&d->is_shown, &d->n_shown, (size_t)node + 1, 1, err);
		if (r < 0)
			return r;
		memset(d->is_shown + old, 0, d->n_shown - old);
	}
	*is_new = !d->is_shown[node];
	d->is_shown[node] = 1;
	return 0;
}

/* Prints the line of a stack before its first use. */
static int put_stack(struct dump *d, uint32_t node, struct err *err)
{
	const struct stack_node *n = stacks_get(d->stacks, node);
	uint32_t n_frames = n->n_frames, n_certain = n->n_frames;
	bool is_new;
	int r = mark_shown(d, node, &is_new, err);

	if (r < 0 || !is_new)
		return r;
	json_object(&d->json, NULL);
	json_text(&d->json, "e", "stack");
	json_u64(&d->json, "id", node);
	json_array(&d->json, "frames");
	for (uint32_t at = node; n->kind != STACK_NODE_ROOT; at = n->parent) {
		n = stacks_get(d->stacks, at);
		if (n->kind == STACK_NODE_FRAME)
			put_frame(d, n);
		else if (n->kind == STACK_NODE_GUESS && n_certain == n_frames)
			n_certain = n_frames - n->n_frames; /* by the innermost mark */
	}
	json_end_array(&d->json);
	json_text(&d->json, "end", stacks_end_name(stacks_get(d->stacks, node)->end));
	json_u64(&d->json, "n_certain", n_certain);
	json_end_object(&d->json);
	json_line(&d->json);
	return 0;
}

static void begin_event(struct dump *d, const char *name, const struct merge_event *m)
{
	const struct lane_ref *lane = &d->rec->lane[m->lane];
	struct json *j = &d->json;

	json_object(j, NULL);
	json_text(j, "e", name);
	json_u64(j, "t", timebase_ns(&d->rec->time, m->event->ticks));
	json_u64(j, "thread", lane->thread);
	json_u64(j, "tid", d->rec->block[lane->first_block].tid);
	if (lane->lane)
		json_u64(j, "lane", lane->lane);
}

static void end_event(struct dump *d)
{
	json_end_object(&d->json);
	json_line(&d->json);
}

static void put_allocator(struct dump *d, const struct event *ev)
{
	if (ev->allocator)
		json_u64(&d->json, "allocator", ev->allocator);
}

static void put_block(struct dump *d, const struct event *ev)
{
	json_hex(&d->json, "addr", ev->addr);
	json_u64(&d->json, "size", ev->size_bytes);
	json_u64(&d->json, "usable", ev->size_bytes + ev->usable_extra_bytes);
	if (ev->alignment)
		json_u64(&d->json, "alignment", ev->alignment);
	put_allocator(d, ev);
}

static int put_alloc(struct dump *d, const struct merge_event *m, const char *how, struct err *err)
{
	uint32_t node = stacks_find(d->stacks, m->lane, m->event->stack);
	int r = put_stack(d, node, err);

	if (r < 0)
		return r;
	begin_event(d, "alloc", m);
	put_block(d, m->event);
	json_text(&d->json, "how", how);
	json_u64(&d->json, "stack", node);
	end_event(d);
	return 0;
}

static int put_free(struct dump *d, const struct merge_event *m, const struct event *ev,
		    const char *name, struct err *err)
{
	uint32_t node = stacks_find(d->stacks, m->lane, ev->stack);
	int r = put_stack(d, node, err);

	if (r < 0)
		return r;
	begin_event(d, name, m);
	json_hex(&d->json, "addr", ev->addr);
	put_allocator(d, ev);
	json_u64(&d->json, "stack", node);
	end_event(d);
	return 0;
}

/* Takes the realloc that the lane began last; *ret is zeroed if there is none. */
static void pop_begun(struct dump *d, uint32_t lane, struct event *ret)
{
	struct dump_lane *l = &d->lane[lane];

	*ret = (struct event){0};
	if (l->n > 0)
		*ret = l->begun[--l->n];
}

static int push_begun(struct dump *d, const struct merge_event *m, struct err *err)
{
	struct dump_lane *l = &d->lane[m->lane];
	int r = vec_reserve(&l->begun, &l->cap, l->n + 1, sizeof(*l->begun), err);

	if (r == 0)
		l->begun[l->n++] = *m->event;
	return r;
}

static int put_realloc(struct dump *d, const struct merge_event *m, struct err *err)
{
	uint32_t node = stacks_find(d->stacks, m->lane, m->event->stack);
	struct event begun;
	int r = put_stack(d, node, err);

	if (r < 0)
		return r;
	pop_begun(d, m->lane, &begun);
	begin_event(d, "realloc", m);
	json_hex(&d->json, "old", begun.addr);
	put_block(d, m->event);
	json_u64(&d->json, "stack", node);
	end_event(d);
	return 0;
}

/* Names of the rare kinds and of their fields, in the order of docs/FORMAT.md. A first '@' of a
 * field is an address, a first '-' a signed number; "stack" is printed as the node. */
static const struct {
	uint8_t kind;
	const char *name;
	const char *field[EVENT_MAX_FIELDS];
} rare[] = {
	{EVENT_TIME, "time", {NULL}},
	{EVENT_GENERATION, "generation", {"generation"}},
	{EVENT_MMAP, "mmap", {"@addr", "length", "prot", "flags", "-fd", "offset", "stack"}},
	{EVENT_MUNMAP, "munmap", {"@addr", "length", "stack"}},
	{EVENT_MREMAP, "mremap", {"@old", "old_length", "@addr", "length", "flags", "stack"}},
	{EVENT_BRK, "brk", {"@old", "@addr", "stack"}},
	{EVENT_MALLOPT, "mallopt", {"-parameter", "-value", "-result", "stack"}},
	{EVENT_MALLOC_TRIM, "malloc_trim", {"pad", "result", "stack"}},
	{EVENT_MARKER, "marker", {"value"}},
	{EVENT_TIMESTAMP_OVERRIDE, "timestamp_override", {"us"}},
	{EVENT_LOST, "lost", {"events"}},
	{EVENT_SWITCH, "switch", {"on"}},
	{EVENT_PROCESS_END, "process_end", {"how", "status"}},
	{EVENT_EXEC_FAILED, "exec_failed", {"errno"}},
	{EVENT_FORK, "fork", {"pid"}},
	{EVENT_FORGET, "forget", {"stack_id"}},
	{EVENT_ALLOCATOR, "allocator", {"number"}},
	{EVENT_CULLED,
	 "culled",
	 {"allocations", "bytes", "temporary", "temporary_bytes", "min", "max", "stack"}},
	{EVENT_CULLED_REALLOCS,
	 "culled_reallocs",
	 {"reallocations", "bytes", "temporary", "temporary_bytes", "min", "max", "stack"}},
};

static void put_field(struct dump *d, const char *name, uint64_t value)
{
	if (name[0] == '@')
		json_hex(&d->json, name + 1, value);
	else if (name[0] == '-')
		json_i64(&d->json, name + 1, (int64_t)value);
	else
		json_u64(&d->json, name, value);
}

static int put_rare(struct dump *d, const struct merge_event *m, struct err *err)
{
	const struct event *ev = m->event;
	uint32_t node = stacks_find(d->stacks, m->lane, ev->stack);
	size_t i = 0;
	int r = event_is_call(ev->kind) ? put_stack(d, node, err) : 0;

	if (r < 0)
		return r;
	while (i < ARRAY_LEN(rare) && rare[i].kind != ev->kind)
		i++;
	begin_event(d, i < ARRAY_LEN(rare) ? rare[i].name : "unknown", m);
	if (i == ARRAY_LEN(rare))
		json_u64(&d->json, "kind", ev->kind);
	for (size_t k = 0; i < ARRAY_LEN(rare) && k < EVENT_MAX_FIELDS && rare[i].field[k]; k++) {
		const char *name = rare[i].field[k];

		put_field(d, name, strcmp(name, "stack") == 0 ? node : ev->field[k]);
	}
	end_event(d);
	return 0;
}

static int put_event(struct dump *d, const struct merge_event *m, struct err *err)
{
	struct event begun;

	switch (m->event->kind) {
	case EVENT_STACK:
	case EVENT_STACK_END:
	case EVENT_STACK_GUESS:
		return stacks_define(d->stacks, m->lane, m->event, m->generation, err);
	case EVENT_MALLOC:
		return put_alloc(d, m, "malloc", err);
	case EVENT_CALLOC:
		return put_alloc(d, m, "calloc", err);
	case EVENT_ALIGNED:
		return put_alloc(d, m, "aligned", err);
	case EVENT_FREE:
		return put_free(d, m, m->event, "free", err);
	case EVENT_REALLOC_BEGIN:
		return push_begun(d, m, err);
	case EVENT_REALLOC_END:
		return put_realloc(d, m, err);
	case EVENT_REALLOC_FREED:
		pop_begun(d, m->lane, &begun);
		return put_free(d, m, &begun, "free", err);
	case EVENT_REALLOC_CANCEL:
		pop_begun(d, m->lane, &begun);
		return put_free(d, m, &begun, "realloc_failed", err);
	case EVENT_REALLOC_UNTRACKED:
		pop_begun(d, m->lane, &begun);
		return put_free(d, m, &begun, "realloc_untracked", err);
	default:
		return put_rare(d, m, err);
	}
}

static void put_damage(struct dump *d)
{
	for (size_t i = 0; i < d->rec->damage.n_kept; i++) {
		json_object(&d->json, NULL);
		json_text(&d->json, "e", "damage");
		json_u64(&d->json, "offset", d->rec->damage.range[i].offset);
		json_u64(&d->json, "bytes", d->rec->damage.range[i].n_bytes);
		json_text(&d->json, "text", d->rec->damage.range[i].text);
		end_event(d);
	}
}

static int dump_run(const char *const *paths, size_t n_paths, struct err *err)
{
	const char *path = paths[0];
	char label[PROGRESS_LABEL_BYTES];
	struct progress progress = {0};
	struct dump d = {0};
	struct merge_event m;
	int n = recording_open_pieces(paths, n_paths, &d.rec, err);

	if (n < 0)
		return n; /* err names the path */
	if (!isatty(STDOUT_FILENO)) { /* the events would mix with the progress */
		snprintf(label, sizeof(label), "dumping %s", path);
		progress_start(&progress, label, d.rec->event_bytes, PROGRESS_BYTES);
		d.rec->progress = &progress;
	}
	json_init(&d.json, stdout);
	d.lane = calloc(d.rec->n_lanes + 1, sizeof(*d.lane));
	n = d.lane ? merge_create(d.rec, &d.merge, err) : err_set_memory(err, sizeof(*d.lane));
	if (n == 0)
		n = stacks_create(&d.rec->metadata, d.rec->n_lanes, &d.stacks, err);
	if (n == 0)
		n = symbol_table_load(d.rec, &d.symbols, err);
	if (n == 0)
		put_modules(&d);
	while (n == 0 && (n = merge_next(d.merge, &m, err)) > 0)
		n = put_event(&d, &m, err);
	d.rec->progress = NULL;
	progress_end(&progress);
	if (n == 0)
		put_damage(&d);
	else
		err_prefix(err, "%s", path);
	for (size_t i = 0; d.lane && i < d.rec->n_lanes; i++)
		free(d.lane[i].begun);
	free(d.lane);
	free(d.is_shown);
	stacks_destroy(d.stacks);
	symbol_table_destroy(d.symbols);
	merge_destroy(d.merge);
	recording_close(d.rec);
	return n;
}

int cmd_dump(int argc, char **argv)
{
	const struct args_command command = {
		.name = "dump",
		.operands = "FILE...",
		.help = "Prints the events of a recording in order of time, one JSON object per "
			"line: the\n"
			"modules first, each stack before its first use. Several FILEs are the "
			"pieces of one\n"
			"run. For debugging and tests.\n",
		.min_operands = 1,
	};
	struct err err = {0};
	int first, end;
	int status = args_parse(&command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	if (dump_run((const char *const *)argv + first, (size_t)(end - first), &err) == 0)
		return CLI_OK;
	args_complain("%s", err.text);
	return CLI_FAILED;
}
