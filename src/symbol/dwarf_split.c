/* symbol/dwarf_split.c - units whose DIEs were left in .dwo files or packed into a .dwp. See
 * dwarf_i.h.
 *
 * The program has a skeleton unit: line table, addresses, a path and an id. The other part has the
 * same id, which is checked. Each unit of a .dwp is handled as if it were a .dwo of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define MAX_PATH_BYTES 4096
#define MAX_COLUMNS 16

static const char *const DWO_SECTION[N_DWARF_SECTIONS] = {
	[SECT_INFO] = ".debug_info.dwo",         [SECT_ABBREV] = ".debug_abbrev.dwo",
	[SECT_STR] = ".debug_str.dwo",           [SECT_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[SECT_RNGLISTS] = ".debug_rnglists.dwo",
};

static void destroy_file(struct dwarf_file *f)
{
	if (!f)
		return;
	if (f->owns_elf)
		elf_file_close(f->elf);
	dwarf_file_fini(f);
	free(f);
}

void dwarf_split_close(struct dwarf_unit *u)
{
	if (u->split)
		destroy_file(u->split->file);
	u->split = NULL;
}

/* Takes ownership of f, and keeps f as the split file of u if it has the unit with the right id. */
static int adopt(struct dwarf_unit *u, struct dwarf_file *f, struct err *err)
{
	int r = dwarf_file_read_units(f, err);

	for (size_t i = 0; r == 0 && i < f->n_units; i++) {
		struct dwarf_unit *split = &f->unit[i];

		split->skeleton = u;
		r = dwarf_unit_open(split, NULL, 0, err);
		if (r == 0 && !split->is_damaged && split->dwo_id == u->dwo_id &&
		    split->addr_bytes == u->addr_bytes) {
			u->split = split;
			return 0;
		}
	}
	destroy_file(f);
	return r;
}

/* Fills in the sections of a .dwo, or the sections of a whole .dwp. */
static struct dwarf_file *create_file(struct elf_file *elf, bool owns_elf)
{
	struct dwarf_file *f = calloc(1, sizeof(*f));

	if (!f) {
		if (owns_elf)
			elf_file_close(elf);
		return NULL;
	}
	f->elf = elf;
	f->owns_elf = owns_elf;
	for (int i = 0; i < N_DWARF_SECTIONS; i++) {
		if (DWO_SECTION[i])
			f->sect[i] = elf_file_section(elf, DWO_SECTION[i]);
	}
	return f;
}

static int try_dwo(struct dwarf_unit *u, const char *path, struct err *err)
{
	struct elf_file *elf = NULL;
	struct dwarf_file *f;
	int r;

	if (u->split)
		return 0;
	r = elf_file_open(path, &elf, err);
	if (r < 0 || !elf)
		return r;
	if (!elf_file_has_section(elf, DWO_SECTION[SECT_INFO]) ||
	    elf_file_has_section(elf, ".debug_cu_index")) {
		elf_file_close(elf);
		return 0;
	}
	f = create_file(elf, true);
	return f ? adopt(u, f, err) : err_set_memory(err, sizeof(*f));
}

/* Cuts a section down to the part that the index gives to the unit; empty when there is none. */
static void cut(struct view *v, uint32_t offset, uint32_t len)
{
	if (offset >= v->len || len > v->len - offset)
		*v = (struct view){0};
	else
		*v = (struct view){v->data + offset, len};
}

struct cu_index {
	struct cursor hash, row, columns, offsets, sizes;
	uint32_t version, n_columns, n_units, n_slots;
};

/* Finds the parts of .debug_cu_index; false when it is damaged. */
static bool read_cu_index(struct view v, struct cu_index *ix)
{
	struct cursor c = cursor_make(v.data, v.len);
	size_t table_bytes;

	if (!v.len)
		return false;
	ix->version = cursor_u32(&c); /* version 5 has two bytes and padding */
	ix->n_columns = cursor_u32(&c);
	ix->n_units = cursor_u32(&c);
	ix->n_slots = cursor_u32(&c);
	if (c.failed || (ix->version != 2 && ix->version != 5) || ix->n_columns > MAX_COLUMNS ||
	    ix->n_slots > v.len || ix->n_units > v.len)
		return false;
	table_bytes = (size_t)ix->n_units * ix->n_columns * 4;
	ix->hash = cursor_make(cursor_take(&c, (size_t)ix->n_slots * 8), (size_t)ix->n_slots * 8);
	ix->row = cursor_make(cursor_take(&c, (size_t)ix->n_slots * 4), (size_t)ix->n_slots * 4);
	ix->columns = cursor_make(cursor_take(&c, ix->n_columns * 4ul), (size_t)ix->n_columns * 4);
	ix->offsets = cursor_make(cursor_take(&c, table_bytes), table_bytes);
	ix->sizes = cursor_make(cursor_take(&c, table_bytes), table_bytes);
	return !c.failed;
}

/* Row of a unit, from 0; false when it is not there. */
static bool find_row(struct cu_index *ix, uint64_t dwo_id, uint32_t *ret)
{
	for (uint32_t i = 0; i < ix->n_slots; i++) {
		uint64_t id = cursor_u64(&ix->hash);
		uint32_t row = cursor_u32(&ix->row);

		if (id == dwo_id && row > 0 && row <= ix->n_units) {
			*ret = row - 1;
			return true;
		}
	}
	return false;
}

static int section_of_column(uint32_t id, uint32_t version)
{
	switch (id) {
	case DW_SECT_INFO:
		return SECT_INFO;
	case DW_SECT_ABBREV:
		return SECT_ABBREV;
	case DW_SECT_STR_OFFSETS:
		return SECT_STR_OFFSETS;
	case DW_SECT_RNGLISTS: /* in version 2 it is .debug_macro */
		return version == 5 ? SECT_RNGLISTS : -1;
	default:
		return -1;
	}
}

static int try_dwp(struct dwarf_unit *u, struct elf_file *dwp, struct err *err)
{
	struct cu_index ix = {.n_slots = 0};
	struct dwarf_file *f;
	uint32_t row;

	if (!read_cu_index(elf_file_section(dwp, ".debug_cu_index"), &ix) ||
	    !find_row(&ix, u->dwo_id, &row))
		return 0;
	f = create_file(dwp, false);
	if (!f)
		return err_set_memory(err, sizeof(*f));
	cursor_take(&ix.offsets, (size_t)row * ix.n_columns * 4);
	cursor_take(&ix.sizes, (size_t)row * ix.n_columns * 4);
	for (uint32_t i = 0; i < ix.n_columns; i++) {
		int sect = section_of_column(cursor_u32(&ix.columns), ix.version);
		uint32_t offset = cursor_u32(&ix.offsets), len = cursor_u32(&ix.sizes);

		if (sect >= 0)
			cut(&f->sect[sect], offset, len);
	}
	return adopt(u, f, err);
}

/* Opens path if it is a .dwp. */
static int add_dwp(struct split_search *s, const char *path, struct err *err)
{
	struct elf_file *elf = NULL;
	int r = elf_file_open(path, &elf, err);

	if (r < 0 || !elf)
		return r;
	r = vec_reserve(&s->dwp, &s->cap_dwps, s->n_dwps + 1, sizeof(elf), err);
	if (r == 0 && elf_file_has_section(elf, ".debug_cu_index"))
		s->dwp[s->n_dwps++] = elf;
	else
		elf_file_close(elf);
	return r;
}

static int search_dwp(struct split_search *s, struct err *err)
{
	const char *module = text_basename(s->module_path);
	char path[MAX_PATH_BYTES];
	int r = 0;

	if (s->has_searched_dwp)
		return 0;
	s->has_searched_dwp = true;
	for (size_t i = 0; r == 0 && i < s->options->n_debug_paths; i++) {
		r = add_dwp(s, s->options->debug_path[i], err);
		snprintf(path, sizeof(path), "%s/%s.dwp", s->options->debug_path[i], module);
		if (r == 0)
			r = add_dwp(s, path, err);
	}
	if (r == 0 && s->options->use_local_files) {
		snprintf(path, sizeof(path), "%s.dwp", s->module_path);
		r = add_dwp(s, path, err);
	}
	return r;
}

/* Looks at what the user named, then where the compiler put it, then beside the module. */
static int search_dwo(struct split_search *s, struct dwarf_unit *u, struct err *err)
{
	const char *base = text_basename(u->dwo_name);
	const char *module_base = text_basename(s->module_path);
	bool is_absolute = u->dwo_name[0] == '/';
	char path[MAX_PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->options->n_debug_paths; i++) {
		const char *given = s->options->debug_path[i];

		r = try_dwo(u, given, err);
		snprintf(path, sizeof(path), "%s/%s", given, u->dwo_name);
		if (r == 0)
			r = try_dwo(u, path, err);
		snprintf(path, sizeof(path), "%s/%s", given, base);
		if (r == 0)
			r = try_dwo(u, path, err);
	}
	if (r < 0 || u->split || !s->options->use_local_files)
		return r;
	snprintf(path, sizeof(path), "%s%s%s", is_absolute || !u->comp_dir ? "" : u->comp_dir,
		 is_absolute || !u->comp_dir ? "" : "/", u->dwo_name);
	r = try_dwo(u, path, err);
	snprintf(path, sizeof(path), "%.*s%s", (int)(module_base - s->module_path), s->module_path,
		 base);
	return r == 0 ? try_dwo(u, path, err) : r;
}

int dwarf_split_open(struct split_search *s, struct dwarf_unit *u, struct err *err)
{
	int r;

	if (u->has_searched_split)
		return 0;
	r = search_dwp(s, err);
	for (size_t i = 0; r == 0 && i < s->n_dwps && !u->split; i++)
		r = try_dwp(u, s->dwp[i], err);
	if (r == 0 && !u->split)
		r = search_dwo(s, u, err);
	if (r == 0 && !u->split) {
		u->has_searched_split = true;
		s->n_missing++;
	}
	return r;
}

void split_search_fini(struct split_search *s)
{
	for (size_t i = 0; i < s->n_dwps; i++)
		elf_file_close(s->dwp[i]);
	free(s->dwp);
	*s = (struct split_search){0};
}
