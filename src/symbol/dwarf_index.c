/* symbol/dwarf_index.c - which functions cover which addresses of a unit. See dwarf_i.h.
 *
 * One walk over all DIEs of the unit in the order of the file. Only functions and inlined calls
 * are read; everything else is skipped, mostly by its fixed size.
 */
#include <stdlib.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define MAX_DEPTH 1024 /* of nested DIEs */

struct walk {
	struct dwarf_unit *u;
	struct cursor c;
	struct dwarf_index *ix;
	struct dwarf_ranges ranges;
	size_t depth;
	uint32_t func_at[MAX_DEPTH]; /* the function around the DIEs at each depth */
};

/* The attributes of a function's DIE that are used. */
struct func_die {
	struct dwarf_ranges_attrs pc;
	struct dwarf_attr origin, sibling;
	uint32_t call_file, call_line, call_column;
	bool is_declaration, has_linkage_name;
};

static void take_attr(const struct dwarf_attr *a, struct func_die *die)
{
	uint32_t value = a->value > UINT32_MAX ? 0 : (uint32_t)a->value;

	switch (a->name) {
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_ranges:
		dwarf_ranges_take(a, &die->pc);
		break;
	case DW_AT_abstract_origin:
		die->origin = *a;
		break;
	case DW_AT_sibling:
		die->sibling = *a;
		break;
	case DW_AT_call_file:
		die->call_file = value;
		break;
	case DW_AT_call_line:
		die->call_line = value;
		break;
	case DW_AT_call_column:
		die->call_column = value;
		break;
	case DW_AT_declaration:
		die->is_declaration = a->value != 0;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		die->has_linkage_name = true;
		break;
	default:
		break;
	}
}

/* The attributes of take_attr(): reading the others would take most of the time. */
static bool is_wanted(uint16_t name)
{
	static const uint64_t low[2] = {
		1ull << DW_AT_sibling | 1ull << DW_AT_low_pc | 1ull << DW_AT_high_pc |
			1ull << DW_AT_abstract_origin | 1ull << DW_AT_declaration,
		1ull << (DW_AT_ranges - 64) | 1ull << (DW_AT_call_file - 64) |
			1ull << (DW_AT_call_line - 64) | 1ull << (DW_AT_call_column - 64) |
			1ull << (DW_AT_linkage_name - 64),
	};

	return name < 128 ? low[name / 64] >> (name % 64) & 1 : name == DW_AT_MIPS_linkage_name;
}

/* Reads the attributes, or only where the next DIE beside it is. */
static void read_die(struct walk *w, const struct abbrev *ab, bool only_sibling,
		     struct func_die *die)
{
	const struct abbrev_spec *spec;
	struct dwarf_attr a;

	if (ab->n_specs == 0)
		return;
	spec = &w->u->abbrevs->spec[ab->first_spec];
	for (unsigned i = 0; i < ab->n_specs; i++) {
		bool wanted =
			only_sibling ? spec[i].name == DW_AT_sibling : is_wanted(spec[i].name);

		if (!wanted && spec[i].form_bytes >= 0) {
			cursor_take(&w->c, (size_t)spec[i].form_bytes);
			continue;
		}
		dwarf_attr_read(w->u, &w->c, &spec[i], &a);
		if (wanted)
			take_attr(&a, die);
	}
}

/* Moves behind all children of a DIE that has DW_AT_sibling. */
static bool skip_children(struct walk *w, const struct dwarf_attr *sibling)
{
	uint64_t to;
	bool in_alt;

	if (!sibling->form || !dwarf_attr_ref(w->u, sibling, &to, &in_alt) || in_alt ||
	    to <= w->c.pos || to > w->u->end)
		return false;
	w->c.pos = to;
	return true;
}

/* Adds a function with the ranges of its code; *ret is untouched when it has no code. */
static int add_func(struct walk *w, uint64_t at, const struct func_die *die, bool is_inline,
		    uint32_t *ret, struct err *err)
{
	struct dwarf_index *ix = w->ix;
	struct dwarf_func f = {.name_die = at, .is_inline = is_inline};
	struct dwarf_range like = {.item = (uint32_t)ix->n_funcs, .depth = (uint32_t)w->depth};
	size_t n_ranges = w->ranges.n;
	uint64_t origin;
	bool in_alt;
	int r;

	if (!die->pc.low_pc.form && !die->pc.ranges.form)
		return 0;
	r = dwarf_ranges_read(w->u, &die->pc, &w->ranges, &like, err);
	if (r < 0 || w->ranges.n == n_ranges || ix->n_funcs >= DWARF_NONE)
		return r;
	if (!die->has_linkage_name && dwarf_attr_ref(w->u, &die->origin, &origin, &in_alt) &&
	    !in_alt)
		f.name_die = origin;
	f.parent = w->func_at[w->depth];
	f.call_file = die->call_file;
	f.call_line = die->call_line;
	f.call_column = die->call_column;
	r = vec_reserve(&ix->func, &ix->cap_funcs, ix->n_funcs + 1, sizeof(f), err);
	if (r < 0)
		return r;
	*ret = (uint32_t)ix->n_funcs;
	ix->func[ix->n_funcs++] = f;
	return 0;
}

/* Whether DIEs with this tag have no code in their children. */
static bool is_without_code(uint16_t tag)
{
	return tag == DW_TAG_enumeration_type || tag == DW_TAG_array_type ||
	       tag == DW_TAG_subroutine_type || tag == DW_TAG_call_site ||
	       tag == DW_TAG_GNU_call_site;
}

/* Reads one DIE and moves to the next. */
static int step(struct walk *w, struct err *err)
{
	uint64_t at = w->c.pos, code = cursor_uleb(&w->c);
	struct func_die die = {0};
	uint32_t func = w->func_at[w->depth];
	const struct abbrev *ab;
	int r;

	if (code == 0) { /* the end of the children */
		if (w->depth == 0)
			w->c.failed = true;
		else
			w->depth--;
		return 0;
	}
	ab = dwarf_abbrev_find(w->u->abbrevs, code);
	if (!ab) {
		w->c.failed = true;
		return 0;
	}
	if (ab->tag == DW_TAG_subprogram || ab->tag == DW_TAG_inlined_subroutine) {
		read_die(w, ab, false, &die);
		if (w->c.failed)
			return 0;
		r = add_func(w, at, &die, ab->tag == DW_TAG_inlined_subroutine, &func, err);
		if (r < 0)
			return r;
		if (ab->has_children && die.is_declaration && skip_children(w, &die.sibling))
			return 0;
	} else if (ab->has_children && is_without_code(ab->tag)) {
		read_die(w, ab, true, &die);
		if (skip_children(w, &die.sibling))
			return 0;
	} else {
		dwarf_attrs_skip(w->u, &w->c, w->u->abbrevs, ab);
	}
	if (!ab->has_children)
		return 0;
	if (w->depth + 1 >= MAX_DEPTH) {
		w->c.failed = true;
		return 0;
	}
	w->func_at[++w->depth] = func;
	return 0;
}

/* The greatest number of ranges that the unit can have: every range takes two bytes somewhere. */
static size_t max_ranges(const struct dwarf_unit *u)
{
	const struct dwarf_unit *other = u->skeleton ? u->skeleton : u;

	return (size_t)(u->end - u->offset) + u->file->sect[SECT_RNGLISTS].len / 2 +
	       other->file->sect[SECT_RANGES].len / 8;
}

static int index_funcs(struct dwarf_unit *u, struct dwarf_index *ix, struct err *err)
{
	struct walk *w;
	int r = dwarf_abbrevs_load(u, err);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set_memory(err, sizeof(*w));
	w->u = u;
	w->ix = ix;
	w->c = cursor_make(u->file->sect[SECT_INFO].data, u->end);
	w->c.pos = u->die_offset;
	w->func_at[0] = DWARF_NONE;
	w->ranges.max = max_ranges(u);
	while (r == 0 && !w->c.failed && cursor_left(&w->c) > 0)
		r = step(w, err);
	if (r == 0)
		r = dwarf_rows_make(&w->ranges, &ix->rows, err);
	free(w->ranges.range);
	free(w);
	return r;
}

int dwarf_index_create(struct dwarf_unit *u, struct dwarf_index **ret, struct err *err)
{
	struct dwarf_unit *with_funcs = u->split ? u->split : u;
	struct dwarf_index *ix = calloc(1, sizeof(*ix));
	int r = 0;

	if (!ix)
		return err_set_memory(err, sizeof(*ix));
	if (!with_funcs->is_damaged)
		r = index_funcs(with_funcs, ix, err);
	if (r == 0)
		r = dwarf_lines_read(u, &ix->lines, err);
	if (r < 0) {
		dwarf_index_destroy(ix);
		return r;
	}
	ix->size_bytes = sizeof(*ix) + ix->cap_funcs * sizeof(*ix->func) +
			 ix->rows.n * sizeof(*ix->rows.row) +
			 ix->lines.cap * sizeof(*ix->lines.line) +
			 ix->lines.cap_files * (sizeof(*ix->lines.file) + 64);
	*ret = ix;
	return 0;
}

void dwarf_index_destroy(struct dwarf_index *ix)
{
	if (!ix)
		return;
	free(ix->func);
	free(ix->rows.row);
	dwarf_lines_fini(&ix->lines);
	free(ix);
}
