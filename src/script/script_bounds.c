/* script/script_bounds.c - the bounds of a script: memory, time, and which standard functions it has.
 *
 * Memory. Lua allocates through allocate(), which refuses what goes beyond the limit. Lua then collects
 * garbage, tries again, and raises "not enough memory".
 *
 * Time. A watchdog thread sets `stop` when the time is over or the caller cancels. Three places look at
 * `stop`: the queries of a script, a hook that Lua calls every HOOK_STEPS instructions, and loops of
 * our C functions. Once a script is stopped, pcall() and its like do not catch errors any more, so that
 * the error ends the script.
 *
 * Functions. Lua calls no hook inside its C functions and inside finalizers (__gc). So scripts get no
 * function that can run for long in C: prelude.lua and pattern.c replace them. Metatables with __gc
 * are refused. Compiled chunks are refused: Lua does not check them, and they can crash it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "script/script_i.h"
#include "util/human.h"

#define HOOK_STEPS 200
#define LARGE_BYTES (64 * KIB) /* a stopped script gets no more blocks of this size */
#define POLL_NS 20000000u /* between two looks at the caller's cancel flag */

static bool is_too_much(const struct script *s, size_t more_bytes)
{
	size_t max = s->options.max_memory_bytes;

	return max && (s->used_bytes > max || more_bytes > max - s->used_bytes);
}

static void *allocate(void *user, void *old, size_t old_bytes, size_t new_bytes)
{
	struct script *s = user;
	void *p;

	if (!old)
		old_bytes = 0; /* Lua says which type it is for */
	if (new_bytes == 0) {
		free(old);
		s->used_bytes -= old_bytes;
		return NULL;
	}
	if (new_bytes > old_bytes &&
	    (is_too_much(s, new_bytes - old_bytes) ||
	     (new_bytes - old_bytes > LARGE_BYTES && atomic_load(&s->stop))))
		return NULL;
	p = realloc(old, new_bytes);
	if (p)
		s->used_bytes += new_bytes - old_bytes;
	return p;
}

void script_charge(lua_State *l, size_t n_bytes)
{
	struct script *s = script_of(l);

	if (is_too_much(s, n_bytes))
		lua_gc(l, LUA_GCCOLLECT);
	if (is_too_much(s, n_bytes))
		luaL_error(l, "not enough memory: the limit of a script is %d MiB",
			   (int)(s->options.max_memory_bytes / MIB)); /* as script.c has it */
	s->used_bytes += n_bytes;
}

void script_discharge(struct script *s, size_t n_bytes)
{
	s->used_bytes -= n_bytes;
}

/* ---- time ---- */

void script_check(lua_State *l)
{
	struct script *s = script_of(l);
	char text[HUMAN_BYTES];

	if (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		return;
	switch (atomic_load(&s->why)) {
	case STOP_TIME:
		luaL_error(l, "the script took longer than %s",
			   human_duration(s->options.max_ns, text));
		break;
	case STOP_CANCEL:
		luaL_error(l, "the script was cancelled");
		break;
	default:
		luaL_error(l, "the script has ended");
		break;
	}
}

static void hook(lua_State *l, lua_Debug *d)
{
	(void)d;
	/* From now on no caller that catches the error gets far. */
	if (atomic_load_explicit(&script_of(l)->stop, memory_order_relaxed))
		lua_sethook(l, hook, LUA_MASKCOUNT, 1);
	script_check(l);
}

static void add_ns(struct timespec *t, uint64_t ns)
{
	ns += (uint64_t)t->tv_nsec;
	t->tv_sec += (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

void script_stop(struct script *s, enum script_stop why)
{
	int none = STOP_NONE;

	atomic_compare_exchange_strong(&s->why, &none, (int)why);
	atomic_store(&s->stop, true);
}

static void *watch(void *user)
{
	struct script *s = user;
	struct timespec now, next, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	add_ns(&end, s->options.max_ns);
	pthread_mutex_lock(&s->lock);
	while (!s->is_over) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (s->options.max_ns && is_later(&now, &end))
			script_stop(s, STOP_TIME);
		if (s->options.cancel && atomic_load(s->options.cancel))
			script_stop(s, STOP_CANCEL);
		clock_gettime(CLOCK_REALTIME, &next); /* the clock of the condition */
		add_ns(&next, POLL_NS);
		pthread_cond_timedwait(&s->changed, &s->lock, &next);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int watchdog_start(struct script *s, struct err *err)
{
	int r;

	atomic_store(&s->stop, false);
	atomic_store(&s->why, STOP_NONE);
	s->is_over = false;
	lua_sethook(s->lua, hook, LUA_MASKCOUNT, HOOK_STEPS);
	if (!s->options.max_ns && !s->options.cancel)
		return 0;
	r = pthread_create(&s->watchdog, NULL, watch, s);
	return r == 0 ? 0 : err_set_errno(err, r, "cannot start a thread");
}

void watchdog_end(struct script *s)
{
	if (!s->options.max_ns && !s->options.cancel)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->watchdog, NULL);
}

/* ---- functions in the place of Lua's ---- */

/* What a protected call gives: true and the results, or false and the error; a stopped script goes on
 * with the error. */
static int finish_call(lua_State *l, int status, lua_KContext n_below)
{
	if (status != LUA_OK && status != LUA_YIELD) {
		script_check(l);
		lua_pushboolean(l, false);
		lua_pushvalue(l, -2);
		return 2;
	}
	return lua_gettop(l) - (int)n_below;
}

static int checked_pcall(lua_State *l)
{
	int status;

	luaL_checkany(l, 1);
	lua_pushboolean(l, true);
	lua_insert(l, 1);
	status = lua_pcallk(l, lua_gettop(l) - 2, LUA_MULTRET, 0, 0, finish_call);
	return finish_call(l, status, 0);
}

/* The script's handler of errors, an upvalue. Lua calls handlers of errors that a hook raises while
 * hooks are off: the handler of a stopped script does not run. */
static int checked_handler(lua_State *l)
{
	if (atomic_load(&script_of(l)->stop))
		return 1;
	lua_pushvalue(l, lua_upvalueindex(1));
	lua_insert(l, 1);
	lua_call(l, lua_gettop(l) - 1, LUA_MULTRET);
	return lua_gettop(l);
}

static int checked_xpcall(lua_State *l)
{
	int n = lua_gettop(l), status;

	luaL_checktype(l, 2, LUA_TFUNCTION);
	lua_pushvalue(l, 2);
	lua_pushcclosure(l, checked_handler, 1);
	lua_replace(l, 2);
	lua_pushboolean(l, true);
	lua_pushvalue(l, 1);
	lua_rotate(l, 3, 2); /* f, handler, true, f, arguments */
	status = lua_pcallk(l, n - 2, LUA_MULTRET, 2, 2, finish_call);
	return finish_call(l, status, 2);
}

/* The finalizer of a table runs where no hook does. Lua looks for __gc here, and never later. */
static int checked_setmetatable(lua_State *l)
{
	luaL_checktype(l, 1, LUA_TTABLE);
	luaL_argexpected(l, lua_isnil(l, 2) || lua_istable(l, 2), 2, "nil or table");
	if (luaL_getmetafield(l, 1, "__metatable") != LUA_TNIL)
		return luaL_error(l, "cannot change a protected metatable");
	if (lua_istable(l, 2)) {
		lua_pushliteral(l, "__gc");
		if (lua_rawget(l, 2) != LUA_TNIL)
			return luaL_error(l, "a metatable with __gc is not allowed");
	}
	lua_settop(l, 2);
	lua_setmetatable(l, 1);
	return 1;
}

/* load(text [, name [, mode [, env]]]): text only. */
static int checked_load(lua_State *l)
{
	size_t len;
	const char *text = luaL_checklstring(l, 1, &len);
	const char *name = luaL_optstring(l, 2, text);
	bool has_environment = lua_gettop(l) >= 4;

	if (luaL_loadbufferx(l, text, len, name, "t") != LUA_OK) {
		lua_pushnil(l);
		lua_insert(l, -2);
		return 2;
	}
	if (has_environment) {
		lua_pushvalue(l, 4);
		if (!lua_setupvalue(l, -2, 1))
			lua_pop(l, 1);
	}
	return 1;
}

static int collect(lua_State *l)
{
	const char *what = luaL_optstring(l, 1, "collect");

	if (strcmp(what, "count") == 0) {
		lua_pushnumber(l, (lua_Number)script_of(l)->used_bytes / 1024);
		return 1;
	}
	if (strcmp(what, "collect") != 0)
		return luaL_error(l, "collectgarbage: write 'collect' or 'count'");
	lua_gc(l, LUA_GCCOLLECT);
	lua_pushinteger(l, 0);
	return 1;
}

/* coroutine.resume and coroutine.close, which are upvalues. An error of the hook leaves the hooks of its
 * coroutine off: a stopped script must not run more of it (the end of variables with <close>). */
static int checked_coroutine(lua_State *l)
{
	script_check(l);
	lua_pushvalue(l, lua_upvalueindex(1));
	lua_insert(l, 1);
	lua_call(l, lua_gettop(l) - 1, LUA_MULTRET);
	script_check(l);
	return lua_gettop(l);
}

/* Puts `check` around the function of the table on top. */
static void wrap_field(lua_State *l, const char *name, lua_CFunction check)
{
	lua_getfield(l, -1, name);
	lua_pushcclosure(l, check, 1);
	lua_setfield(l, -2, name);
}

/* Sets fields of the table on top to nil; names end with NULL. */
static void remove_fields(lua_State *l, const char *const *name)
{
	for (; *name; name++) {
		lua_pushnil(l);
		lua_setfield(l, -2, *name);
	}
}

int sandbox_open_libraries(lua_State *l)
{
	static const luaL_Reg base[] = {
		{"pcall", checked_pcall},
		{"xpcall", checked_xpcall},
		{"setmetatable", checked_setmetatable},
		{"load", checked_load},
		{"collectgarbage", collect},
		{NULL, NULL},
	};
	static const luaL_Reg library[] = {
		{LUA_GNAME, luaopen_base},        {LUA_TABLIBNAME, luaopen_table},
		{LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
		{LUA_UTF8LIBNAME, luaopen_utf8},  {LUA_COLIBNAME, luaopen_coroutine},
	};
	static const char *const unsafe_string[] = {"dump", NULL};
	static const char *const files[] = {"dofile", "loadfile", NULL};
	bool has_files = script_of(l)->options.has_files;

	for (size_t i = 0; i < ARRAY_LEN(library); i++) {
		luaL_requiref(l, library[i].name, library[i].func, 1);
		lua_pop(l, 1);
	}
	if (has_files) {
		luaL_requiref(l, LUA_IOLIBNAME, luaopen_io, 1);
		luaL_requiref(l, LUA_OSLIBNAME, luaopen_os, 1);
		lua_pop(l, 2);
	}
	lua_getglobal(l, LUA_STRLIBNAME);
	remove_fields(l, unsafe_string);
	pattern_open(l);
	lua_getglobal(l, LUA_COLIBNAME);
	wrap_field(l, "resume", checked_coroutine);
	wrap_field(l, "close", checked_coroutine);
	lua_pushglobaltable(l);
	luaL_setfuncs(l, base, 0);
	if (!has_files)
		remove_fields(l, files);
	lua_pop(l, 3);
	return 0;
}

lua_State *sandbox_open(struct script *s)
{
	lua_State *l = lua_newstate(allocate, s);

	if (l)
		*(struct script **)lua_getextraspace(l) = s;
	return l;
}
