/* script/pattern.c - Lua's patterns within a bounded time: string.find, match, gmatch and gsub.
 *
 * A pattern such as (".-"):rep(50) takes longer than the universe exists, and Lua's own functions look at
 * no clock meanwhile. These do: every STEPS_BETWEEN steps the matcher asks whether the script is
 * stopped. The language of patterns is that of the Lua 5.4 manual, section 6.4.1.
 *
 *	pattern   item*, with ^ in front and $ at the end
 *	item      class, class followed by * + - or ?, (item*), (), %1, %bxy, %f[set]
 */
#include <ctype.h>
#include <string.h>

#include "script/script_i.h"

#define MAX_CAPTURES 32
#define MAX_DEPTH 200 /* of the matcher's recursion */
#define STEPS_BETWEEN 65536u
#define OPEN (-1) /* lengths of captures: not closed yet */
#define POSITION (-2)

struct match {
	lua_State *l;
	const char *text, *text_end;
	const char *pattern_end;
	unsigned depth, steps;
	int n_captures;
	struct {
		const char *start;
		ptrdiff_t len;
	} capture[MAX_CAPTURES];
};

static const char *match(struct match *m, const char *s, const char *p);

static void step(struct match *m)
{
	if (++m->steps < STEPS_BETWEEN)
		return;
	m->steps = 0;
	script_check(m->l);
}

/* The end of the class that begins at p. */
static const char *class_end(struct match *m, const char *p)
{
	if (*p == '%') {
		if (p + 1 == m->pattern_end)
			luaL_error(m->l, "malformed pattern (ends with '%%')");
		return p + 2;
	}
	if (*p++ != '[')
		return p;
	if (p < m->pattern_end && *p == '^')
		p++;
	do { /* a ']' right behind the bracket is a member */
		if (p >= m->pattern_end)
			luaL_error(m->l, "malformed pattern (missing ']')");
		p += *p == '%' ? 2 : 1;
	} while (p >= m->pattern_end || *p != ']');
	return p + 1;
}

static bool is_in_class(unsigned char c, unsigned char class)
{
	bool is_in;

	switch (tolower(class)) {
	case 'a':
		is_in = isalpha(c);
		break;
	case 'c':
		is_in = iscntrl(c);
		break;
	case 'd':
		is_in = isdigit(c);
		break;
	case 'g':
		is_in = isgraph(c);
		break;
	case 'l':
		is_in = islower(c);
		break;
	case 'p':
		is_in = ispunct(c);
		break;
	case 's':
		is_in = isspace(c);
		break;
	case 'u':
		is_in = isupper(c);
		break;
	case 'w':
		is_in = isalnum(c);
		break;
	case 'x':
		is_in = isxdigit(c);
		break;
	default:
		return class == c;
	}
	return is_in != !!isupper(class);
}

/* p: the '['; end: the ']' of the set. */
static bool is_in_set(unsigned char c, const char *p, const char *end)
{
	bool is_wanted = p[1] != '^';

	p += is_wanted ? 1 : 2;
	for (; p < end; p++) {
		if (*p == '%') {
			if (is_in_class(c, (unsigned char)*++p))
				return is_wanted;
		} else if (p[1] == '-' && p + 2 < end) {
			if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
				return is_wanted;
			p += 2;
		} else if ((unsigned char)*p == c) {
			return is_wanted;
		}
	}
	return !is_wanted;
}

/* Does the character at s fit the class from p to end? */
static bool fits(struct match *m, const char *s, const char *p, const char *end)
{
	step(m);
	if (s >= m->text_end)
		return false;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return is_in_class((unsigned char)*s, (unsigned char)p[1]);
	case '[':
		return is_in_set((unsigned char)*s, p, end - 1);
	default:
		return *p == *s;
	}
}

static const char *match_balanced(struct match *m, const char *s, const char *p)
{
	int open = 1;

	if (p + 1 >= m->pattern_end)
		luaL_error(m->l, "malformed pattern (missing arguments to '%%b')");
	if (s >= m->text_end || *s != p[0])
		return NULL;
	while (++s < m->text_end) {
		step(m);
		if (*s == p[1]) {
			if (--open == 0)
				return s + 1;
		} else if (*s == p[0]) {
			open++;
		}
	}
	return NULL;
}

/* As many as possible, then fewer; `end` is the end of the class at p, and its suffix. */
static const char *match_most(struct match *m, const char *s, const char *p, const char *end)
{
	ptrdiff_t i = 0;

	while (fits(m, s + i, p, end))
		i++;
	for (; i >= 0; i--) {
		const char *r = match(m, s + i, end + 1);

		if (r)
			return r;
	}
	return NULL;
}

static const char *match_least(struct match *m, const char *s, const char *p, const char *end)
{
	for (;; s++) {
		const char *r = match(m, s, end + 1);

		if (r)
			return r;
		if (!fits(m, s, p, end))
			return NULL;
	}
}

static const char *open_capture(struct match *m, const char *s, const char *p, ptrdiff_t len)
{
	const char *r;

	if (m->n_captures >= MAX_CAPTURES)
		luaL_error(m->l, "too many captures");
	m->capture[m->n_captures].start = s;
	m->capture[m->n_captures++].len = len;
	r = match(m, s, p);
	if (!r)
		m->n_captures--;
	return r;
}

static const char *close_capture(struct match *m, const char *s, const char *p)
{
	int i = m->n_captures - 1;
	const char *r;

	while (i >= 0 && m->capture[i].len != OPEN)
		i--;
	if (i < 0)
		luaL_error(m->l, "invalid pattern capture");
	m->capture[i].len = s - m->capture[i].start;
	r = match(m, s, p);
	if (!r)
		m->capture[i].len = OPEN;
	return r;
}

/* The index of the capture %1 to %9. */
static int capture_index(struct match *m, int digit)
{
	int i = digit - '1';

	if (i < 0 || i >= m->n_captures || m->capture[i].len == OPEN)
		return luaL_error(m->l, "invalid capture index %%%d", i + 1);
	return i;
}

static const char *match_capture(struct match *m, const char *s, int digit)
{
	int i = capture_index(m, digit);
	size_t len = m->capture[i].len == POSITION ? 0 : (size_t)m->capture[i].len;

	m->steps += (unsigned)(len / 64);
	step(m);
	if ((size_t)(m->text_end - s) < len || memcmp(m->capture[i].start, s, len) != 0)
		return NULL;
	return s + len;
}

static const char *match_frontier(struct match *m, const char *s, const char *p)
{
	const char *end;
	char before = s == m->text ? '\0' : s[-1], here = s < m->text_end ? *s : '\0';

	if (p >= m->pattern_end || *p != '[')
		luaL_error(m->l, "missing '[' after '%%f' in pattern");
	end = class_end(m, p);
	if (is_in_set((unsigned char)before, p, end - 1) ||
	    !is_in_set((unsigned char)here, p, end - 1))
		return NULL;
	return match(m, s, end);
}

/* An item that is neither a capture nor an anchor. */
static const char *match_class(struct match *m, const char *s, const char *p)
{
	const char *end = class_end(m, p), *r;
	char suffix = end < m->pattern_end ? *end : '\0';

	switch (suffix) {
	case '*':
		return match_most(m, s, p, end);
	case '-':
		return match_least(m, s, p, end);
	case '+':
		return fits(m, s, p, end) ? match_most(m, s + 1, p, end) : NULL;
	case '?':
		r = fits(m, s, p, end) ? match(m, s + 1, end + 1) : NULL;
		return r ? r : match(m, s, end + 1);
	default:
		return fits(m, s, p, end) ? match(m, s + 1, end) : NULL;
	}
}

static const char *match_percent(struct match *m, const char *s, const char *p)
{
	char c = p + 1 < m->pattern_end ? p[1] : '\0';

	if (c == 'b') {
		s = match_balanced(m, s, p + 2);
		return s ? match(m, s, p + 4) : NULL;
	}
	if (c == 'f')
		return match_frontier(m, s, p + 2);
	if (c >= '0' && c <= '9') {
		s = match_capture(m, s, c);
		return s ? match(m, s, p + 2) : NULL;
	}
	return match_class(m, s, p);
}

/* The end of what pattern p matches at s; NULL: nothing. */
static const char *match_item(struct match *m, const char *s, const char *p)
{
	switch (*p) {
	case '(':
		if (p + 1 < m->pattern_end && p[1] == ')')
			return open_capture(m, s, p + 2, POSITION);
		return open_capture(m, s, p + 1, OPEN);
	case ')':
		return close_capture(m, s, p + 1);
	case '$':
		if (p + 1 == m->pattern_end)
			return s == m->text_end ? s : NULL;
		return match_class(m, s, p);
	case '%':
		return match_percent(m, s, p);
	default:
		return match_class(m, s, p);
	}
}

/* Single characters without a suffix take no recursion, so long patterns work. */
static const char *match(struct match *m, const char *s, const char *p)
{
	const char *r;

	if (m->depth == MAX_DEPTH)
		luaL_error(m->l, "pattern too complex");
	m->depth++;
	while (p < m->pattern_end && !strchr("()$%[.", *p) &&
	       (p + 1 == m->pattern_end || !strchr("*+-?", p[1]))) {
		if (!fits(m, s, p, p + 1)) {
			m->depth--;
			return NULL;
		}
		s++;
		p++;
	}
	r = p == m->pattern_end ? s : match_item(m, s, p);
	m->depth--;
	return r;
}

/* ---- the functions ---- */

static void push_capture(struct match *m, int i, const char *s, const char *end)
{
	if (i >= m->n_captures) {
		if (i != 0)
			luaL_error(m->l, "invalid capture index %%%d", i + 1);
		lua_pushlstring(m->l, s, (size_t)(end - s)); /* the whole match */
	} else if (m->capture[i].len == POSITION) {
		lua_pushinteger(m->l, m->capture[i].start - m->text + 1);
	} else if (m->capture[i].len == OPEN) {
		luaL_error(m->l, "unfinished capture");
	} else {
		lua_pushlstring(m->l, m->capture[i].start, (size_t)m->capture[i].len);
	}
}

/* s NULL: only captures, not the whole match. */
static int push_captures(struct match *m, const char *s, const char *end)
{
	int n = m->n_captures == 0 && s ? 1 : m->n_captures;

	luaL_checkstack(m->l, n, "too many captures");
	for (int i = 0; i < n; i++)
		push_capture(m, i, s, end);
	return n;
}

static const char *match_at(struct match *m, const char *s, const char *p)
{
	m->depth = 0;
	m->n_captures = 0;
	return match(m, s, p);
}

static struct match match_make(lua_State *l, const char *text, size_t len, const char *pattern_end)
{
	return (struct match){
		.l = l, .text = text, .text_end = text + len, .pattern_end = pattern_end};
}

/* The first occurrence of a text: the search goes on in steps, as a match does. */
static const char *find_plain(struct match *m, const char *s, const char *what, size_t len)
{
	for (; (size_t)(m->text_end - s) >= len; s++) {
		size_t i = 0;

		while (i < len && s[i] == what[i])
			i++;
		m->steps += (unsigned)(i / 64);
		step(m);
		if (i == len)
			return s;
		if (i / 64 > 0)
			script_check(m->l);
	}
	return NULL;
}

/* Where a search begins: an argument counts from 1, or from the end if negative. */
static size_t begin_at(lua_State *l, int arg, size_t len)
{
	lua_Integer i = luaL_optinteger(l, arg, 1);

	if (i > 0)
		return (size_t)(i - 1);
	if (i == 0 || i < -(lua_Integer)len)
		return 0;
	return len + (size_t)i;
}

static int search(lua_State *l, bool is_find)
{
	size_t len, n_pattern;
	const char *text = luaL_checklstring(l, 1, &len);
	const char *p = luaL_checklstring(l, 2, &n_pattern), *s, *end;
	size_t begin = begin_at(l, 3, len);
	struct match m = match_make(l, text, len, p + n_pattern);
	bool is_anchored = *p == '^';

	if (begin > len)
		return luaL_pushfail(l), 1;
	s = text + begin;
	if (is_find && (lua_toboolean(l, 4) || strcspn(p, "^$*+?.([%-") == n_pattern)) {
		s = find_plain(&m, s, p, n_pattern);
		if (!s)
			return luaL_pushfail(l), 1;
		lua_pushinteger(l, s - text + 1);
		lua_pushinteger(l, s - text + (lua_Integer)n_pattern);
		return 2;
	}
	do {
		end = match_at(&m, s, p + is_anchored);
		if (end && is_find) {
			lua_pushinteger(l, s - text + 1);
			lua_pushinteger(l, end - text);
			return 2 + push_captures(&m, NULL, NULL);
		}
		if (end)
			return push_captures(&m, s, end);
	} while (++s <= m.text_end && !is_anchored);
	return luaL_pushfail(l), 1;
}

static int string_find(lua_State *l)
{
	return search(l, true);
}

static int string_match(lua_State *l)
{
	return search(l, false);
}

/* Upvalues: text, pattern, where to go on, end of the last match. */
static int next_match(lua_State *l)
{
	size_t len, n_pattern;
	const char *text = lua_tolstring(l, lua_upvalueindex(1), &len);
	const char *p = lua_tolstring(l, lua_upvalueindex(2), &n_pattern);
	const char *last = text + lua_tointeger(l, lua_upvalueindex(4));
	struct match m = match_make(l, text, len, p + n_pattern);

	for (const char *s = text + lua_tointeger(l, lua_upvalueindex(3)); s <= m.text_end; s++) {
		const char *end = match_at(&m, s, p);

		if (end && end != last) {
			lua_pushinteger(l, end - text);
			lua_pushvalue(l, -1);
			lua_replace(l, lua_upvalueindex(3));
			lua_replace(l, lua_upvalueindex(4));
			return push_captures(&m, s, end);
		}
	}
	return 0;
}

static int string_gmatch(lua_State *l)
{
	size_t len, begin;

	luaL_checklstring(l, 1, &len);
	luaL_checkstring(l, 2);
	begin = begin_at(l, 3, len);
	lua_settop(l, 2);
	lua_pushinteger(l, (lua_Integer)(begin > len ? len + 1 : begin));
	lua_pushinteger(l, -1);
	lua_pushcclosure(l, next_match, 4);
	return 1;
}

/* %0 to %9 in the text of a replacement. */
static void add_text(struct match *m, luaL_Buffer *b, const char *s, const char *end)
{
	size_t len;
	const char *r = lua_tolstring(m->l, 3, &len);

	for (size_t i = 0; i < len; i++) {
		step(m);
		if (r[i] != '%') {
			luaL_addchar(b, r[i]);
			continue;
		}
		i++;
		if (i < len && r[i] == '%')
			luaL_addchar(b, '%');
		else if (i < len && r[i] == '0')
			luaL_addlstring(b, s, (size_t)(end - s));
		else if (i < len && isdigit((unsigned char)r[i])) {
			push_capture(m, r[i] - '1', s, end);
			luaL_tolstring(m->l, -1, NULL);
			lua_remove(m->l, -2);
			luaL_addvalue(b);
		} else {
			luaL_error(m->l, "invalid use of '%%' in replacement string");
		}
	}
}

/* Adds the replacement of a match to the buffer. */
static void add_replacement(struct match *m, luaL_Buffer *b, const char *s, const char *end)
{
	lua_State *l = m->l;

	switch (lua_type(l, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(l, 3);
		lua_call(l, push_captures(m, s, end), 1);
		break;
	case LUA_TTABLE:
		push_capture(m, 0, s, end);
		lua_gettable(l, 3);
		break;
	default:
		add_text(m, b, s, end);
		return;
	}
	if (!lua_toboolean(l, -1)) {
		lua_pop(l, 1);
		luaL_addlstring(b, s, (size_t)(end - s));
	} else if (!lua_isstring(l, -1)) {
		luaL_error(l, "invalid replacement value (a %s)", luaL_typename(l, -1));
	} else {
		luaL_addvalue(b);
	}
}

static int string_gsub(lua_State *l)
{
	size_t len, n_pattern;
	const char *s = luaL_checklstring(l, 1, &len);
	const char *p = luaL_checklstring(l, 2, &n_pattern), *last = NULL, *end;
	int type = lua_type(l, 3);
	lua_Integer max = luaL_optinteger(l, 4, (lua_Integer)len + 1), n = 0;
	struct match m = match_make(l, s, len, p + n_pattern);
	bool is_anchored = *p == '^';
	luaL_Buffer b;

	luaL_argexpected(l,
			 type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
				 type == LUA_TTABLE,
			 3, "string/function/table");
	luaL_buffinit(l, &b);
	while (n < max) {
		end = match_at(&m, s, p + is_anchored);
		if (end && end != last) {
			n++;
			add_replacement(&m, &b, s, end);
			s = last = end;
		} else if (s < m.text_end) {
			luaL_addchar(&b, *s++);
		} else {
			break;
		}
		if (is_anchored)
			break;
	}
	luaL_addlstring(&b, s, (size_t)(m.text_end - s));
	luaL_pushresult(&b);
	lua_pushinteger(l, n);
	return 2;
}

void pattern_open(lua_State *l)
{
	static const luaL_Reg functions[] = {
		{"find", string_find},
		{"match", string_match},
		{"gmatch", string_gmatch},
		{"gsub", string_gsub},
		{NULL, NULL},
	};

	luaL_setfuncs(l, functions, 0);
}
