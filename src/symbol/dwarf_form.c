/* symbol/dwarf_form.c - attribute values in all their forms. See dwarf_i.h. */
#include <string.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"

int dwarf_form_bytes(uint16_t form, const struct dwarf_unit *u)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return u->addr_bytes;
	case DW_FORM_ref_addr:
		return u->version == 2 ? u->addr_bytes : u->offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return u->offset_bytes;
	default:
		return -1;
	}
}

static uint64_t read_fixed(struct cursor *c, unsigned n)
{
	const uint8_t *p;

	switch (n) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 3:
		p = cursor_take(c, 3);
		return p ? load_le16(p) | (uint64_t)p[2] << 16 : 0;
	case 4:
		return cursor_u32(c);
	case 8:
		return cursor_u64(c);
	default: /* 0, and data16, whose value nobody needs */
		cursor_take(c, n);
		return 0;
	}
}

static const char *read_text(struct cursor *c)
{
	const uint8_t *start = c->data + c->pos, *end;

	end = c->failed || !cursor_left(c) ? NULL : memchr(start, 0, cursor_left(c));
	if (!end) {
		c->failed = true;
		return NULL;
	}
	c->pos += (size_t)(end - start) + 1;
	return (const char *)start;
}

/* The forms whose size is in the bytes themselves. */
static void read_variable(struct cursor *c, struct dwarf_attr *a)
{
	uint64_t len = 0;

	switch (a->form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		a->value = cursor_uleb(c);
		return;
	case DW_FORM_sdata:
		a->value = (uint64_t)cursor_sleb(c);
		return;
	case DW_FORM_string:
		a->text = read_text(c);
		return;
	case DW_FORM_block1:
		len = cursor_u8(c);
		break;
	case DW_FORM_block2:
		len = cursor_u16(c);
		break;
	case DW_FORM_block4:
		len = cursor_u32(c);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		len = cursor_uleb(c);
		break;
	default:
		c->failed = true; /* of an unknown size: what follows can not be found */
		return;
	}
	cursor_take(c, len);
}

void dwarf_attr_read(const struct dwarf_unit *u, struct cursor *c, const struct abbrev_spec *spec,
		     struct dwarf_attr *ret)
{
	struct dwarf_attr a = {.name = spec->name, .form = spec->form};
	int n = spec->form_bytes;
	uint64_t form;

	if (a.form == DW_FORM_indirect) {
		form = cursor_uleb(c);
		if (form > UINT16_MAX || form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			c->failed = true;
		a.form = (uint16_t)form;
		n = dwarf_form_bytes(a.form, u);
	}
	if (n < 0)
		read_variable(c, &a);
	else if (a.form == DW_FORM_implicit_const)
		a.value = (uint64_t)spec->implicit;
	else if (a.form == DW_FORM_flag_present)
		a.value = 1;
	else
		a.value = read_fixed(c, (unsigned)n);
	*ret = a;
}

void dwarf_attrs_skip(const struct dwarf_unit *u, struct cursor *c, const struct abbrev_table *t,
		      const struct abbrev *ab)
{
	const struct abbrev_spec *spec;
	struct dwarf_attr a;

	if (ab->fixed_bytes >= 0) { /* also when it has none at all */
		cursor_take(c, (size_t)ab->fixed_bytes);
		return;
	}
	spec = &t->spec[ab->first_spec];
	for (unsigned i = 0; i < ab->n_specs; i++) {
		if (spec[i].form_bytes >= 0)
			cursor_take(c, (size_t)spec[i].form_bytes);
		else
			dwarf_attr_read(u, c, &spec[i], &a);
	}
}

/* The text at an offset of a section; NULL: the offset or the end of the text lies outside. */
static const char *text_at(struct view v, uint64_t offset)
{
	if (offset >= v.len || !memchr(v.data + offset, 0, v.len - offset))
		return NULL;
	return (const char *)v.data + offset;
}

/* Entry of a table of equally large values at base. */
static bool table_entry(struct view v, uint64_t base, uint64_t index, unsigned entry_bytes,
			uint64_t *ret)
{
	struct cursor c;

	if (base > v.len || index >= (v.len - base) / entry_bytes)
		return false;
	c = cursor_make(v.data + base + index * entry_bytes, entry_bytes);
	*ret = read_fixed(&c, entry_bytes);
	return true;
}

const char *dwarf_attr_text(const struct dwarf_unit *u, const struct dwarf_attr *a)
{
	const struct view *sect = u->file->sect;
	uint64_t offset;

	switch (a->form) {
	case DW_FORM_string:
		return a->text;
	case DW_FORM_strp:
		return text_at(sect[SECT_STR], a->value);
	case DW_FORM_line_strp:
		return text_at(sect[SECT_LINE_STR], a->value);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return u->file->alt ? text_at(u->file->alt->sect[SECT_STR], a->value) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!table_entry(sect[SECT_STR_OFFSETS], u->str_offsets_base, a->value,
				 u->offset_bytes, &offset))
			return NULL;
		return text_at(sect[SECT_STR], offset);
	default:
		return NULL;
	}
}

bool dwarf_addrx(const struct dwarf_unit *u, uint64_t index, uint64_t *ret)
{
	const struct dwarf_unit *with_addr = u->skeleton ? u->skeleton : u;

	return table_entry(with_addr->file->sect[SECT_ADDR], with_addr->addr_base, index,
			   u->addr_bytes, ret);
}

bool dwarf_attr_is_address(const struct dwarf_attr *a)
{
	switch (a->form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

bool dwarf_attr_address(const struct dwarf_unit *u, const struct dwarf_attr *a, uint64_t *ret)
{
	if (a->form == DW_FORM_addr) {
		*ret = a->value;
		return true;
	}
	return dwarf_attr_is_address(a) && dwarf_addrx(u, a->value, ret);
}

bool dwarf_attr_ref(const struct dwarf_unit *u, const struct dwarf_attr *a, uint64_t *ret,
		    bool *in_alt)
{
	*in_alt = false;
	switch (a->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (a->value >= u->end - u->offset)
			return false;
		*ret = u->offset + a->value;
		return true;
	case DW_FORM_ref_addr:
		*ret = a->value;
		return true;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		*ret = a->value;
		*in_alt = true;
		return true;
	default:
		return false;
	}
}
