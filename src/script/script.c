/* script/script.c - see script.h. */
#include "script/script.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "script/script_i.h"

/* ---- life ---- */

#define PRELUDE "prelude" /* the name of its chunk */

/* A C function: libraries, primitives, prelude. The error of the prelude is ours. */
static int open_all(lua_State *l)
{
	struct script *s = script_of(l);

	sandbox_open_libraries(l);
	if (luaL_loadbufferx(l, prelude_text, strlen(prelude_text), "=" PRELUDE, "t") != LUA_OK)
		return lua_error(l);
	core_open(l);
	lua_newtable(l);
	for (size_t i = 0; i < s->options.n_arguments; i++) {
		lua_pushstring(l, s->options.argument[i]);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	lua_newtable(l);
	for (size_t i = 0; i < s->options.n_data; i++) {
		core_push_data(l, &s->options.data[i]);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	lua_call(l, 3, 0);
	return 0;
}

int script_create(const struct script_options *o, struct script **ret, struct err *err)
{
	struct script *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->options = *o;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->lua = sandbox_open(s);
	if (!s->lua) {
		r = err_set_memory(err, 0);
	} else {
		lua_pushcfunction(s->lua, open_all);
		if (lua_pcall(s->lua, 0, 0, 0) != LUA_OK)
			r = err_set(err, ERR_LIMIT, "cannot start the script: %s",
				    lua_isstring(s->lua, -1) ? lua_tostring(s->lua, -1) : "error");
	}
	if (r == 0)
		*ret = s;
	else
		script_destroy(s);
	return r;
}

void script_destroy(struct script *s)
{
	if (!s)
		return;
	if (s->lua)
		lua_close(s->lua);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- running ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct chunk {
	const char *name, *code;
	size_t len;
	bool is_line; /* of a prompt: the values of an expression are printed */
	bool is_incomplete;
	struct script_result *result;
};

/* Does the text end before its last statement does? */
static bool is_cut(lua_State *l)
{
	static const char mark[] = "<eof>";
	size_t len;
	const char *text = lua_tolstring(l, -1, &len);

	return text && len >= sizeof(mark) - 1 &&
	       strcmp(text + len - (sizeof(mark) - 1), mark) == 0;
}

/* Pushes the compiled chunk, or raises its error. */
static void load(lua_State *l, struct chunk *c)
{
	if (c->is_line) {
		lua_pushliteral(l, "return ");
		lua_pushlstring(l, c->code, c->len);
		lua_concat(l, 2);
		if (luaL_loadbufferx(l, lua_tostring(l, -1), c->len + strlen("return "), c->name,
				     "t") == LUA_OK)
			return;
	}
	if (luaL_loadbufferx(l, c->code, c->len, c->name, "t") == LUA_OK)
		return;
	c->is_incomplete = is_cut(l);
	lua_error(l);
}

/* A C function whose argument is a struct chunk. */
static int run_chunk(lua_State *l)
{
	struct chunk *c = lua_touserdata(l, 1);
	int n;

	lua_settop(l, 0);
	load(l, c);
	n = lua_gettop(l);
	lua_call(l, 0, c->is_line ? LUA_MULTRET : 0);
	if (c->is_line && lua_gettop(l) >= n) {
		lua_getglobal(l, "print");
		lua_insert(l, n);
		lua_call(l, lua_gettop(l) - n, 0);
	}
	return 0;
}

/* The text without a position in the prelude. */
static const char *skip_prelude(const char *text)
{
	const char *end;

	if (strncmp(text, PRELUDE ":", sizeof(PRELUDE)) != 0)
		return text;
	end = strstr(text, ": ");
	return end ? end + 2 : text;
}

/* Turns any error value into a text with a position in the script. An error object may have
 * __tostring. */
static int describe_error(lua_State *l)
{
	const char *text = skip_prelude(luaL_tolstring(l, 1, NULL));
	lua_Debug d;

	for (int level = 0; lua_getstack(l, level, &d); level++) {
		size_t len;

		lua_getinfo(l, "Sl", &d);
		len = strlen(d.short_src);
		if (d.currentline <= 0 || strcmp(d.short_src, PRELUDE) == 0)
			continue;
		if (strncmp(text, d.short_src, len) == 0 && text[len] == ':')
			break;
		lua_pushfstring(l, "%s:%d: %s", d.short_src, d.currentline, text);
		return 1;
	}
	lua_pushstring(l, text);
	return 1;
}

/* "leaks.lua:12: text" -> 12 */
static unsigned line_of(const char *message, const char *name)
{
	size_t len = strlen(name);
	unsigned long line = 0;

	if (strncmp(message, name, len) == 0 && message[len] == ':')
		line = strtoul(message + len + 1, NULL, 10);
	return line < UINT32_MAX ? (unsigned)line : 0;
}

static void put_failure(struct script *s, const struct chunk *c)
{
	struct script_result *r = c->result;
	size_t len = 0;
	const char *text = lua_type(s->lua, -1) == LUA_TSTRING ? lua_tolstring(s->lua, -1, &len)
							       : "error in an error object";

	if (atomic_load(&s->stop) && atomic_load(&s->why) == STOP_EXIT) {
		r->status = SCRIPT_EXITED;
		r->exit_status = s->exit_status;
		return;
	}
	r->status = c->is_incomplete ? SCRIPT_INCOMPLETE : SCRIPT_FAILED;
	snprintf(r->message, sizeof(r->message), "%s", text);
	if (strcmp(text, "not enough memory") == 0)
		snprintf(r->message, sizeof(r->message),
			 "not enough memory: the limit of a script is %zu MiB",
			 s->options.max_memory_bytes >> 20);
	r->line = line_of(r->message, c->name + 1);
}

static void run(struct script *s, struct chunk *c)
{
	struct script_result *r = c->result;
	lua_State *l = s->lua;
	uint64_t start_ns = now_ns();
	struct err err = {0};

	*r = (struct script_result){.status = SCRIPT_OK};
	if (watchdog_start(s, &err) < 0) {
		r->status = SCRIPT_FAILED;
		snprintf(r->message, sizeof(r->message), "%s", err.text);
		return;
	}
	lua_settop(l, 0);
	lua_pushcfunction(l, describe_error);
	lua_pushcfunction(l, run_chunk);
	lua_pushlightuserdata(l, c);
	if (lua_pcall(l, 1, 0, 1) != LUA_OK)
		put_failure(s, c);
	lua_settop(l, 0);
	watchdog_end(s);
	r->elapsed_ns = now_ns() - start_ns;
}

void script_run(struct script *s, const char *name, const char *code, size_t len,
		struct script_result *ret)
{
	char chunk_name[256];
	struct chunk c = {.name = chunk_name, .code = code, .len = len, .result = ret};

	snprintf(chunk_name, sizeof(chunk_name), "=%s", name);
	if (len && code[0] == '#') { /* the line that names the interpreter */
		while (c.len && *c.code != '\n') {
			c.code++;
			c.len--;
		}
	}
	run(s, &c);
}

void script_run_line(struct script *s, const char *code, size_t len, struct script_result *ret)
{
	struct chunk c = {
		.name = "=line", .code = code, .len = len, .is_line = true, .result = ret};

	run(s, &c);
}
