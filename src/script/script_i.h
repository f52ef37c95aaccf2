/* script/script_i.h - private to script/: the state behind lua_State, and helpers for C functions.
 *
 * A C function that Lua calls may leave by an error at nearly every call of the API, without coming
 * back. So all memory lies in userdata that Lua frees: script_hold().
 */
#ifndef SCRIPT_SCRIPT_I_H
#define SCRIPT_SCRIPT_I_H

#include <pthread.h>
#include <stdatomic.h>

#include "script/lua_api.h"
#include "script/script.h"

enum script_stop {
	STOP_NONE,
	STOP_TIME,
	STOP_CANCEL,
	STOP_EXIT
};

struct script {
	struct script_options options;
	lua_State *lua;
	size_t used_bytes; /* of Lua, and script_charge() */
	size_t output_bytes;
	unsigned n_queries; /* that exist now */

	/* Set by the watchdog or by exit(): the script has to end. Queries look at it, too. */
	atomic_bool stop;
	atomic_int why; /* enum script_stop */
	int exit_status;

	pthread_t watchdog;
	pthread_mutex_t lock; /* guards is_over */
	pthread_cond_t changed;
	bool is_over;
};

static inline struct script *script_of(lua_State *l)
{
	return *(struct script **)lua_getextraspace(l);
}

/* Raises the error of a function of ours. */
int script_raise(lua_State *l, const struct err *err);

/* Raises the error of a stopped script, if it is stopped. Call it in loops of C. */
void script_check(lua_State *l);

/* Pushes zeroed memory that Lua frees with fini(memory). fini may be NULL. */
void *script_hold(lua_State *l, size_t n_bytes, void (*fini)(void *memory));

/* Counts memory of ours as the script's. Raises an error if it is too much. */
void script_charge(lua_State *l, size_t n_bytes);
void script_discharge(struct script *s, size_t n_bytes);

/* script_bounds.c: starts and ends the watchdog of one run. */
void script_stop(struct script *s, enum script_stop why); /* the first reason counts */
int watchdog_start(struct script *s, struct err *err);
void watchdog_end(struct script *s);

/* script_bounds.c: a state within the limits, with the standard functions that scripts may call; NULL: no
 * memory. */
lua_State *sandbox_open(struct script *s);
int sandbox_open_libraries(lua_State *l); /* a C function: call it protected */

/* pattern.c: replaces string.find, match, gmatch and gsub. The table `string` is on top. */
void pattern_open(lua_State *l);

/* core.c: pushes the table of primitives for the prelude. */
void core_open(lua_State *l);
void core_push_data(lua_State *l, const struct script_data *d); /* copies *d */

/* A type of userdata whose metatable scripts do not see; gc may be NULL. */
void core_add_type(lua_State *l, const char *name, lua_CFunction gc);
void core_list_types(lua_State *l);

/* core_list.c, core_facts.c: functions of the table; ends with an item of NULL. */
extern const luaL_Reg core_list_functions[];
extern const luaL_Reg core_facts_functions[];

/* What the userdata hold. The functions raise an error for another value. */
struct script_query {
	struct query *query;
	struct filter_tree *tree;
	struct query_context context;
	struct script *script;
	size_t charged_bytes;
};
#define SCRIPT_DATA "memory_profiler.data"
#define SCRIPT_QUERY "memory_profiler.query"
#define SCRIPT_GROUPS "memory_profiler.groups"
#define SCRIPT_HOLD "memory_profiler.hold"
struct script_data *core_data(lua_State *l, int arg);
struct script_query *core_query(lua_State *l, int arg);

/* Sets a field of the table on top. */
static inline void core_set_u64(lua_State *l, const char *name, uint64_t value)
{
	lua_pushinteger(l, (lua_Integer)value);
	lua_setfield(l, -2, name);
}

static inline void core_set_text(lua_State *l, const char *name, const char *text) /* or NULL */
{
	lua_pushstring(l, text);
	lua_setfield(l, -2, name);
}

extern const char prelude_text[]; /* prelude.lua */

#endif
