/* symbol/dwarf_scope.c - in which namespace, class or function something is. See dwarf_i.h.
 *
 * Needed for functions without a linkage name: compilers leave it out for what no other file can
 * call (static functions, anonymous namespaces, lambdas). DIEs do not know their parents, so
 * the first such function of a unit costs a walk over it. */
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define ANONYMOUS "(anonymous)"
#define MAX_DEPTH 256
#define MAX_NAME_BYTES 4096
#define MAX_NAME_DEPTH 16 /* functions inside of functions */
#define OFFSET_BIAS 64 /* struct dwarf_ranges takes no small addresses */

struct scope {
	const char *name; /* NULL: a function; its full name has all that is around it ... */
	uint64_t
		die; /* ... and is found from this DIE, perhaps by way of a declaration elsewhere */
	uint32_t parent;
};

struct dwarf_scopes {
	struct scope *scope;
	size_t n, cap;
	struct dwarf_rows rows; /* by offset of the DIE; items are indexes of scope */
};

struct open_scope {
	uint64_t start;
	uint32_t scope; /* that children are in */
	bool is_own; /* it begins with this DIE */
};

struct scope_walk {
	struct dwarf_unit *u;
	struct cursor c;
	struct dwarf_scopes *scopes;
	struct dwarf_ranges ranges;
	size_t depth;
	struct open_scope open[MAX_DEPTH];
};

void dwarf_scopes_destroy(struct dwarf_scopes *s)
{
	if (!s)
		return;
	free(s->scope);
	free(s->rows.row);
	free(s);
}

static const char *default_name(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
		return "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return ANONYMOUS;
	default:
		return NULL;
	}
}

static bool has_own_name(uint16_t tag)
{
	return default_name(tag) || tag == DW_TAG_module;
}

/* Reads the DIE's name (may stay). */
static void read_die(struct scope_walk *w, const struct abbrev *ab, const char **name)
{
	struct dwarf_attr a;

	for (unsigned i = 0; i < ab->n_specs && !w->c.failed; i++) {
		dwarf_attr_read(w->u, &w->c, &w->u->abbrevs->spec[ab->first_spec + i], &a);
		if (!w->c.failed && a.name == DW_AT_name)
			*name = dwarf_attr_text(w->u, &a);
	}
}

static int close_scope(struct scope_walk *w, struct err *err)
{
	struct open_scope *o = &w->open[w->depth];
	struct dwarf_range r = {.low = o->start + OFFSET_BIAS,
				.high = w->c.pos + OFFSET_BIAS,
				.item = o->scope,
				.depth = (uint32_t)w->depth};

	w->depth--;
	return o->is_own ? dwarf_ranges_add(&w->ranges, &r, err) : 0;
}

static int step(struct scope_walk *w, struct err *err)
{
	uint64_t at = w->c.pos, code = cursor_uleb(&w->c);
	const char *name = NULL;
	struct open_scope child = {.scope = w->open[w->depth].scope};
	const struct abbrev *ab;
	int r = 0;

	if (code == 0 && w->depth > 0)
		return close_scope(w, err);
	ab = dwarf_abbrev_find(w->u->abbrevs, code);
	if (!ab || (ab->has_children && w->depth + 1 >= MAX_DEPTH)) {
		w->c.failed = true;
		return 0;
	}
	if (!ab->has_children || !has_own_name(ab->tag)) {
		dwarf_attrs_skip(w->u, &w->c, w->u->abbrevs, ab);
	} else {
		read_die(w, ab, &name);
		name = name ? name : default_name(ab->tag);
	}
	if (name || (ab->has_children && ab->tag == DW_TAG_subprogram)) {
		struct dwarf_scopes *s = w->scopes;

		r = vec_reserve(&s->scope, &s->cap, s->n + 1, sizeof(*s->scope), err);
		if (r < 0)
			return r;
		s->scope[s->n] = (struct scope){name, at, child.scope};
		child = (struct open_scope){w->c.pos, (uint32_t)s->n++, true};
	}
	if (ab->has_children)
		w->open[++w->depth] = child;
	return 0;
}

static int read_scopes(struct dwarf_unit *u, struct err *err)
{
	struct scope_walk *w = calloc(1, sizeof(*w));
	struct dwarf_scopes *s = calloc(1, sizeof(*s));
	int r = w && s ? 0 : err_set_memory(err, sizeof(*w));

	if (r == 0)
		r = dwarf_abbrevs_load(u, err);
	if (r == 0) {
		*w = (struct scope_walk){.u = u, .scopes = s};
		w->c = cursor_make(u->file->sect[SECT_INFO].data, u->end);
		w->c.pos = u->die_offset;
		w->open[0].scope = DWARF_NONE;
		w->ranges.max = u->end - u->offset;
	}
	while (r == 0 && !w->c.failed && cursor_left(&w->c) > 0)
		r = step(w, err);
	while (r == 0 && w->depth > 0)
		r = close_scope(w, err);
	if (r == 0)
		r = dwarf_rows_make(&w->ranges, &s->rows, err);
	if (w)
		free(w->ranges.range);
	free(w);
	if (r < 0) {
		dwarf_scopes_destroy(s);
		return r;
	}
	u->scopes = s;
	u->file->name_bytes += s->cap * sizeof(*s->scope) + 2 * s->n * sizeof(*s->rows.row);
	return 0;
}

/* Puts text in front of what is in [*at, end of buffer); false when it does not fit. */
static bool put_before(char *buf, size_t *at, const char *text)
{
	size_t len = strlen(text);

	if (len > *at)
		return false;
	*at -= len;
	memcpy(buf + *at, text, len);
	return true;
}

/* The name of a function with all scopes around it, or NULL. Borrowed until the next name is
 * made. */
static int function_name(struct dwarf_unit *u, uint64_t die, const char **ret, struct err *err)
{
	const struct dwarf_name *name = NULL;
	int r = 0;

	/* in a damaged file a function may be inside of its own children */
	if (u->file->name_depth < MAX_NAME_DEPTH) {
		u->file->name_depth++;
		r = dwarf_name_get(u, die, &name, err);
		u->file->name_depth--;
	}
	*ret = !name ? NULL : name->demangled ? name->demangled : name->raw;
	return r;
}

int dwarf_scope_name(struct dwarf_unit *u, uint64_t die, const char *name, char **ret,
		     struct err *err)
{
	char buf[MAX_NAME_BYTES];
	size_t at = sizeof(buf) - 1;
	uint32_t i;

	if (!u->scopes) {
		int r = read_scopes(u, err);

		if (r < 0)
			return r;
	}
	i = dwarf_rows_find(&u->scopes->rows, die + OFFSET_BIAS);
	if (i == DWARF_NONE)
		return 0;
	buf[at] = 0;
	if (!put_before(buf, &at, name))
		return 0;
	for (bool goes_on = true; goes_on && i != DWARF_NONE;) {
		const struct scope *s = &u->scopes->scope[i];
		const char *scope = s->name;

		if (!scope) {
			int r = function_name(u, s->die, &scope, err);

			if (r < 0)
				return r;
			goes_on = !scope;
		} else if (strcmp(scope, ANONYMOUS) == 0 && strcmp(buf + at, "operator()") == 0) {
			/* the class of a lambda has no name, and one function: operator() */
			scope = "{lambda}";
		}
		if (scope && (!put_before(buf, &at, "::") || !put_before(buf, &at, scope)))
			return 0;
		i = s->parent; /* always a smaller index */
	}
	*ret = strdup(buf + at);
	return *ret ? 0 : err_set_memory(err, sizeof(buf) - at);
}
