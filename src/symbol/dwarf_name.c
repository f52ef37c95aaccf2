/* symbol/dwarf_name.c - what a function is called. See dwarf_i.h.
 *
 * A DIE with code often has no name: it refers to an abstract DIE, which may refer to a declaration
 * in a class, in this unit, in another unit, or in the file that dwz made. The linkage name is
 * best, because its demangled form has scope and parameters; without it the name needs the parents
 * of the DIE. */
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define MAX_REFERENCES 16 /* from one DIE to the next; real ones take 2 or 3 */

struct name_die {
	const char *name, *linkage_name;
	struct dwarf_unit *unit; /* where name is from */
	uint64_t at;
	struct dwarf_attr origin;
};

/* Reads the DIE at *at in *u; then *at and *u are the DIE that it refers to. False: it refers to
 * none. */
static bool read_name(struct dwarf_unit **unit, uint64_t *at, struct name_die *die)
{
	struct dwarf_unit *u = *unit;
	struct cursor c = cursor_make(u->file->sect[SECT_INFO].data, u->end);
	const struct abbrev *ab;
	struct dwarf_file *f;
	bool in_alt;

	c.pos = *at;
	if (!die->name) {
		die->unit = u;
		die->at = *at;
	}
	die->origin.form = 0;
	ab = dwarf_abbrev_find(u->abbrevs, cursor_uleb(&c));
	for (unsigned i = 0; ab && i < ab->n_specs && !c.failed; i++) {
		struct dwarf_attr a;

		dwarf_attr_read(u, &c, &u->abbrevs->spec[ab->first_spec + i], &a);
		if (c.failed)
			break;
		if (a.name == DW_AT_name && !die->name)
			die->name = dwarf_attr_text(u, &a);
		else if (a.name == DW_AT_linkage_name || a.name == DW_AT_MIPS_linkage_name)
			die->linkage_name = dwarf_attr_text(u, &a);
		else if (a.name == DW_AT_abstract_origin || a.name == DW_AT_specification)
			die->origin = a;
	}
	if (die->linkage_name || !die->origin.form || !dwarf_attr_ref(u, &die->origin, at, &in_alt))
		return false;
	f = in_alt ? u->file->alt : u->file;
	if (!f)
		return false;
	*unit = *at >= u->die_offset && *at < u->end && !in_alt ? u : dwarf_file_find_unit(f, *at);
	return *unit;
}

static bool has_scopes(const struct dwarf_unit *u)
{
	switch (u->language) {
	case 0: /* assembly, or not known */
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C17:
	case DW_LANG_Go:
		return false;
	default:
		return true;
	}
}

int dwarf_name_get(struct dwarf_unit *u, uint64_t at, const struct dwarf_name **ret,
		   struct err *err)
{
	struct dwarf_file *f = u->file;
	struct name_die die = {0};
	struct dwarf_name name = {0};
	uint64_t *slot, asked = at;
	bool goes_on = at < u->end && at >= u->die_offset;
	int r = 0;

	*ret = NULL;
	slot = map_find(&f->name_by_die, at);
	if (slot) {
		*ret = f->name[*slot - 1].raw ? &f->name[*slot - 1] : NULL;
		return 0;
	}
	if (!goes_on) {
		u = dwarf_file_find_unit(f, at);
		goes_on = u;
	}
	for (int i = 0; goes_on && i < MAX_REFERENCES; i++) {
		r = dwarf_unit_open(u, NULL, 0, err);
		if (r == 0)
			r = dwarf_abbrevs_load(u, err);
		if (r < 0)
			return r;
		goes_on = read_name(&u, &at, &die);
	}
	name.raw = die.linkage_name ? die.linkage_name : die.name;
	if (die.linkage_name)
		name.demangled = symbol_demangle(die.linkage_name);
	else if (die.name && has_scopes(die.unit))
		r = dwarf_scope_name(die.unit, die.at, die.name, &name.demangled, err);
	if (r == 0)
		r = vec_reserve(&f->name, &f->cap_names, f->n_names + 1, sizeof(name), err);
	if (r == 0)
		r = map_add(&f->name_by_die, asked, &slot, NULL, err);
	if (r < 0) {
		free(name.demangled);
		return r;
	}
	f->name[f->n_names++] = name;
	f->name_bytes += sizeof(name) + 2 * sizeof(struct map_slot) +
			 (name.demangled ? strlen(name.demangled) + 16 : 0);
	*slot = f->n_names;
	*ret = name.raw ? &f->name[f->n_names - 1] : NULL;
	return 0;
}
