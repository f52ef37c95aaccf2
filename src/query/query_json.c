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
	}
	if (in_full || (!f->function && f->module))
		json_hex(j, "module_offset", f->module_offset);
	json_end_object(j);
}

/* The fields of "Cost", in order. */
enum {
	N_COST_FIELDS = 9
};
static const char *const cost_field[N_COST_FIELDS] = {
	"allocations",     "bytes",       "leaked_count", "leaked_bytes", "temporary_count",
	"temporary_bytes", "extra_bytes", "peak_count",   "peak_bytes",
};

static uint64_t cost_value(const struct query_group *g, unsigned field)
{
	const uint64_t value[N_COST_FIELDS] = {
		g->n_allocs,        g->n_bytes,     g->n_leaked,   g->leaked_bytes, g->n_temporary,
		g->temporary_bytes, g->extra_bytes, g->peak_count, g->peak_bytes,
	};

	return value[field];
}

void query_json_cost(struct json *j, const struct query_group *g)
{
	for (unsigned i = 0; i < N_COST_FIELDS; i++)
		json_u64(j, cost_field[i], cost_value(g, i));
}

void query_json_cost_change(struct json *j, const struct query_group *before,
			    const struct query_group *after)
{
	for (unsigned i = 0; i < N_COST_FIELDS; i++)
		json_i64(j, cost_field[i], (int64_t)(cost_value(after, i) - cost_value(before, i)));
}
