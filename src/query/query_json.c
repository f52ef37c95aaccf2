/* query/query_json.c - see query_json.h. */
#include "query/query_json.h"

#include "query/frame_package.h"

static void put_known(struct json *j, const char *name, uint64_t value)
{
	if (value)
		json_u64(j, name, value);
	else
		json_null(j, name);
}

/* What both shapes have, but for the end of the object. */
static void begin_frame(struct json *j, const char *name, const struct frame *f,
			enum frame_class class, const char *title)
{
	char package[FRAME_PACKAGE_BYTES];

	frame_package(f, package);
	json_object(j, name);
	json_text(j, "function", title ? title : f->function);
	json_text(j, "source", title ? NULL : f->source);
	put_known(j, "line", title ? 0 : f->line);
	json_text(j, "module", f->module);
	json_hex(j, "address", f->addr);
	json_bool(j, "is_inline", f->is_inline);
	json_text(j, "class", frame_class_name(class));
	json_text(j, "package", package);
}

void query_json_run(struct json *j, const char *name, const struct frame *f, enum frame_class class,
		    const char *title)
{
	begin_frame(j, name, f, class, title);
	json_end_object(j);
}

void query_json_frame(struct json *j, const char *name, const struct frame *f,
		      enum frame_class class, bool in_full)
{
	begin_frame(j, name, f, class, NULL);
	if (in_full) {
		json_text(j, "raw_function", f->raw_function);
		put_known(j, "column", f->column);
		json_hex(j, "module_offset", f->module_offset);
	}
	json_end_object(j);
}

void query_json_cost(struct json *j, const struct query_group *g)
{
	json_u64(j, "allocations", g->n_allocs);
	json_u64(j, "bytes", g->n_bytes);
	json_u64(j, "leaked_count", g->n_leaked);
	json_u64(j, "leaked_bytes", g->leaked_bytes);
	json_u64(j, "temporary_count", g->n_temporary);
	json_u64(j, "temporary_bytes", g->temporary_bytes);
	json_u64(j, "extra_bytes", g->extra_bytes);
	json_u64(j, "peak_count", g->peak_count);
	json_u64(j, "peak_bytes", g->peak_bytes);
}
