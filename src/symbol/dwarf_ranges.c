/* symbol/dwarf_ranges.c - address ranges, and the table that finds what an address is in.
 * See dwarf_i.h. */
#include <stdlib.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

/* No code lies inside the file's header. Linkers put 0 or 1 where a function was left out. */
#define LOWEST_CODE_ADDRESS 52

int dwarf_ranges_add(struct dwarf_ranges *rs, const struct dwarf_range *r, struct err *err)
{
	int res;

	if (r->low >= r->high || r->low < LOWEST_CODE_ADDRESS || rs->n >= rs->max)
		return 0;
	res = vec_reserve(&rs->range, &rs->cap, rs->n + 1, sizeof(*r), err);
	if (res < 0)
		return res;
	rs->range[rs->n++] = *r;
	return 0;
}

/* .debug_ranges: pairs of addresses, relative to a base; DWARF up to 4. */
static int read_old_list(const struct dwarf_unit *u, uint64_t offset, struct dwarf_ranges *rs,
			 const struct dwarf_range *like, struct err *err)
{
	struct view v = (u->skeleton ? u->skeleton : u)->file->sect[SECT_RANGES];
	uint64_t max = u->addr_bytes == 8 ? UINT64_MAX : UINT32_MAX, base = u->low_pc;
	struct dwarf_range r = *like;
	struct cursor c;

	if (offset >= v.len)
		return 0;
	c = cursor_make(v.data, v.len);
	c.pos = offset;
	for (;;) {
		uint64_t low = u->addr_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
		uint64_t high = u->addr_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
		int res;

		if (c.failed || (low == 0 && high == 0) || rs->n >= rs->max)
			return 0;
		if (low == max) {
			base = high;
			continue;
		}
		/* 1, 1 is what stays of a function that the linker left out */
		r.low = (low + base) & max;
		r.high = (high + base) & max;
		res = low < high ? dwarf_ranges_add(rs, &r, err) : 0;
		if (res < 0)
			return res;
	}
}

struct list_state {
	const struct dwarf_unit *u;
	struct cursor c;
	uint64_t base;
	bool has_range;
	bool is_end;
};

static uint64_t list_addrx(struct list_state *s)
{
	uint64_t addr = 0;

	if (!dwarf_addrx(s->u, cursor_uleb(&s->c), &addr))
		s->has_range = false;
	return addr;
}

static uint64_t list_addr(struct list_state *s)
{
	return s->u->addr_bytes == 8 ? cursor_u64(&s->c) : cursor_u32(&s->c);
}

/* One entry of .debug_rnglists. */
static void read_entry(struct list_state *s, struct dwarf_range *r)
{
	s->has_range = true;
	switch (cursor_u8(&s->c)) {
	case DW_RLE_base_addressx:
		s->base = list_addrx(s);
		s->has_range = false;
		break;
	case DW_RLE_startx_endx:
		r->low = list_addrx(s);
		r->high = list_addrx(s);
		break;
	case DW_RLE_startx_length:
		r->low = list_addrx(s);
		r->high = r->low + cursor_uleb(&s->c);
		break;
	case DW_RLE_offset_pair:
		r->low = s->base + cursor_uleb(&s->c);
		r->high = s->base + cursor_uleb(&s->c);
		if (s->base < LOWEST_CODE_ADDRESS && s->u->low_pc >= LOWEST_CODE_ADDRESS)
			s->has_range = false; /* base of something that was left out */
		break;
	case DW_RLE_base_address:
		s->base = list_addr(s);
		s->has_range = false;
		break;
	case DW_RLE_start_end:
		r->low = list_addr(s);
		r->high = list_addr(s);
		break;
	case DW_RLE_start_length:
		r->low = list_addr(s);
		r->high = r->low + cursor_uleb(&s->c);
		break;
	default: /* the end, or unknown */
		s->is_end = true;
		s->has_range = false;
		break;
	}
}

static int read_list(const struct dwarf_unit *u, uint64_t offset, struct dwarf_ranges *rs,
		     const struct dwarf_range *like, struct err *err)
{
	struct view v = u->file->sect[SECT_RNGLISTS];
	struct list_state s = {.u = u, .base = u->low_pc};
	struct dwarf_range r = *like;

	if (offset >= v.len)
		return 0;
	s.c = cursor_make(v.data, v.len);
	s.c.pos = offset;
	while (!s.is_end && !s.c.failed && rs->n < rs->max) {
		int res;

		read_entry(&s, &r);
		if (s.c.failed || !s.has_range)
			continue;
		res = dwarf_ranges_add(rs, &r, err);
		if (res < 0)
			return res;
	}
	return 0;
}

/* Where the list of a DW_FORM_rnglistx is. */
static bool find_list(const struct dwarf_unit *u, uint64_t index, uint64_t *offset)
{
	struct view v = u->file->sect[SECT_RNGLISTS];
	struct cursor c;

	if (u->rnglists_base > v.len || index >= (v.len - u->rnglists_base) / u->offset_bytes)
		return false;
	c = cursor_make(v.data, v.len);
	c.pos = u->rnglists_base + index * u->offset_bytes;
	*offset = u->rnglists_base + (u->offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c));
	return true;
}

void dwarf_ranges_take(const struct dwarf_attr *a, struct dwarf_ranges_attrs *ret)
{
	if (a->name == DW_AT_low_pc)
		ret->low_pc = *a;
	else if (a->name == DW_AT_high_pc)
		ret->high_pc = *a;
	else if (a->name == DW_AT_ranges)
		ret->ranges = *a;
}

int dwarf_ranges_read(const struct dwarf_unit *u, const struct dwarf_ranges_attrs *at,
		      struct dwarf_ranges *rs, const struct dwarf_range *like, struct err *err)
{
	struct dwarf_range r = *like;
	uint64_t offset = at->ranges.value;

	if (at->ranges.form) {
		if (u->version < 5) {
			if (u->skeleton)
				offset += u->skeleton->ranges_base;
			return read_old_list(u, offset, rs, like, err);
		}
		if (at->ranges.form == DW_FORM_rnglistx && !find_list(u, at->ranges.value, &offset))
			return 0;
		return read_list(u, offset, rs, like, err);
	}
	if (!at->high_pc.form || !dwarf_attr_address(u, &at->low_pc, &r.low))
		return 0;
	if (!dwarf_attr_is_address(&at->high_pc))
		r.high = r.low + at->high_pc.value;
	else if (!dwarf_attr_address(u, &at->high_pc, &r.high))
		return 0;
	return dwarf_ranges_add(rs, &r, err);
}

static int by_low(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->high != y->high) /* the wider one first: it is around the other */
		return x->high > y->high ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

static void put_row(struct dwarf_rows *rows, uint64_t start, uint32_t item)
{
	if (rows->n > 0 && rows->row[rows->n - 1].start == start)
		rows->row[rows->n - 1].item = item;
	else
		rows->row[rows->n++] = (struct dwarf_row){start, item};
}

/* Ends the innermost open range; the range around it goes on. */
static size_t close_range(const struct dwarf_range **open, size_t n_open, struct dwarf_rows *rows)
{
	uint64_t end = open[n_open - 1]->high;

	while (n_open > 0 && open[n_open - 1]->high <= end)
		n_open--;
	put_row(rows, end, n_open > 0 ? open[n_open - 1]->item : DWARF_NONE);
	return n_open;
}

int dwarf_rows_make(struct dwarf_ranges *rs, struct dwarf_rows *ret, struct err *err)
{
	const struct dwarf_range *
		*open; /* the ranges around the current address, outermost first */
	struct dwarf_rows rows = {0};
	size_t n_open = 0;

	if (rs->n == 0)
		return 0;
	qsort(rs->range, rs->n, sizeof(*rs->range), by_low);
	open = malloc(rs->n * sizeof(*open));
	rows.row = malloc(2 * rs->n * sizeof(*rows.row)); /* each range starts once and ends once */
	if (!open || !rows.row) {
		free(open);
		free(rows.row);
		return err_set_memory(err, 2 * rs->n * sizeof(*rows.row));
	}
	for (size_t i = 0; i < rs->n; i++) {
		while (n_open > 0 && open[n_open - 1]->high <= rs->range[i].low)
			n_open = close_range(open, n_open, &rows);
		open[n_open++] = &rs->range[i];
		put_row(&rows, rs->range[i].low, rs->range[i].item);
	}
	while (n_open > 0)
		n_open = close_range(open, n_open, &rows);
	free(open);
	*ret = rows;
	return 0;
}

uint32_t dwarf_rows_find(const struct dwarf_rows *rows, uint64_t addr)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows->row[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? rows->row[low - 1].item : DWARF_NONE;
}
