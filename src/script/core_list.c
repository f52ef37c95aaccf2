/* script/core_list.c - primitives about lists of allocations: a tree of filters becomes a query, and the
 * query answers.
 *
 * A tree comes as tables:
 *	{size_min = "48", function_regex = "..."}	a filter: texts as filter_set() takes them
 *	{op = "and", tree, tree}			also "or" and "without"
 */
#include <stdlib.h>
#include <string.h>

#include "script/script_i.h"

#include "query/filter_tree.h"
#include "query/group_series.h"
#include "query/query_growth.h"

#define MAX_QUERIES 256u /* of a script at one time */
#define CODE_BYTES 24u /* of names for each code, about */
#define MAX_ROWS 4096 /* of one call */
#define MAX_POINTS 65536

/* ---- queries ---- */

static int query_gc(lua_State *l)
{
	struct script_query *q = luaL_checkudata(l, 1, SCRIPT_QUERY);

	query_destroy(q->query);
	filter_tree_destroy(q->tree);
	if (q->script) {
		script_discharge(q->script, q->charged_bytes);
		q->script->n_queries--;
	}
	*q = (struct script_query){0};
	return 0;
}

struct script_query *core_query(lua_State *l, int arg)
{
	struct script_query *q = luaL_checkudata(l, arg, SCRIPT_QUERY);

	script_check(l);
	return q;
}

static void read_filter(lua_State *l, struct filter *f)
{
	struct err err = {0};
	int table = lua_gettop(l);

	for (lua_pushnil(l); lua_next(l, table); lua_pop(l, 1)) {
		int r;

		if (lua_type(l, -2) != LUA_TSTRING || lua_type(l, -1) != LUA_TSTRING)
			luaL_error(l, "a filter is a table of names and texts");
		r = filter_set(f, lua_tostring(l, -2), lua_tostring(l, -1), &err);
		if (r < 0)
			script_raise(l, &err);
		if (r == 0)
			luaL_error(l, "there is no condition '%s'", lua_tostring(l, -2));
	}
}

/* The tree of the table on top goes to *ret, where the caller's userdata owns it at once. */
static void read_tree(lua_State *l, struct filter_tree **ret, unsigned depth)
{
	static const char *const name[] = {[FILTER_TREE_AND] = "and",
					   [FILTER_TREE_OR] = "or",
					   [FILTER_TREE_WITHOUT] = "without"};
	struct filter_tree *t = calloc(1, sizeof(*t));
	const char *op;

	*ret = t;
	luaL_checkstack(l, 8, "sets");
	if (!t || depth > FILTER_TREE_MAX_DEPTH)
		luaL_error(l, "more than %d sets are joined; join fewer at once",
			   (int)FILTER_TREE_MAX_DEPTH);
	luaL_checktype(l, -1, LUA_TTABLE);
	lua_pushliteral(l, "op");
	if (lua_rawget(l, -2) == LUA_TNIL) {
		lua_pop(l, 1);
		read_filter(l, &t->filter);
		return;
	}
	op = luaL_checkstring(l, -1);
	for (unsigned i = FILTER_TREE_AND; i < ARRAY_LEN(name); i++) {
		if (strcmp(op, name[i]) == 0)
			t->op = i;
	}
	lua_pop(l, 1);
	/* a tree that is not complete has leaves here, so that destroying it is safe */
	lua_rawgeti(l, -1, 1);
	read_tree(l, &t->left, depth + 1);
	lua_pop(l, 1);
	lua_rawgeti(l, -1, 2);
	read_tree(l, &t->right, depth + 1);
	lua_pop(l, 1);
}

static size_t n_leaves(const struct filter_tree *t)
{
	return t->op == FILTER_TREE_LEAF ? 1 : n_leaves(t->left) + n_leaves(t->right);
}

/* About what a compiled query takes: sets of stacks, and names. */
static void charge_query(lua_State *l, struct script_query *q)
{
	size_t n_codes, n_bytes;

	(void)store_table(q->context.store, STORE_CODES, &n_codes);
	n_bytes = (n_leaves(q->tree) + 1) * (store_n_stacks(q->context.store) / 4) +
		  n_codes * CODE_BYTES;
	script_charge(l, n_bytes);
	q->charged_bytes = n_bytes;
}

/* query(data, tree) -> query */
static int core_make_query(lua_State *l)
{
	struct script_data *d = core_data(l, 1);
	struct script *s = script_of(l);
	struct script_query *q;
	struct err err = {0};

	script_check(l);
	luaL_checktype(l, 2, LUA_TTABLE);
	if (s->n_queries >= MAX_QUERIES)
		lua_gc(l, LUA_GCCOLLECT);
	if (s->n_queries >= MAX_QUERIES)
		return luaL_error(l, "more than %d queries at once", (int)MAX_QUERIES);
	q = lua_newuserdatauv(l, sizeof(*q), 0);
	*q = (struct script_query){0};
	luaL_setmetatable(l, SCRIPT_QUERY);
	q->script = s;
	s->n_queries++;
	q->context = d->context;
	q->context.cancel = &s->stop;
	lua_pushvalue(l, 2);
	read_tree(l, &q->tree, 0);
	lua_pop(l, 1);
	charge_query(l, q);
	if (query_create_tree(&q->context, q->tree, &q->query, &err) < 0)
		return script_raise(l, &err);
	return 1;
}

/* ---- figures ---- */

static const struct {
	const char *name;
	size_t offset;
} figures[] = {
	{"allocations", offsetof(struct query_group, n_allocs)},
	{"bytes", offsetof(struct query_group, n_bytes)},
	{"leaked_count", offsetof(struct query_group, n_leaked)},
	{"leaked_bytes", offsetof(struct query_group, leaked_bytes)},
	{"temporary_count", offsetof(struct query_group, n_temporary)},
	{"temporary_bytes", offsetof(struct query_group, temporary_bytes)},
	{"extra_bytes", offsetof(struct query_group, extra_bytes)},
	{"peak_count", offsetof(struct query_group, peak_count)},
	{"peak_bytes", offsetof(struct query_group, peak_bytes)},
	{"first_ns", offsetof(struct query_group, first_ns)},
	{"last_ns", offsetof(struct query_group, last_ns)},
	{"min_size", offsetof(struct query_group, min_size_bytes)},
	{"max_size", offsetof(struct query_group, max_size_bytes)},
	{"key", offsetof(struct query_group, key)},
};
#define N_FIGURES (ARRAY_LEN(figures) - 1) /* key is for sorting */

static uint64_t figure_of(const struct query_group *g, size_t figure)
{
	uint64_t value;

	memcpy(&value, (const char *)g + figures[figure].offset, sizeof(value));
	return value;
}

static size_t check_figure(lua_State *l, int arg)
{
	const char *name = luaL_checkstring(l, arg);

	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		if (strcmp(figures[i].name, name) == 0)
			return i;
	}
	return (size_t)luaL_error(l,
				  "there is no figure '%s': write allocations, bytes, "
				  "leaked_count, leaked_bytes, temporary_count, peak_bytes ...",
				  name);
}

static void push_figures(lua_State *l, const struct query_group *g)
{
	lua_createtable(l, 0, N_FIGURES + 4);
	for (size_t i = 0; i < N_FIGURES; i++)
		core_set_u64(l, figures[i].name, figure_of(g, i));
}

/* total(query) -> figures, with peak_ns */
static int core_total(lua_State *l)
{
	struct script_query *q = core_query(l, 1);
	struct query_group total;
	struct query_peak peak;
	struct err err = {0};

	if (query_total(q->query, &total, &err) < 0 || query_peak(q->query, &peak, &err) < 0)
		return script_raise(l, &err);
	push_figures(l, &total);
	core_set_u64(l, "peak_ns", peak.at_ns);
	core_set_u64(l, "peak_bytes", peak.n_bytes);
	core_set_u64(l, "peak_count", peak.n_alive);
	return 1;
}

/* ---- groups ---- */

static const struct {
	const char *name;
	enum query_group_by by;
} kinds[] = {
	{"backtrace", QUERY_BY_STACK},
	{"stack", QUERY_BY_STACK},
	{"free_backtrace", QUERY_BY_FREE_STACK},
	{"thread", QUERY_BY_THREAD},
	{"size", QUERY_BY_SIZE_CLASS},
	{"module", QUERY_BY_MODULE},
	{"line", QUERY_BY_LINE},
	{"function", QUERY_BY_BLAME},
	{"innermost_function", QUERY_BY_FUNCTION},
	{"package", QUERY_BY_PACKAGE},
};

static enum query_group_by check_kind(lua_State *l, int arg)
{
	const char *name = luaL_checkstring(l, arg);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].by;
	}
	return luaL_error(l,
			  "cannot group by '%s': write backtrace, free_backtrace, thread, size, "
			  "function, innermost_function, package, module or line",
			  name);
}

struct item {
	struct query_group group;
	uint32_t stack;
};

/* Groups in the script's order. The first user value is the query, for names. */
struct groups {
	struct script *script;
	struct item *item; /* owned */
	size_t n;
	enum query_group_by by;
	struct query_group total; /* of all groups of the query */
};

static int groups_gc(lua_State *l)
{
	struct groups *g = luaL_checkudata(l, 1, SCRIPT_GROUPS);

	if (g->item)
		script_discharge(g->script, g->n * sizeof(*g->item));
	free(g->item);
	g->item = NULL;
	g->n = 0;
	return 0;
}

static struct groups *check_groups(lua_State *l)
{
	script_check(l);
	return luaL_checkudata(l, 1, SCRIPT_GROUPS);
}

/* Pushes groups with room for n items; the query is at index query, as a value. */
static struct groups *push_groups(lua_State *l, int query, enum query_group_by by, size_t n)
{
	struct groups *g = lua_newuserdatauv(l, sizeof(*g), 1);

	*g = (struct groups){.script = script_of(l), .by = by};
	luaL_setmetatable(l, SCRIPT_GROUPS);
	lua_pushvalue(l, query);
	lua_setiuservalue(l, -2, 1);
	script_charge(l, n * sizeof(*g->item));
	g->item = calloc(n + 1, sizeof(*g->item));
	if (!g->item) {
		script_discharge(g->script, n * sizeof(*g->item));
		luaL_error(l, "not enough memory");
	}
	g->n = n;
	return g;
}

static void fini_groups(void *memory)
{
	query_groups_fini(memory);
}

/* groups(query, by) -> groups, by key */
static int core_groups(lua_State *l)
{
	struct script_query *q = core_query(l, 1);
	enum query_group_by by = check_kind(l, 2);
	struct query_groups *all = script_hold(l, sizeof(*all), fini_groups);
	struct groups *g;
	struct err err = {0};

	if (query_groups(q->query, by, all, &err) < 0)
		return script_raise(l, &err);
	g = push_groups(l, 1, by, all->n);
	g->total = all->total;
	for (size_t i = 0; i < all->n; i++) {
		g->item[i].group = all->group[i];
		g->item[i].stack = all->stack             ? all->stack[i]
				   : by == QUERY_BY_STACK ? (uint32_t)all->group[i].key
							  : 0;
	}
	query_groups_fini(all);
	return 1;
}

/* Pushes a copy of the first n items. */
static struct groups *copy_groups(lua_State *l, const struct groups *from, size_t n)
{
	struct groups *g;

	lua_getiuservalue(l, 1, 1);
	g = push_groups(l, lua_gettop(l), from->by, n);
	memcpy(g->item, from->item, n * sizeof(*g->item));
	g->total = from->total;
	return g;
}

struct order {
	size_t figure;
	bool is_descending;
};

static int compare(const void *a, const void *b, void *user)
{
	const struct item *x = a, *y = b;
	const struct order *o = user;
	uint64_t left = figure_of(&x->group, o->figure), right = figure_of(&y->group, o->figure);

	if (left != right)
		return (left < right) == o->is_descending ? 1 : -1;
	return x->group.key < y->group.key ? -1 : x->group.key > y->group.key;
}

/* group_sort(groups, figure, is_descending) -> groups */
static int core_group_sort(lua_State *l)
{
	struct groups *g = check_groups(l);
	struct order o = {check_figure(l, 2), lua_toboolean(l, 3)};

	g = copy_groups(l, g, g->n);
	if (g->n)
		qsort_r(g->item, g->n, sizeof(*g->item), compare, &o);
	return 1;
}

/* group_pick(groups, {i}) -> groups */
static int core_group_pick(lua_State *l)
{
	struct groups *from = check_groups(l), *g;
	size_t n;

	luaL_checktype(l, 2, LUA_TTABLE);
	n = lua_rawlen(l, 2);
	lua_getiuservalue(l, 1, 1);
	g = push_groups(l, lua_gettop(l), from->by, n);
	g->total = from->total;
	for (size_t i = 0; i < n; i++) {
		lua_Integer k;

		lua_rawgeti(l, 2, (lua_Integer)i + 1);
		k = lua_tointeger(l, -1);
		if (k < 1 || (uint64_t)k > from->n)
			return luaL_error(l, "there is no group %I", (LUAI_UACINT)k);
		g->item[i] = from->item[k - 1];
		lua_pop(l, 1);
	}
	return 1;
}

/* group_take(groups, n) -> groups */
static int core_group_take(lua_State *l)
{
	struct groups *g = check_groups(l);
	lua_Integer n = luaL_checkinteger(l, 2);

	copy_groups(l, g, n < 0 ? 0 : (uint64_t)n < g->n ? (size_t)n : g->n);
	return 1;
}

/* group_count(groups) -> number, figures of all */
static int core_group_count(lua_State *l)
{
	struct groups *g = check_groups(l);

	lua_pushinteger(l, (lua_Integer)g->n);
	push_figures(l, &g->total);
	return 2;
}

static void set_thread(lua_State *l, const struct store *store, uint64_t index)
{
	size_t n;
	const struct store_thread *t = store_table(store, STORE_THREADS, &n);

	if (index >= n)
		return;
	core_set_u64(l, "thread", t[index].tid);
	core_set_text(l, "name", store_string(store, t[index].name, NULL));
}

/* Sets what the group is about in the table on top. */
static void set_identity(lua_State *l, struct script_query *q, enum query_group_by by, uint64_t key,
			 uint32_t stack)
{
	core_set_u64(l, "key", key);
	switch (by) {
	case QUERY_BY_THREAD:
		set_thread(l, q->context.store, key);
		return;
	case QUERY_BY_SIZE_CLASS:
		core_set_u64(l, "size", key);
		return;
	case QUERY_BY_STACK:
		core_set_u64(l, "stack", key);
		return;
	case QUERY_BY_FREE_STACK:
		if (key)
			core_set_u64(l, "free_stack", key);
		return;
	default:
		core_set_u64(l, "stack", stack);
		core_set_text(l, "name", query_group_name(q->query, by, key));
		return;
	}
}

/* group(groups, i) -> figures and what the group is about; nil: there is none */
static int core_group(lua_State *l)
{
	struct groups *g = check_groups(l);
	lua_Integer i = luaL_checkinteger(l, 2);
	struct script_query *q;

	if (i < 1 || (uint64_t)i > g->n)
		return 0;
	lua_getiuservalue(l, 1, 1);
	q = core_query(l, -1);
	push_figures(l, &g->item[i - 1].group);
	set_identity(l, q, g->by, g->item[i - 1].group.key, g->item[i - 1].stack);
	return 1;
}

/* ---- single allocations ---- */

static void set_flags(lua_State *l, const struct script_query *q, uint32_t flags)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flag[] = {{"is_temporary", STORE_FLAG_TEMPORARY},
		    {"is_mmaped", STORE_FLAG_MMAPED},
		    {"is_in_main_arena", STORE_FLAG_MAIN_ARENA},
		    {"is_crossed", STORE_FLAG_CROSSED}};

	for (size_t i = 0; i < ARRAY_LEN(flag); i++) {
		lua_pushboolean(l, !!(flags & flag[i].flag));
		lua_setfield(l, -2, flag[i].name);
	}
	core_set_text(l, "kind", store_kind_name(flags));
	core_set_text(l, "allocator", store_allocator_name(q->context.store, flags));
}

static void push_row(lua_State *l, const struct script_query *q, const struct query_row *row)
{
	const struct store *store = q->context.store;

	lua_createtable(l, 0, 24);
	core_set_u64(l, "id", row->row);
	core_set_u64(l, "address", row->addr);
	core_set_u64(l, "size", row->size_bytes);
	core_set_u64(l, "usable_size", row->size_bytes + row->extra_bytes);
	core_set_u64(l, "allocated_at", row->alloc_ns);
	core_set_u64(l, "stack", row->stack);
	core_set_u64(l, "thread", store_tid(store, row->thread));
	core_set_u64(l, "marker", row->marker);
	if (row->free_ns != UINT64_MAX) {
		core_set_u64(l, "freed_at", row->free_ns);
		core_set_u64(l, "lifetime", row->free_ns - row->alloc_ns);
		core_set_u64(l, "free_thread", store_tid(store, row->free_thread));
		if (row->free_stack)
			core_set_u64(l, "free_stack", row->free_stack);
	}
	if (row->chain != UINT64_MAX) {
		core_set_u64(l, "chain", row->chain);
		core_set_u64(l, "position_in_chain", row->chain_position);
	}
	set_flags(l, q, row->flags);
}

/* The rows of a page, until they are pushed. */
struct rows {
	struct query_row *row; /* owned */
	size_t n;
};

static void fini_rows(void *memory)
{
	free(((struct rows *)memory)->row);
}

static bool keep_row(void *user, const struct query_row *row)
{
	struct rows *r = user;

	r->row[r->n++] = *row;
	return r->n < MAX_ROWS;
}

/* rows(query, sort, is_descending, skip, count, first_row) -> rows; count is at most MAX_ROWS */
static int core_rows(lua_State *l)
{
	static const char *const sort[] = {"time",        "address",  "size", "lifetime",
					   "usable_size", "freed_at", "kind", "chain_length",
					   "thread",      "stack",    NULL};
	struct script_query *q = core_query(l, 1);
	struct query_page page = {
		.sort = (enum query_sort)luaL_checkoption(l, 2, "time", sort),
		.is_descending = lua_toboolean(l, 3),
		.skip = (uint64_t)luaL_checkinteger(l, 4),
		.count = (uint64_t)luaL_checkinteger(l, 5),
		.first_row = (uint64_t)luaL_optinteger(l, 6, 0),
	};
	struct rows *rows = script_hold(l, sizeof(*rows), fini_rows);
	struct err err = {0};

	luaL_argcheck(l, page.count <= MAX_ROWS, 5, "too many rows at once");
	rows->row = calloc(page.count + 1, sizeof(*rows->row));
	if (!rows->row)
		return luaL_error(l, "not enough memory");
	if (page.count && query_rows(q->query, &page, keep_row, rows, NULL, &err) < 0)
		return script_raise(l, &err);
	lua_createtable(l, (int)rows->n, 0);
	for (size_t i = 0; i < rows->n; i++) {
		push_row(l, q, &rows->row[i]);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ---- over time ---- */

struct span {
	uint64_t from_ns, to_ns;
	size_t n;
};

static struct span check_span(lua_State *l, int arg)
{
	lua_Integer from = luaL_checkinteger(l, arg), to = luaL_checkinteger(l, arg + 1);
	lua_Integer n = luaL_checkinteger(l, arg + 2);

	if (from < 0 || to < from)
		luaL_error(l, "the time ends before it begins");
	luaL_argcheck(l, n >= 1 && n <= MAX_POINTS, arg + 2, "points: from 1 to 65536");
	return (struct span){(uint64_t)from, (uint64_t)to, (size_t)n};
}

static void push_numbers(lua_State *l, const uint64_t *value, size_t n)
{
	lua_createtable(l, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		lua_pushinteger(l, (lua_Integer)value[i]);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
}

/* timeline(query, what, from_ns, to_ns, n) -> numbers, width_ns */
static int core_timeline(lua_State *l)
{
	static const char *const name[] = {"bytes",           "count",       "bytes_at_end",
					   "count_at_end",    "allocations", "frees",
					   "allocated_bytes", "freed_bytes", "leaked_bytes",
					   "leaked_count",    NULL};
	static const size_t offset[] = {offsetof(struct store_bucket, max_bytes),
					offsetof(struct store_bucket, max_count),
					offsetof(struct store_bucket, last_bytes),
					offsetof(struct store_bucket, last_count),
					offsetof(struct store_bucket, n_allocs),
					offsetof(struct store_bucket, n_releases),
					offsetof(struct store_bucket, alloc_bytes),
					offsetof(struct store_bucket, release_bytes),
					offsetof(struct store_bucket, leaked_bytes),
					offsetof(struct store_bucket, n_leaked)};
	struct script_query *q = core_query(l, 1);
	int what = luaL_checkoption(l, 2, "bytes", name);
	struct span span = check_span(l, 3);
	struct store_bucket *bucket = script_hold(l, span.n * sizeof(*bucket), NULL);
	struct err err = {0};

	if (query_timeline(q->query, span.from_ns, span.to_ns, span.n, bucket, &err) < 0)
		return script_raise(l, &err);
	lua_createtable(l, (int)span.n, 0);
	for (size_t i = 0; i < span.n; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&bucket[i] + offset[what], sizeof(value));
		lua_pushinteger(l, (lua_Integer)value);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	lua_pushinteger(l, (lua_Integer)query_timeline_width(span.from_ns, span.to_ns, span.n));
	return 2;
}

static void fini_top(void *memory)
{
	group_series_top_fini(memory);
}

/* series(query, by, what, from_ns, to_ns, n, top) -> {group with values}, values of others, width_ns */
static int core_series(lua_State *l)
{
	static const char *const name[] = {"bytes",     "count",        "allocations",
					   "temporary", "leaked_bytes", NULL};
	struct script_query *q = core_query(l, 1);
	struct group_series series = {
		.by = check_kind(l, 2),
		.kind = (enum group_series_kind)luaL_checkoption(l, 3, "bytes", name),
	};
	struct span span = check_span(l, 4);
	lua_Integer n = luaL_checkinteger(l, 7);
	struct group_series_top *top = script_hold(l, sizeof(*top), fini_top);
	struct err err = {0};

	luaL_argcheck(l, n >= 1 && n <= 100, 7, "top: from 1 to 100");
	luaL_argcheck(l, series.by != QUERY_BY_SIZE_CLASS, 2, "there are no series by size");
	series.from_ns = span.from_ns;
	series.to_ns = span.to_ns;
	series.n_buckets = span.n;
	if (group_series_top(q->query, &series, (size_t)n, top, &err) < 0)
		return script_raise(l, &err);
	lua_createtable(l, (int)top->n, 0);
	for (size_t i = 0; i < top->n; i++) {
		const struct group_series_group *g = &top->group[i];

		lua_newtable(l);
		set_identity(l, q, series.by, g->key, g->stack);
		push_numbers(l, g->value, span.n);
		lua_setfield(l, -2, "values");
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	push_numbers(l, top->other, span.n);
	lua_pushinteger(l, (lua_Integer)query_timeline_width(span.from_ns, span.to_ns, span.n));
	return 3;
}

static void fini_growths(void *memory)
{
	query_growths_fini(memory);
}

static int compare_growth(const void *a, const void *b)
{
	const struct query_growth *x = a, *y = b;
	int64_t left = query_growth_bytes(x), right = query_growth_bytes(y);

	if (left != right)
		return left < right ? 1 : -1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void set_growth(lua_State *l, const struct query_growth *g)
{
	core_set_u64(l, "from_bytes", g->from_bytes);
	core_set_u64(l, "to_bytes", g->to_bytes);
	core_set_u64(l, "change_bytes", (uint64_t)query_growth_bytes(g));
	core_set_u64(l, "from_count", g->from_count);
	core_set_u64(l, "to_count", g->to_count);
	core_set_u64(l, "change_count", g->to_count - g->from_count);
}

/* growth(query, by, from_ns, to_ns, limit) -> {group}, total; what grew most comes first */
static int core_growth(lua_State *l)
{
	struct script_query *q = core_query(l, 1);
	enum query_group_by by = check_kind(l, 2);
	uint64_t from = (uint64_t)luaL_checkinteger(l, 3), to = (uint64_t)luaL_checkinteger(l, 4);
	uint64_t limit = (uint64_t)luaL_checkinteger(l, 5);
	struct query_growths *all = script_hold(l, sizeof(*all), fini_growths);
	struct err err = {0};

	luaL_argcheck(l, by != QUERY_BY_SIZE_CLASS, 2, "there is no growth by size");
	if (query_growth(q->query, by, from, to, all, &err) < 0)
		return script_raise(l, &err);
	if (all->n)
		qsort(all->group, all->n, sizeof(*all->group), compare_growth);
	lua_newtable(l);
	for (size_t i = 0; i < all->n && i < limit; i++) {
		lua_createtable(l, 0, 12);
		set_growth(l, &all->group[i]);
		set_identity(l, q, by, all->group[i].key, all->group[i].stack);
		lua_rawseti(l, -2, (lua_Integer)i + 1);
	}
	lua_newtable(l);
	set_growth(l, &all->total);
	return 2;
}

void core_list_types(lua_State *l)
{
	core_add_type(l, SCRIPT_QUERY, query_gc);
	core_add_type(l, SCRIPT_GROUPS, groups_gc);
}

const luaL_Reg core_list_functions[] = {
	{"query", core_make_query},
	{"total", core_total},
	{"groups", core_groups},
	{"group_sort", core_group_sort},
	{"group_pick", core_group_pick},
	{"group_take", core_group_take},
	{"group_count", core_group_count},
	{"group", core_group},
	{"rows", core_rows},
	{"timeline", core_timeline},
	{"series", core_series},
	{"growth", core_growth},
	{NULL, NULL},
};
