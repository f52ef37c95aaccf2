/* unwind/eh_frame.c - .eh_frame_hdr and .eh_frame: from a pc to the FDE that covers it.
 *
 * A record is a length, then either 0 (a CIE) or the distance back to its CIE (an FDE). An FDE
 * names a range of code and holds the instructions that cfi.c runs; its CIE holds what FDEs share.
 * .eh_frame_hdr is a table of (first pc, FDE) in ascending order. The 64-bit form of records is
 * not used in .eh_frame by any compiler, and its readers disagree about it: it counts as bad.
 */
#include "unwind/tables_i.h"

#include <string.h>

#include "base/cursor.h"

#define MAX_SCAN 1000000 /* records of a table without end mark */
#define PREFIX_BYTES 28 /* of a record: length, CIE distance, first pc and size of the range */

/* DW_EH_PE: form in the low half, what it is relative to in the high half. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
};

/* --- bytes ------------------------------------------------------------------------------------ */

static const uint8_t *bytes_in_segments(const struct eh_reader *r, uintptr_t addr, size_t n)
{
	for (unsigned i = 0; i < r->n_segments; i++) {
		const struct image_segment *s = &r->segment[i];

		if (s->is_readable && addr >= s->at.lo && addr < s->at.hi && n <= s->at.hi - addr)
			return (const uint8_t *)addr;
	}
	return NULL;
}

/* n bytes at addr, good until the next call. NULL when they cannot be read. */
static const uint8_t *get_bytes(struct eh_reader *r, uintptr_t addr, size_t n)
{
	struct eh_copy *c = r->copy;

	if (!c)
		return bytes_in_segments(r, addr, n);
	if (n > sizeof(c->search_bytes) || addr + n < addr)
		return NULL;
	if (addr < c->search.lo || addr >= c->search.hi || n > c->search.hi - addr) {
		size_t want = sizeof(c->search_bytes);

		/* All that fits, or less near the end of what is mapped. */
		while (want > n && !memory_copy(c->search_bytes, addr, want))
			want = want / 2 > n ? want / 2 : n;
		c->search = (struct memory_range){addr, addr + want};
		if (want == n && !memory_copy(c->search_bytes, addr, n)) {
			c->search.hi = addr;
			return NULL;
		}
	}
	return c->search_bytes + (addr - c->search.lo);
}

/* The body of a record: everything after its length. */
struct record {
	const uint8_t *data;
	size_t len;
	uintptr_t addr;
};

/* With copies the body goes to buf, where it stays. */
static bool get_record(struct eh_reader *r, uintptr_t addr, uint8_t *buf, size_t buf_bytes,
		       struct record *ret)
{
	const uint8_t *p = get_bytes(r, addr, 4);
	uint32_t len;

	if (!p)
		return false;
	len = load_le32(p);
	if (len < 4 || len >= 0xfffffff0u)
		return false;
	if (r->copy) {
		if (len > buf_bytes || !memory_copy(buf, addr + 4, len))
			return false;
		p = buf;
	} else {
		p = bytes_in_segments(r, addr + 4, len);
	}
	*ret = (struct record){p, len, addr + 4};
	return p != NULL;
}

/* --- pointers --------------------------------------------------------------------------------- */

static uintptr_t read_form(struct cursor *c, uint8_t form)
{
	switch (form) {
	case PE_ABSPTR:
		return sizeof(uintptr_t) == 8 ? (uintptr_t)cursor_u64(c) : cursor_u32(c);
	case PE_ULEB:
		return (uintptr_t)cursor_uleb(c);
	case PE_UDATA2:
		return cursor_u16(c);
	case PE_UDATA4:
		return cursor_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return (uintptr_t)cursor_u64(c);
	case PE_SLEB:
		return (uintptr_t)cursor_sleb(c);
	case PE_SDATA2:
		return (uintptr_t)(intptr_t)(int16_t)cursor_u16(c);
	case PE_SDATA4:
		return (uintptr_t)(intptr_t)(int32_t)cursor_u32(c);
	default:
		c->failed = true;
		return 0;
	}
}

uintptr_t eh_frame_pointer(struct cursor *c, uint8_t encoding, uintptr_t addr, uintptr_t datarel)
{
	uintptr_t at = addr + c->pos;
	uintptr_t value = read_form(c, encoding & 0x0f);

	switch (encoding & 0xf0) {
	case PE_ABSPTR:
		return value;
	case PE_PCREL:
		return value + at;
	case PE_DATAREL:
		if (datarel)
			return value + datarel;
		break;
	}
	c->failed = true; /* relative to something we do not have, or indirect */
	return 0;
}

/* --- CIE and FDE ------------------------------------------------------------------------------ */

/* Reads the letters of an augmentation that starts with z, and their data. */
static void parse_augmentation(struct cursor *c, const uint8_t *letters, struct eh_fde *ret)
{
	uint64_t len = cursor_uleb(c);
	size_t end = c->pos + len;

	if (len > cursor_left(c)) {
		c->failed = true;
		return;
	}
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			ret->pc_encoding = cursor_u8(c);
			break;
		case 'P': /* personality: not ours, but its size matters */
			encoding = cursor_u8(c);
			read_form(c, encoding & 0x0f);
			break;
		case 'L':
			cursor_u8(c);
			break;
		case 'S':
			ret->is_signal = true;
			break;
		default:
			c->failed = true; /* a letter may change the meaning of everything */
			return;
		}
	}
	if (c->pos > end)
		c->failed = true;
	else
		c->pos = end;
}

static bool parse_cie(const struct record *rec, bool *has_augmentation, struct eh_fde *ret)
{
	struct cursor c = cursor_make(rec->data, rec->len);
	const uint8_t *letters;
	uint64_t ra_column;
	uint8_t version;

	*has_augmentation = false;
	if (cursor_u32(&c) != 0)
		return false;
	version = cursor_u8(&c);
	letters = rec->data + c.pos;
	while (cursor_u8(&c)) /* ends at the terminator or at the end of the record */
		;
	if (c.failed || (version != 1 && version != 3))
		return false;
	ret->code_align = cursor_uleb(&c);
	ret->data_align = cursor_sleb(&c);
	ra_column = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	if (ra_column != ARCH_REG_PC)
		return false;
	if (*letters == 'z') {
		*has_augmentation = true;
		parse_augmentation(&c, letters + 1, ret);
	} else if (*letters) {
		return false;
	}
	ret->cie_ops = (struct eh_ops){rec->data + c.pos, cursor_left(&c), rec->addr + c.pos};
	return !c.failed;
}

static bool get_cie(struct eh_reader *r, uintptr_t addr, bool *has_augmentation, struct eh_fde *ret)
{
	struct record rec;

	return get_record(r, addr, r->copy ? r->copy->cie : NULL, EH_COPY_CIE_BYTES, &rec) &&
	       parse_cie(&rec, has_augmentation, ret);
}

/* Reads the range of code that an FDE covers; the cursor stands behind its CIE distance. */
static bool parse_range(struct cursor *c, uintptr_t addr, struct eh_fde *ret)
{
	uintptr_t size;

	ret->start = eh_frame_pointer(c, ret->pc_encoding, addr, 0);
	size = read_form(c, ret->pc_encoding & 0x0f);
	ret->end = ret->start + size;
	return !c->failed && ret->end >= ret->start;
}

/* Reads the FDE at addr with its CIE. */
static bool get_fde(struct eh_reader *r, uintptr_t addr, struct eh_fde *ret)
{
	struct record rec;
	struct cursor c;
	bool has_augmentation;
	uint32_t distance;

	*ret = (struct eh_fde){0};
	if (!get_record(r, addr, r->copy ? r->copy->fde : NULL, EH_COPY_FDE_BYTES, &rec))
		return false;
	c = cursor_make(rec.data, rec.len);
	distance = cursor_u32(&c);
	if (!distance || !get_cie(r, rec.addr - distance, &has_augmentation, ret))
		return false;
	if (!parse_range(&c, rec.addr, ret))
		return false;
	if (has_augmentation)
		cursor_take(&c, cursor_uleb(&c)); /* where exceptions are handled */
	ret->ops = (struct eh_ops){rec.data + c.pos, cursor_left(&c), rec.addr + c.pos};
	return !c.failed;
}

static enum eh_result get_fde_of(struct eh_reader *r, uintptr_t addr, uintptr_t pc,
				 struct eh_fde *ret)
{
	if (!get_fde(r, addr, ret))
		return EH_BAD;
	return pc >= ret->start && pc < ret->end ? EH_FOUND : EH_NONE;
}

/* --- reading a whole table -------------------------------------------------------------------- */

/* Goes through the FDEs of a table. at == 0: at the end, or is_bad. */
struct scan {
	struct eh_reader *r;
	uintptr_t at; /* the record to come */
	uintptr_t fde; /* the FDE found last */
	struct eh_fde range; /* its range; other fields are those of its CIE */
	uintptr_t cie; /* whose pc_encoding is in range */
	unsigned n_left;
	bool is_bad;
};

static bool scan_fail(struct scan *s)
{
	s->is_bad = true;
	s->at = 0;
	return false;
}

/* Moves to the next FDE. False at the end. */
static bool scan_next(struct scan *s)
{
	while (s->at && s->n_left--) {
		const uint8_t *p = get_bytes(s->r, s->at, 4);
		uint8_t prefix[PREFIX_BYTES];
		uint32_t len;
		size_t n;
		struct cursor c;
		uint32_t distance;
		bool has_augmentation;

		len = p ? load_le32(p) : 1;
		if (len == 0)
			return false; /* the end mark */
		n = len < PREFIX_BYTES - 4 ? len : PREFIX_BYTES - 4;
		p = len >= 4 && len < 0xfffffff0u ? get_bytes(s->r, s->at + 4, n) : NULL;
		if (!p)
			return scan_fail(s);
		memcpy(prefix, p, n); /* get_cie() may overwrite what p points at */
		s->fde = s->at;
		s->at += 4 + (uintptr_t)len;
		c = cursor_make(prefix, n);
		distance = cursor_u32(&c);
		if (!distance)
			continue; /* a CIE */
		if (s->cie != s->fde + 4 - distance) {
			s->cie = s->fde + 4 - distance;
			s->range = (struct eh_fde){0};
			if (!get_cie(s->r, s->cie, &has_augmentation, &s->range))
				return scan_fail(s);
		}
		return parse_range(&c, s->fde + 4, &s->range) || scan_fail(s);
	}
	return false;
}

enum eh_result eh_frame_scan(struct eh_reader *r, uintptr_t table, uintptr_t pc, struct eh_fde *ret)
{
	struct scan s = {.r = r, .at = table, .n_left = MAX_SCAN};

	while (scan_next(&s))
		if (pc >= s.range.start && pc < s.range.end)
			return get_fde_of(r, s.fde, pc, ret);
	return s.is_bad ? EH_BAD : EH_NONE;
}

bool eh_frame_extent(struct eh_reader *r, uintptr_t table, struct memory_range *ret)
{
	struct scan s = {.r = r, .at = table, .n_left = MAX_SCAN};

	*ret = (struct memory_range){UINTPTR_MAX, 0};
	while (scan_next(&s)) {
		if (s.range.start < ret->lo)
			ret->lo = s.range.start;
		if (s.range.end > ret->hi)
			ret->hi = s.range.end;
	}
	return ret->lo < ret->hi;
}

/* --- .eh_frame_hdr ---------------------------------------------------------------------------- */

struct hdr {
	uintptr_t addr;
	uintptr_t table; /* sorted (pc, FDE) pairs of 32-bit distances from addr; 0 = none */
	uint64_t n;
	uintptr_t eh_frame;
};

static bool parse_hdr(struct eh_reader *r, uintptr_t addr, struct hdr *ret)
{
	uint8_t bytes[4 + 2 * 10]; /* two pointers of any encoding */
	const uint8_t *p = NULL;
	size_t n = sizeof(bytes);
	struct cursor c;

	while (n >= 12 && !(p = get_bytes(r, addr, n)))
		n -= 4; /* a tiny image may end here */
	if (!p || p[0] != 1)
		return false;
	memcpy(bytes, p, n);
	c = cursor_make(bytes, n);
	c.pos = 4;
	*ret = (struct hdr){.addr = addr};
	ret->eh_frame = eh_frame_pointer(&c, bytes[1], addr, addr);
	if (c.failed)
		return false;
	if (bytes[2] == 0xff || bytes[3] != (PE_DATAREL | PE_SDATA4))
		return true; /* no table, or not the one that linkers make */
	ret->n = eh_frame_pointer(&c, bytes[2], addr, addr);
	ret->table = addr + c.pos;
	return !c.failed && ret->n < UINT32_MAX;
}

/* Reads entry i of the sorted table. */
static bool hdr_entry(struct eh_reader *r, const struct hdr *h, uint64_t i, uintptr_t *ret_pc,
		      uintptr_t *ret_fde)
{
	const uint8_t *p = get_bytes(r, h->table + (uintptr_t)i * 8, 8);

	if (!p)
		return false;
	*ret_pc = h->addr + (uintptr_t)(intptr_t)(int32_t)load_le32(p);
	*ret_fde = h->addr + (uintptr_t)(intptr_t)(int32_t)load_le32(p + 4);
	return true;
}

/* The last entry that starts at or below pc, or UINT64_MAX; *ret_fde is its FDE. False when the
 * table cannot be read. */
static bool hdr_search(struct eh_reader *r, const struct hdr *h, uintptr_t pc, uint64_t *ret_index,
		       uintptr_t *ret_fde)
{
	uint64_t lo = 0;
	uint64_t hi = h->n;

	*ret_index = UINT64_MAX;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		uintptr_t start;
		uintptr_t fde;

		if (!hdr_entry(r, h, mid, &start, &fde))
			return false;
		if (start <= pc) {
			*ret_index = mid;
			*ret_fde = fde;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return true;
}

enum eh_result eh_frame_find(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct eh_fde *ret)
{
	struct hdr h;
	uint64_t i;
	uintptr_t fde = 0;

	if (!parse_hdr(r, hdr, &h))
		return EH_BAD;
	if (!h.table)
		return eh_frame_scan(r, h.eh_frame, pc, ret);
	if (!hdr_search(r, &h, pc, &i, &fde))
		return EH_BAD;
	return i == UINT64_MAX ? EH_NONE : get_fde_of(r, fde, pc, ret);
}

bool eh_frame_gap(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct memory_range *ret)
{
	struct eh_fde fde;
	struct hdr h;
	uint64_t i;
	uintptr_t addr = 0;

	if (!parse_hdr(r, hdr, &h) || !h.table || !hdr_search(r, &h, pc, &i, &addr))
		return false;
	*ret = (struct memory_range){0, UINTPTR_MAX};
	if (i != UINT64_MAX) {
		if (!get_fde(r, addr, &fde) || fde.end > pc)
			return false;
		ret->lo = fde.end;
	}
	i++; /* UINT64_MAX becomes the first */
	return i >= h.n || hdr_entry(r, &h, i, &ret->hi, &addr);
}
