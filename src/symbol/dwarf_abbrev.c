/* symbol/dwarf_abbrev.c - the tables that say which attributes a DIE has. See dwarf_i.h. */
#include <stdlib.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

/* Real DIEs have some 20. The limit keeps DIEs of many attributes without bytes from taking for
 * ever. */
#define MAX_SPECS 256
#define PEEK_ABBREVS 32

/* One attribute specification; false at the end of the list or when it makes no sense. */
static bool read_spec(struct cursor *c, struct abbrev_spec *spec)
{
	uint64_t name = cursor_uleb(c), form = cursor_uleb(c);

	spec->implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
	if (c->failed || (name == 0 && form == 0))
		return false;
	if (form > UINT16_MAX) {
		c->failed = true;
		return false;
	}
	spec->name = name > UINT16_MAX ? 0 : (uint16_t)name; /* none of ours */
	spec->form = (uint16_t)form;
	return true;
}

/* Reads one declaration; *is_end after the last. */
static int read_abbrev(const struct dwarf_unit *u, struct cursor *c, struct abbrev_table *t,
		       bool *is_end, struct err *err)
{
	struct abbrev ab = {.code = cursor_uleb(c), .first_spec = (uint32_t)t->n_specs};
	struct abbrev_spec spec;
	uint64_t tag;
	int r, n;

	*is_end = c->failed || ab.code == 0;
	if (*is_end)
		return 0;
	tag = cursor_uleb(c);
	ab.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
	ab.has_children = cursor_u8(c) != 0;
	while (read_spec(c, &spec)) {
		if (++ab.n_specs > MAX_SPECS || t->n_specs >= UINT32_MAX) {
			c->failed = true;
			break;
		}
		r = vec_reserve(&t->spec, &t->cap_specs, t->n_specs + 1, sizeof(spec), err);
		if (r < 0)
			return r;
		n = dwarf_form_bytes(spec.form, u);
		spec.form_bytes = (int8_t)n;
		t->spec[t->n_specs++] = spec;
		ab.fixed_bytes = n < 0 || ab.fixed_bytes < 0 ? -1 : ab.fixed_bytes + n;
	}
	if (c->failed) {
		*is_end = true;
		return 0;
	}
	r = vec_reserve(&t->abbrev, &t->cap, t->n + 1, sizeof(ab), err);
	if (r < 0)
		return r;
	t->abbrev[t->n++] = ab;
	return 0;
}

static int by_code(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

/* Reads declarations up to one with this code (0: all), at most max_n. */
static int read_table(const struct dwarf_unit *u, uint64_t code, size_t max_n,
		      struct abbrev_table *t, struct err *err)
{
	struct view v = u->file->sect[SECT_ABBREV];
	struct cursor c;
	bool is_end = false;

	t->is_dense = true;
	if (u->abbrev_offset >= v.len)
		return 0;
	c = cursor_make(v.data + u->abbrev_offset, v.len - u->abbrev_offset);
	while (!is_end && t->n < max_n) {
		int r = read_abbrev(u, &c, t, &is_end, err);

		if (r < 0)
			return r;
		if (code && t->n > 0 && t->abbrev[t->n - 1].code == code)
			break;
	}
	for (size_t i = 0; i < t->n && t->is_dense; i++)
		t->is_dense = t->abbrev[i].code == i + 1;
	if (!t->is_dense)
		qsort(t->abbrev, t->n, sizeof(*t->abbrev), by_code);
	return 0;
}

int dwarf_abbrev_peek(const struct dwarf_unit *u, uint64_t code, struct abbrev_table *ret,
		      struct err *err)
{
	return read_table(u, code, PEEK_ABBREVS, ret, err);
}

/* Makes the table for u and adds it to the file's. */
static int add_table(struct dwarf_unit *u, struct abbrev_table **ret, struct err *err)
{
	struct dwarf_file *f = u->file;
	struct abbrev_table *t;
	int r;

	r = vec_reserve(&f->abbrevs, &f->cap_abbrevs, f->n_abbrevs + 1, sizeof(t), err);
	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set_memory(err, sizeof(*t));
	r = read_table(u, 0, SIZE_MAX, t, err);
	if (r < 0) {
		dwarf_abbrev_table_fini(t);
		free(t);
		return r;
	}
	f->abbrevs[f->n_abbrevs++] = t;
	f->abbrev_bytes +=
		sizeof(*t) + t->cap * sizeof(*t->abbrev) + t->cap_specs * sizeof(*t->spec);
	*ret = t;
	return 0;
}

int dwarf_abbrevs_load(struct dwarf_unit *u, struct err *err)
{
	struct dwarf_file *f = u->file;
	/* The sizes that fixed_bytes counts in differ by these. */
	uint64_t key = u->abbrev_offset << 3 | (u->offset_bytes == 8) << 2 |
		       (u->addr_bytes == 8) << 1 | (u->version == 2);
	uint64_t *slot;
	int r;

	if (u->abbrevs)
		return 0;
	r = map_add(&f->abbrev_by_offset, key, &slot, NULL, err);
	if (r < 0)
		return r;
	if (!*slot) {
		r = add_table(u, &u->abbrevs, err);
		if (r < 0)
			return r;
		*slot = f->n_abbrevs;
	}
	u->abbrevs = f->abbrevs[*slot - 1];
	return 0;
}

void dwarf_abbrevs_drop(struct dwarf_file *f)
{
	for (size_t i = 0; i < f->n_abbrevs; i++) {
		dwarf_abbrev_table_fini(f->abbrevs[i]);
		free(f->abbrevs[i]);
	}
	for (size_t i = 0; i < f->n_units; i++)
		f->unit[i].abbrevs = NULL;
	f->n_abbrevs = 0;
	f->abbrev_bytes = 0;
	map_fini(&f->abbrev_by_offset);
}

const struct abbrev *dwarf_abbrev_find(const struct abbrev_table *t, uint64_t code)
{
	struct abbrev key = {.code = code};

	if (t->is_dense)
		return code - 1 < t->n ? &t->abbrev[code - 1] : NULL;
	return bsearch(&key, t->abbrev, t->n, sizeof(key), by_code);
}

void dwarf_abbrev_table_fini(struct abbrev_table *t)
{
	free(t->abbrev);
	free(t->spec);
}
