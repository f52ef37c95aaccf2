/* script/core.c - the table of primitives that prelude.lua gets: files, output, userdata. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script/script_i.h"

#include "export/export.h"
#include "query/filter_tree.h"

int script_raise(lua_State *l, const struct err *err)
{
	script_check(l); /* says better why a query was cancelled */
	return luaL_error(l, "%s", err->text);
}

/* ---- memory that Lua frees ---- */

struct hold {
	void (*fini)(void *memory);
	max_align_t memory[];
};

static int hold_gc(lua_State *l)
{
	struct hold *h = luaL_checkudata(l, 1, SCRIPT_HOLD);

	if (h->fini)
		h->fini(h->memory);
	h->fini = NULL;
	return 0;
}

void *script_hold(lua_State *l, size_t n_bytes, void (*fini)(void *memory))
{
	struct hold *h = lua_newuserdatauv(l, sizeof(*h) + n_bytes, 0);

	memset(h, 0, sizeof(*h) + n_bytes);
	luaL_setmetatable(l, SCRIPT_HOLD);
	h->fini = fini;
	return h->memory;
}

/* ---- recordings ---- */

void core_push_data(lua_State *l, const struct script_data *d)
{
	struct script_data *own = lua_newuserdatauv(l, sizeof(*own), 0);

	*own = *d;
	luaL_setmetatable(l, SCRIPT_DATA);
}

struct script_data *core_data(lua_State *l, int arg)
{
	return luaL_checkudata(l, arg, SCRIPT_DATA);
}

/* open(path) -> data */
static int core_open_recording(lua_State *l)
{
	struct script *s = script_of(l);
	const char *path = luaL_checkstring(l, 1);
	struct script_data d;
	struct err err = {0};

	if (!s->options.host->open)
		return luaL_error(l, "open: scripts in the server see one recording only; use "
				     "'memory-profiler-cli script'");
	if (s->options.host->open(s->options.host->user, path, &d, &err) < 0)
		return script_raise(l, &err);
	core_push_data(l, &d);
	return 1;
}

/* ---- output ---- */

#define PRINT_BYTES 16 /* that a text counts as besides its own: empty lines are not free */

/* print(text): as it is */
static int core_print(lua_State *l)
{
	struct script *s = script_of(l);
	size_t len, max = s->options.max_output_bytes;
	const char *text = luaL_checklstring(l, 1, &len);

	script_check(l);
	len += PRINT_BYTES;
	if (max && len > max - s->output_bytes)
		return luaL_error(l, "the script printed more than %d KiB", (int)(max >> 10));
	s->output_bytes += len;
	s->options.host->print(s->options.host->user, text, len - PRINT_BYTES);
	return 0;
}

/* A file of the host while a C function writes it. */
struct output {
	const struct script_host *host;
	FILE *file;
};

static void output_fini(void *memory)
{
	struct output *o = memory;

	struct err err;

	if (o->file)
		o->host->close(o->host->user, o->file, false, &err);
	o->file = NULL;
}

static struct output *output_open(lua_State *l, const char *path)
{
	struct output *o = script_hold(l, sizeof(*o), output_fini);
	struct err err = {0};

	script_check(l);
	o->host = script_of(l)->options.host;
	if (o->host->create(o->host->user, path, &o->file, &err) < 0)
		script_raise(l, &err);
	return o;
}

static void output_close(lua_State *l, struct output *o)
{
	struct err err = {0};
	FILE *file = o->file;

	o->file = NULL;
	if (o->host->close(o->host->user, file, true, &err) < 0)
		script_raise(l, &err);
}

/* save(path, text) */
static int core_save(lua_State *l)
{
	size_t len;
	const char *path = luaL_checkstring(l, 1), *text = luaL_checklstring(l, 2, &len);
	struct output *o = output_open(l, path);

	if (fwrite(text, 1, len, o->file) != len) {
		int e = errno;

		output_fini(o);
		return luaL_error(l, "cannot write '%s': %s", path, strerror(e));
	}
	output_close(l, o);
	return 0;
}

/* export(query, format, path, {name = value}) */
static int core_export(lua_State *l)
{
	struct script_query *q = core_query(l, 1);
	const char *name = luaL_checkstring(l, 2), *path = luaL_checkstring(l, 3);
	const struct export_format *f = export_find(name);
	struct export_options o = {.context = &q->context, .filter = &q->tree->filter};
	struct err err = {0};
	struct output *out;

	luaL_checktype(l, 4, LUA_TTABLE);
	if (!f || strcmp(f->name, "html") == 0)
		return luaL_error(l,
				  "there is no format '%s' for scripts; see "
				  "'memory-profiler-cli export --help'",
				  name);
	for (lua_pushnil(l); lua_next(l, 4); lua_pop(l, 1)) {
		const char *value = luaL_tolstring(l, -1, NULL);
		const char *option = lua_type(l, -3) == LUA_TSTRING ? lua_tostring(l, -3) : "";
		int r = export_set(&o, option, value, &err);

		if (r < 0)
			return script_raise(l, &err);
		if (r == 0)
			return luaL_error(l, "exports have no option '%s'", option);
		lua_pop(l, 1);
	}
	out = output_open(l, path);
	if (export_write(f, q->query, &o, out->file, &err) < 0) {
		output_fini(out); /* now: the host has one file at a time */
		return script_raise(l, &err);
	}
	output_close(l, out);
	return 0;
}

/* formats() -> {{name, suffix, help}} */
static int core_formats(lua_State *l)
{
	size_t n;
	const struct export_format *f = export_formats(&n);

	lua_newtable(l);
	for (size_t i = 0; i < n; i++) {
		lua_newtable(l);
		core_set_text(l, "name", f[i].name);
		core_set_text(l, "suffix", f[i].suffix);
		core_set_text(l, "help", f[i].help);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* exit(status) */
static int core_exit(lua_State *l)
{
	struct script *s = script_of(l);
	lua_Integer status = luaL_optinteger(l, 1, 0);

	luaL_argcheck(l, status >= 0 && status <= 255, 1, "a status is from 0 to 255");
	if (!atomic_load(&s->stop))
		s->exit_status = (int)status;
	script_stop(s, STOP_EXIT);
	script_check(l);
	return 0;
}

/* ---- the table ---- */

void core_add_type(lua_State *l, const char *name, lua_CFunction gc)
{
	luaL_newmetatable(l, name);
	lua_pushboolean(l, false);
	lua_setfield(l, -2, "__metatable"); /* scripts do not see it */
	if (gc) {
		lua_pushcfunction(l, gc);
		lua_setfield(l, -2, "__gc");
	}
	lua_pop(l, 1);
}

void core_open(lua_State *l)
{
	static const luaL_Reg functions[] = {
		{"open", core_open_recording},
		{"print", core_print},
		{"save", core_save},
		{"export", core_export},
		{"formats", core_formats},
		{"exit", core_exit},
		{NULL, NULL},
	};

	core_add_type(l, SCRIPT_HOLD, hold_gc);
	core_add_type(l, SCRIPT_DATA, NULL);
	core_list_types(l);
	luaL_newlib(l, functions);
	luaL_setfuncs(l, core_list_functions, 0);
	luaL_setfuncs(l, core_facts_functions, 0);
	lua_pushboolean(l, script_of(l)->options.has_files);
	lua_setfield(l, -2, "has_files");
}
