/* symbol/demangle.c - mangled names to readable names, by libiberty. See symbol.h.
 *
 * Uses the functions of libiberty that have a callback: they need no heap, and longjmp() can leave
 * them in the middle. A hostile name of a few hundred bytes can stand for gigabytes of text. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "symbol/symbol.h"

#define MAX_NAME_BYTES (64u << 10) /* of the readable name */
/* By default libiberty refuses C++ names of 1 KiB and more, to protect the stack; templates have
 * longer names. Up to this limit the stacks of our threads are large enough, whatever the name. */
#define MAX_MANGLED_BYTES 4096
#define FLAGS (DMGL_PARAMS | DMGL_ANSI)

struct output {
	jmp_buf too_long;
	char *text;
	size_t len, cap;
};

static void put(const char *bytes, size_t len, void *user)
{
	struct output *o = user;

	if (len > MAX_NAME_BYTES - o->len)
		longjmp(o->too_long, 1);
	if (o->len + len + 1 > o->cap) {
		size_t cap = (o->len + len + 1) * 2;
		char *bigger = realloc(o->text, cap);

		if (!bigger)
			longjmp(o->too_long, 1);
		o->text = bigger;
		o->cap = cap;
	}
	memcpy(o->text + o->len, bytes, len);
	o->len += len;
	o->text[o->len] = 0;
}

typedef int (*demangle_fn)(const char *, int, demangle_callbackref, void *);

static char *run(demangle_fn fn, const char *raw, int flags)
{
	struct output o = {.len = 0};
	struct output *volatile p = &o; /* what put() changes is in memory, also after longjmp() */
	bool ok = false;

	if (!setjmp(o.too_long))
		ok = fn(raw, flags, put, p);
	if (ok && p->len > 0)
		return p->text;
	free(p->text);
	return NULL;
}

/* _ZN...17h0123456789abcdefE: C++ mangling with a hash at its end, and no parameters. */
static bool is_maybe_rust(const char *raw)
{
	return strncmp(raw, "_R", 2) == 0 || strncmp(raw, "_ZN", 3) == 0;
}

char *symbol_demangle(const char *raw)
{
	char *text = NULL;
	size_t len = strnlen(raw, MAX_MANGLED_BYTES + 1);

	if (len < 3 || len > MAX_MANGLED_BYTES || raw[0] != '_')
		return NULL;
	if (is_maybe_rust(raw))
		text = run(rust_demangle_callback, raw, FLAGS);
	if (!text && raw[1] == 'Z') {
		text = run(cplus_demangle_v3_callback, raw, FLAGS);
		if (!text && len > DEMANGLE_RECURSION_LIMIT / 2)
			text = run(cplus_demangle_v3_callback, raw, FLAGS | DMGL_NO_RECURSE_LIMIT);
	}
	if (!text && raw[1] == 'D' && len <= DEMANGLE_RECURSION_LIMIT / 2)
		text = dlang_demangle(raw, FLAGS);
	return text;
}
