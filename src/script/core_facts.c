/* script/core_facts.c - primitives about a recording as a whole: facts, frames, markers, moments, and the
 * questions of the REST API. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "script/script_i.h"

#include "query/frame_class.h"
#include "query/frame_package.h"
#include "util/human.h"

#define MAX_ANSWER_BYTES ((size_t)32 << 20)

/* facts(data) -> table; the figures of the whole recording come from total() and ask() */
static int core_facts(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	const struct store_facts *f = store_facts(d->context.store);

	lua_newtable(l);
	core_set_text(l, "name", d->name);
	core_set_text(l, "executable", store_string(d->context.store, f->executable, NULL));
	core_set_text(l, "ended", store_string(d->context.store, f->ended, NULL));
	core_set_u64(l, "pid", f->pid);
	core_set_u64(l, "duration_ns", f->duration_ns);
	core_set_u64(l, "started_at_ns", f->start_realtime_ns);
	core_set_u64(l, "allocations", f->n_rows);
	core_set_u64(l, "stacks", store_n_stacks(d->context.store));
	lua_pushboolean(l, f->is_complete);
	lua_setfield(l, -2, "is_complete");
	return 1;
}

/* moment(data, text) -> ns since the start, of a text such as 50% or 1m30s */
static int core_moment(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	const struct store_facts *f = store_facts(d->context.store);
	struct filter_time t;
	uint64_t ns;

	if (!filter_value_time(luaL_checkstring(l, 2), false, &t))
		return luaL_error(l,
				  "'%s' is no time: write a number of ns, s(90), '50%%' or "
				  "'1m30s'",
				  lua_tostring(l, 2));
	ns = t.ns;
	if (t.kind == FILTER_TIME_PERCENT)
		ns = (uint64_t)((double)f->duration_ns * t.percent / 100);
	else if (t.kind == FILTER_TIME_UNIX)
		ns = t.ns > f->start_realtime_ns ? t.ns - f->start_realtime_ns : 0;
	lua_pushinteger(l, (lua_Integer)ns);
	return 1;
}

/* markers(data) -> {{at, value, thread}} in the order of time */
static int core_markers(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	size_t n;
	const struct store_call *c = store_table(d->context.store, STORE_CALLS, &n);
	lua_Integer n_markers = 0;

	lua_newtable(l);
	for (size_t i = 0; i < n; i++) {
		if (c[i].kind != STORE_CALL_MARKER)
			continue;
		script_check(l);
		lua_createtable(l, 0, 3);
		core_set_u64(l, "at", c[i].at_ns);
		core_set_u64(l, "value", c[i].field[0]);
		core_set_u64(l, "thread", store_tid(d->context.store, c[i].thread));
		lua_rawseti(l, -2, ++n_markers);
	}
	return 1;
}

/* ---- frames ---- */

struct frame_list {
	const struct frame **frame; /* owned */
	size_t n;
};

static void fini_frames(void *memory)
{
	free(((struct frame_list *)memory)->frame);
}

static void push_frame(lua_State *l, const struct frame *f, struct frame_rules *rules)
{
	char package[FRAME_PACKAGE_BYTES], label[FRAME_LABEL_BYTES];

	lua_createtable(l, 0, 10);
	core_set_text(l, "name", frame_label(f, label));
	core_set_text(l, "function", f->function);
	core_set_text(l, "raw_function", f->raw_function);
	core_set_text(l, "source", f->source);
	core_set_text(l, "module", f->module);
	core_set_u64(l, "address", f->addr);
	if (f->line)
		core_set_u64(l, "line", f->line);
	lua_pushboolean(l, f->is_inline);
	lua_setfield(l, -2, "is_inline");
	core_set_text(l, "class", frame_class_name(frame_class_by(rules, f)));
	frame_package(f, package);
	core_set_text(l, "package", package);
}

/* frames(data, stack) -> {frame}, innermost first, and the index of the frame to blame or nil */
static int core_frames(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	const struct store *store = d->context.store;
	lua_Integer stack = luaL_checkinteger(l, 2), blame_index = 0;
	struct frame_list *list = script_hold(l, sizeof(*list), fini_frames);
	struct frame_rules rules = {
		.executable = store_string(store, store_facts(store)->executable, NULL)};
	const struct frame *blame;
	struct err err = {0};

	script_check(l);
	if (stack < 0 || (uint64_t)stack >= store_n_stacks(store))
		return luaL_error(l, "there is no backtrace %I", (LUAI_UACINT)stack);
	if (frames_list(d->context.frames, (uint32_t)stack, &list->frame, &list->n, &err) < 0)
		return script_raise(l, &err);
	blame = frame_class_blame(&rules, d->context.frames, (uint32_t)stack, &err);
	lua_createtable(l, (int)list->n, 0);
	for (size_t i = 0; i < list->n; i++) {
		if (list->frame[i] == blame && !blame_index)
			blame_index = (lua_Integer)i + 1;
		push_frame(l, list->frame[i], &rules);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	if (blame_index)
		lua_pushinteger(l, blame_index);
	else
		lua_pushnil(l);
	return 2;
}

/* ---- the REST API ---- */

/* An answer while it is written. */
struct answer {
	FILE *file;
	char *text; /* owned */
	size_t len;
};

static void fini_answer(void *memory)
{
	struct answer *a = memory;

	if (a->file)
		fclose(a->file);
	free(a->text);
}

/* ask(data, question) -> JSON */
static int core_ask(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	struct script *s = script_of(l);
	const char *question = luaL_checkstring(l, 2);
	struct answer *a = script_hold(l, sizeof(*a), fini_answer);
	struct err err = {0};
	int r;

	script_check(l);
	if (!d->ask)
		return luaL_error(l, "questions of the REST API are not answered here");
	a->file = open_memstream(&a->text, &a->len);
	if (!a->file)
		return luaL_error(l, "not enough memory");
	r = d->ask(d->ask_user, question, &s->stop, a->file, &err);
	fclose(a->file);
	a->file = NULL;
	if (r < 0)
		return script_raise(l, &err);
	if (a->len > MAX_ANSWER_BYTES)
		return luaL_error(l, "the answer to '%s' has more than 32 MiB; ask for less",
				  question);
	lua_pushlstring(l, a->text, a->len);
	return 1;
}

/* parameters() -> {name = {type = text, choices = text}}, the conditions of filters */
static int core_parameters(lua_State *l)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	lua_newtable(l);
	for (size_t i = 0; i < n; i++) {
		lua_newtable(l);
		core_set_text(l, "type", p[i].type);
		core_set_text(l, "choices", p[i].choices);
		lua_setfield(l, -2, p[i].name);
	}
	return 1;
}

/* human("size"|"duration"|"count", n) -> text */
static int core_human(lua_State *l)
{
	static const char *const name[] = {"size", "duration", "count", NULL};
	static char *(*const make[])(uint64_t, char *) = {human_size, human_duration, human_count};
	int kind = luaL_checkoption(l, 1, NULL, name);
	lua_Number n = luaL_checknumber(l, 2);
	char text[HUMAN_BYTES];
	bool is_negative = n < 0;
	uint64_t value = lua_isinteger(l, 2) ? (uint64_t)lua_tointeger(l, 2) : (uint64_t)fabs(n);

	if (!(fabs(n) < 1.8e19))
		return luaL_error(l, "the number is too large");
	if (is_negative && lua_isinteger(l, 2))
		value = -value;
	lua_pushfstring(l, "%s%s", is_negative ? "-" : "", make[kind](value, text));
	return 1;
}

const luaL_Reg core_facts_functions[] = {
	{"facts", core_facts},     {"moment", core_moment},
	{"markers", core_markers}, {"frames", core_frames},
	{"ask", core_ask},         {"parameters", core_parameters},
	{"human", core_human},     {NULL, NULL},
};
