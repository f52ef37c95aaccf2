/* symbol/dwarf_unit.c - the units of a file: their headers and first DIEs. See dwarf_i.h. */
#include <stdlib.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define MAX_UNITS (8u << 20)

void dwarf_file_init(struct dwarf_file *f, struct elf_file *elf)
{
	static const char *const name[N_DWARF_SECTIONS] = {
		[SECT_INFO] = ".debug_info",         [SECT_ABBREV] = ".debug_abbrev",
		[SECT_LINE] = ".debug_line",         [SECT_STR] = ".debug_str",
		[SECT_LINE_STR] = ".debug_line_str", [SECT_STR_OFFSETS] = ".debug_str_offsets",
		[SECT_ADDR] = ".debug_addr",         [SECT_RANGES] = ".debug_ranges",
		[SECT_RNGLISTS] = ".debug_rnglists",
	};

	*f = (struct dwarf_file){.elf = elf};
	for (int i = 0; i < N_DWARF_SECTIONS; i++)
		f->sect[i] = elf_file_section(elf, name[i]);
}

void dwarf_file_fini(struct dwarf_file *f)
{
	for (size_t i = 0; i < f->n_units; i++) {
		dwarf_index_destroy(f->unit[i].index);
		dwarf_scopes_destroy(f->unit[i].scopes);
		dwarf_split_close(&f->unit[i]);
	}
	dwarf_abbrevs_drop(f);
	dwarf_file_drop_names(f);
	free(f->unit);
	free(f->abbrevs);
	free(f->name);
	*f = (struct dwarf_file){0};
}

void dwarf_file_drop_names(struct dwarf_file *f)
{
	for (size_t i = 0; i < f->n_names; i++)
		free(f->name[i].demangled);
	f->n_names = 0;
	f->name_bytes = 0;
	map_fini(&f->name_by_die);
}

static uint64_t read_offset(struct cursor *c, const struct dwarf_unit *u)
{
	return u->offset_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* Reads the header at c and moves c to the next header. False: nothing more can be read. */
static bool read_header(struct cursor *c, struct dwarf_unit *u)
{
	uint64_t len;

	u->offset = c->pos;
	len = cursor_u32(c);
	u->offset_bytes = 4;
	if (len == UINT32_MAX) {
		len = cursor_u64(c);
		u->offset_bytes = 8;
	} else if (len >= 0xfffffff0) {
		return false;
	}
	if (c->failed || len > cursor_left(c) || len == 0)
		return false;
	u->end = c->pos + len;
	u->version = cursor_u16(c);
	u->type = DW_UT_compile;
	if (u->version >= 5) {
		u->type = cursor_u8(c);
		u->addr_bytes = cursor_u8(c);
		u->abbrev_offset = read_offset(c, u);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			u->dwo_id = cursor_u64(c);
	} else {
		u->abbrev_offset = read_offset(c, u);
		u->addr_bytes = cursor_u8(c);
	}
	u->die_offset = c->pos;
	if (c->failed)
		return false;
	c->pos = u->end;
	return true;
}

static bool is_readable(const struct dwarf_unit *u)
{
	return u->version >= 2 && u->version <= 5 && u->die_offset <= u->end &&
	       (u->addr_bytes == 4 || u->addr_bytes == 8) && u->type != DW_UT_type &&
	       u->type != DW_UT_split_type;
}

int dwarf_file_read_units(struct dwarf_file *f, struct err *err)
{
	struct cursor c = cursor_make(f->sect[SECT_INFO].data, f->sect[SECT_INFO].len);

	if (f->has_read_units)
		return 0;
	while (cursor_left(&c) > 0 && f->n_units < MAX_UNITS) {
		struct dwarf_unit u = {.file = f};
		int r;

		if (!read_header(&c, &u))
			break;
		if (!is_readable(&u))
			continue;
		r = vec_reserve(&f->unit, &f->cap_units, f->n_units + 1, sizeof(u), err);
		if (r < 0)
			return r;
		f->unit[f->n_units++] = u;
	}
	f->has_read_units = true;
	return 0;
}

struct dwarf_unit *dwarf_file_find_unit(struct dwarf_file *f, uint64_t die_offset)
{
	size_t low = 0, high = f->n_units;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->unit[mid].end <= die_offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == f->n_units || die_offset < f->unit[low].die_offset)
		return NULL;
	return &f->unit[low];
}

/* The attributes of the first DIE that are used, before the bases that its texts need are known. */
struct first_die {
	struct dwarf_ranges_attrs pc;
	struct dwarf_attr comp_dir, dwo_name;
};

static void take_attr(struct dwarf_unit *u, const struct dwarf_attr *a, struct first_die *die)
{
	switch (a->name) {
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_ranges:
		dwarf_ranges_take(a, &die->pc);
		break;
	case DW_AT_comp_dir:
		die->comp_dir = *a;
		break;
	case DW_AT_GNU_dwo_name:
	case DW_AT_dwo_name:
		die->dwo_name = *a;
		break;
	case DW_AT_GNU_dwo_id:
		u->dwo_id = a->value;
		break;
	case DW_AT_stmt_list:
		u->stmt_list = a->value;
		u->has_stmt_list = true;
		break;
	case DW_AT_language:
		u->language = a->value <= UINT8_MAX ? (uint8_t)a->value : 0;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		u->addr_base = a->value;
		break;
	case DW_AT_str_offsets_base:
		u->str_offsets_base = a->value;
		break;
	case DW_AT_rnglists_base:
		u->rnglists_base = a->value;
		break;
	case DW_AT_GNU_ranges_base:
		u->ranges_base = a->value;
		break;
	default:
		break;
	}
}

/* Behind the header of the first table in the section: right for split units, which say nothing. */
static void set_default_bases(struct dwarf_unit *u)
{
	if (u->version < 5)
		return;
	u->addr_base = u->offset_bytes == 8 ? 16 : 8;
	u->str_offsets_base = u->addr_base;
	u->rnglists_base = u->offset_bytes == 8 ? 20 : 12;
}

static bool read_attrs(struct dwarf_unit *u, struct cursor *c, const struct abbrev_table *t,
		       const struct abbrev *ab, struct first_die *die)
{
	for (unsigned i = 0; i < ab->n_specs; i++) {
		struct dwarf_attr a;

		dwarf_attr_read(u, c, &t->spec[ab->first_spec + i], &a);
		if (c->failed)
			return false;
		take_attr(u, &a, die);
	}
	return true;
}

/* Without loading the unit's abbreviations if that can be avoided: there may be 100 000 units. */
static int read_first_die(struct dwarf_unit *u, struct first_die *die, struct err *err)
{
	struct cursor c = cursor_make(u->file->sect[SECT_INFO].data, u->end);
	struct abbrev_table some = {0};
	const struct abbrev_table *t = &some;
	const struct abbrev *ab;
	uint64_t code;
	int r;

	c.pos = u->die_offset;
	code = cursor_uleb(&c);
	r = dwarf_abbrev_peek(u, code, &some, err);
	ab = dwarf_abbrev_find(&some, code);
	if (r == 0 && !ab && code) {
		r = dwarf_abbrevs_load(u, err);
		t = u->abbrevs;
		ab = r == 0 ? dwarf_abbrev_find(t, code) : NULL;
	}
	u->is_damaged = c.failed || !ab || !read_attrs(u, &c, t, ab, die);
	dwarf_abbrev_table_fini(&some);
	return r;
}

int dwarf_unit_open(struct dwarf_unit *u, struct dwarf_ranges *ranges, uint32_t item,
		    struct err *err)
{
	struct first_die die = {0};
	struct dwarf_range like = {.item = item};
	int r;

	if (u->is_opened)
		return 0;
	set_default_bases(u);
	r = read_first_die(u, &die, err);
	if (r < 0)
		return r;
	u->is_opened = true;
	if (u->is_damaged)
		return 0;
	u->comp_dir = dwarf_attr_text(u, &die.comp_dir);
	u->dwo_name = dwarf_attr_text(u, &die.dwo_name);
	if (u->skeleton)
		u->low_pc = u->skeleton->low_pc;
	else
		dwarf_attr_address(u, &die.pc.low_pc, &u->low_pc);
	/* version 2 has no form for more than one range, and compilers write only the first */
	u->has_no_ranges = u->version == 2 || (!die.pc.high_pc.form && !die.pc.ranges.form);
	return ranges ? dwarf_ranges_read(u, &die.pc, ranges, &like, err) : 0;
}
