/* symbol/dwarf_lines.c - line tables. See dwarf_i.h.
 *
 * The line program of a unit is run once and gives one row for each address where the line changes,
 * in order of address. Of rows with the same address the last one counts. */
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_const_i.h"
#include "symbol/dwarf_i.h"
#include "util/vec.h"

#define MAX_ROWS (32u << 20) /* of one unit: far beyond what a compiler writes */
#define MAX_OPCODES 256
#define LOWEST_CODE_ADDRESS 52 /* see dwarf_ranges.c */

struct program {
	struct dwarf_unit unit; /* sizes and version of this table, sections of the unit */
	struct cursor c;
	uint8_t min_instruction, line_range, opcode_base;
	int8_t line_base;
	uint8_t n_operands[MAX_OPCODES];
};

struct state {
	uint64_t addr;
	uint64_t file, line, column;
	size_t first; /* row of this sequence */
};

struct sequence {
	size_t first, n;
	uint64_t start;
};

struct sequences {
	struct sequence *seq;
	size_t n, cap;
};

void dwarf_lines_fini(struct dwarf_lines *l)
{
	for (size_t i = 0; i < l->n_files; i++)
		free(l->file[i].path);
	free(l->line);
	free(l->file);
	free(l->dir);
	*l = (struct dwarf_lines){0};
}

static int add_dir(struct dwarf_lines *l, const char *dir, struct err *err)
{
	int r = vec_reserve(&l->dir, &l->cap_dirs, l->n_dirs + 1, sizeof(*l->dir), err);

	if (r == 0)
		l->dir[l->n_dirs++] = dir;
	return r;
}

static int add_file(struct dwarf_lines *l, const char *name, uint64_t dir, struct err *err)
{
	int r = vec_reserve(&l->file, &l->cap_files, l->n_files + 1, sizeof(*l->file), err);

	if (r == 0)
		l->file[l->n_files++] = (struct dwarf_line_file){
			.name = name, .dir = dir < DWARF_NONE ? (uint32_t)dir : DWARF_NONE};
	return r;
}

static const char *read_text(struct program *p)
{
	struct abbrev_spec spec = {.form = DW_FORM_string, .form_bytes = -1};
	struct dwarf_attr a;

	dwarf_attr_read(&p->unit, &p->c, &spec, &a);
	return a.text;
}

/* Up to version 4: two lists that end with an empty name; counting starts at 1. */
static int read_old_files(struct program *p, struct dwarf_lines *l, struct err *err)
{
	const char *name;
	int r;

	r = add_dir(l, NULL, err); /* the compilation's folder */
	while (r == 0 && (name = read_text(p)) && *name)
		r = add_dir(l, name, err);
	if (r == 0)
		r = add_file(l, NULL, 0, err);
	while (r == 0 && (name = read_text(p)) && *name) {
		uint64_t dir = cursor_uleb(&p->c);

		cursor_uleb(&p->c); /* time */
		cursor_uleb(&p->c); /* length */
		r = add_file(l, name, dir, err);
	}
	return r;
}

/* Version 5: a list of folders or files, which says itself of what parts each entry is. */
static int read_entries(struct program *p, struct dwarf_lines *l, bool is_dirs, struct err *err)
{
	struct abbrev_spec spec[16];
	unsigned n_specs = cursor_u8(&p->c);
	uint64_t n;

	if (n_specs > ARRAY_LEN(spec))
		p->c.failed = true;
	for (unsigned i = 0; i < n_specs && !p->c.failed; i++) {
		uint64_t type = cursor_uleb(&p->c), form = cursor_uleb(&p->c);

		spec[i] = (struct abbrev_spec){.name = type > UINT16_MAX ? 0 : (uint16_t)type,
					       .form = form > UINT16_MAX ? 0 : (uint16_t)form};
		spec[i].form_bytes = (int8_t)dwarf_form_bytes(spec[i].form, &p->unit);
	}
	n = cursor_uleb(&p->c);
	if (n > cursor_left(&p->c)) /* each takes a byte at least */
		p->c.failed = true;
	for (uint64_t i = 0; i < n && !p->c.failed; i++) {
		const char *name = NULL;
		uint64_t dir = 0;
		int r;

		for (unsigned k = 0; k < n_specs; k++) {
			struct dwarf_attr a;

			dwarf_attr_read(&p->unit, &p->c, &spec[k], &a);
			if (a.name == DW_LNCT_path)
				name = dwarf_attr_text(&p->unit, &a);
			else if (a.name == DW_LNCT_directory_index)
				dir = a.value;
		}
		r = is_dirs ? add_dir(l, name, err) : add_file(l, name, dir, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the header; c is left at the first opcode, with the end of the program as its end. */
static int read_header(struct program *p, struct dwarf_lines *l, struct err *err)
{
	struct cursor *c = &p->c;
	uint64_t len = cursor_u32(c), header_len;
	size_t program_at;
	int r;

	p->unit.offset_bytes = 4;
	if (len == UINT32_MAX) {
		len = cursor_u64(c);
		p->unit.offset_bytes = 8;
	}
	if (c->failed || len > cursor_left(c))
		goto bad;
	c->len = c->pos + len;
	l->version = p->unit.version = cursor_u16(c);
	if (l->version < 2 || l->version > 5)
		goto bad;
	if (l->version >= 5) {
		p->unit.addr_bytes = cursor_u8(c);
		cursor_u8(c); /* size of a segment selector */
	}
	header_len = p->unit.offset_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
	if (c->failed || header_len > cursor_left(c))
		goto bad;
	program_at = c->pos + header_len;
	p->min_instruction = cursor_u8(c);
	if (l->version >= 4)
		cursor_u8(c); /* operations per instruction: 1 on all our machines */
	cursor_u8(c); /* default of is_stmt, which we do not look at */
	p->line_base = (int8_t)cursor_u8(c);
	p->line_range = cursor_u8(c);
	p->opcode_base = cursor_u8(c);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->n_operands[i] = cursor_u8(c);
	if (l->version < 5) {
		r = read_old_files(p, l, err);
	} else {
		r = read_entries(p, l, true, err);
		if (r == 0)
			r = read_entries(p, l, false, err);
	}
	if (r < 0)
		return r;
	if (c->failed || p->line_range == 0)
		goto bad;
	c->pos = program_at;
	return 0;
bad:
	c->failed = true;
	return 0;
}

static int add_row(struct dwarf_lines *l, const struct state *s, bool is_end, struct err *err)
{
	struct dwarf_line row = {.addr = s->addr};
	int r;

	row.file = is_end || s->file >= DWARF_NONE ? DWARF_NONE : (uint32_t)s->file;
	row.line = s->line > UINT32_MAX ? 0 : (uint32_t)s->line;
	row.column = s->column > UINT32_MAX ? 0 : (uint32_t)s->column;
	if (l->n > s->first) {
		struct dwarf_line *last = &l->line[l->n - 1];

		if (last->addr == row.addr) {
			*last = row;
			return 0;
		}
		if (last->addr > row.addr || l->n >= MAX_ROWS) /* damaged */
			return 0;
		if (last->file == row.file && last->line == row.line && last->column == row.column)
			return 0;
	}
	r = vec_reserve(&l->line, &l->cap, l->n + 1, sizeof(row), err);
	if (r == 0)
		l->line[l->n++] = row;
	return r;
}

static void reset(struct state *s, const struct dwarf_lines *l)
{
	*s = (struct state){.file = 1, .line = 1, .first = l->n};
}

/* Keeps the sequence that has just ended, unless the linker left out its code. */
static int end_sequence(struct dwarf_lines *l, struct sequences *ss, struct state *s,
			struct err *err)
{
	struct sequence q = {.first = s->first};
	int r = add_row(l, s, true, err);

	if (r < 0)
		return r;
	q.n = l->n - s->first;
	q.start = l->line[q.first].addr;
	l->line[l->n - 1].file =
		DWARF_NONE; /* also when the end lies before it, in a damaged one */
	if (q.n < 2 || q.start < LOWEST_CODE_ADDRESS) {
		l->n = s->first;
	} else {
		r = vec_reserve(&ss->seq, &ss->cap, ss->n + 1, sizeof(q), err);
		if (r == 0)
			ss->seq[ss->n++] = q;
	}
	reset(s, l);
	return r;
}

static int run_extended(struct program *p, struct dwarf_lines *l, struct sequences *ss,
			struct state *s, struct err *err)
{
	uint64_t len = cursor_uleb(&p->c);
	const uint8_t *bytes = cursor_take(&p->c, len);
	struct cursor c;

	if (!bytes || len == 0)
		return 0;
	c = cursor_make(bytes, len);
	switch (cursor_u8(&c)) {
	case DW_LNE_end_sequence:
		return end_sequence(l, ss, s, err);
	case DW_LNE_set_address:
		s->addr = len - 1 == 4 ? cursor_u32(&c) : cursor_u64(&c);
		return 0;
	default: /* define_file is not written by anybody */
		return 0;
	}
}

static int run_standard(struct program *p, struct dwarf_lines *l, struct state *s, uint8_t op,
			struct err *err)
{
	switch (op) {
	case DW_LNS_copy:
		return add_row(l, s, false, err);
	case DW_LNS_advance_pc:
		s->addr += cursor_uleb(&p->c) * p->min_instruction;
		return 0;
	case DW_LNS_advance_line:
		s->line = (uint32_t)(s->line + (uint64_t)cursor_sleb(&p->c));
		return 0;
	case DW_LNS_set_file:
		s->file = cursor_uleb(&p->c);
		return 0;
	case DW_LNS_set_column:
		s->column = cursor_uleb(&p->c);
		return 0;
	case DW_LNS_const_add_pc:
		s->addr += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_instruction;
		return 0;
	case DW_LNS_fixed_advance_pc:
		s->addr += cursor_u16(&p->c);
		return 0;
	default:
		for (unsigned i = 0; i < p->n_operands[op]; i++)
			cursor_uleb(&p->c);
		return 0;
	}
}

static int run(struct program *p, struct dwarf_lines *l, struct sequences *ss, struct err *err)
{
	struct state s;
	int r = 0;

	reset(&s, l);
	while (r == 0 && cursor_left(&p->c) > 0 && !p->c.failed) {
		uint8_t op = cursor_u8(&p->c);

		if (op >= p->opcode_base) {
			unsigned n = op - p->opcode_base;

			s.addr += (uint64_t)(n / p->line_range) * p->min_instruction;
			s.line = (uint32_t)((int64_t)s.line + p->line_base + n % p->line_range);
			r = add_row(l, &s, false, err);
		} else if (op == 0) {
			r = run_extended(p, l, ss, &s, err);
		} else {
			r = run_standard(p, l, &s, op, err);
		}
	}
	l->n = s.first; /* a sequence without an end is not known to end anywhere */
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Puts the sequences in order of address. Where two overlap the earlier one stays. */
static int sort_rows(struct dwarf_lines *l, struct sequences *ss, struct err *err)
{
	struct dwarf_line *line;
	size_t n = 0;
	bool is_sorted = true;

	for (size_t i = 1; i < ss->n; i++) {
		const struct sequence *before = &ss->seq[i - 1];

		if (l->line[before->first + before->n - 1].addr > ss->seq[i].start)
			is_sorted = false;
	}
	if (is_sorted || l->n == 0)
		return 0;
	qsort(ss->seq, ss->n, sizeof(*ss->seq), by_start);
	line = malloc(l->n * sizeof(*line));
	if (!line)
		return err_set_memory(err, l->n * sizeof(*line));
	for (size_t i = 0; i < ss->n; i++) {
		for (size_t k = 0; k < ss->seq[i].n; k++) {
			const struct dwarf_line *row = &l->line[ss->seq[i].first + k];

			if (n == 0 || row->addr >= line[n - 1].addr)
				line[n++] = *row;
		}
	}
	free(l->line);
	l->line = line;
	l->cap = l->n;
	l->n = n;
	return 0;
}

int dwarf_lines_read(const struct dwarf_unit *u, struct dwarf_lines *ret, struct err *err)
{
	struct view v = u->file->sect[SECT_LINE];
	struct dwarf_lines l = {.comp_dir = u->comp_dir};
	struct sequences ss = {0};
	struct program p = {.unit = *u, .c = cursor_make(v.data, v.len)};
	int r;

	if (!u->has_stmt_list || u->stmt_list >= v.len)
		return 0;
	p.c.pos = u->stmt_list;
	r = read_header(&p, &l, err);
	if (r == 0 && !p.c.failed)
		r = run(&p, &l, &ss, err);
	if (r == 0)
		r = sort_rows(&l, &ss, err);
	free(ss.seq);
	if (r < 0) {
		dwarf_lines_fini(&l);
		return r;
	}
	*ret = l;
	return 0;
}

const struct dwarf_line *dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->line[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || l->line[low - 1].file == DWARF_NONE)
		return NULL;
	return &l->line[low - 1];
}

static char *join(const char *a, const char *b, const char *c)
{
	const char *part[3] = {a, b, c};
	size_t len = 1;
	char *path, *p;

	for (int i = 0; i < 3; i++)
		len += part[i] ? strlen(part[i]) + 1 : 0;
	path = p = malloc(len);
	if (!path)
		return NULL;
	for (int i = 0; i < 3; i++) {
		if (!part[i] || !*part[i])
			continue;
		if (p != path && p[-1] != '/')
			*p++ = '/';
		p = stpcpy(p, part[i]);
	}
	*p = 0;
	return path;
}

const char *dwarf_lines_path(struct dwarf_lines *l, uint32_t file)
{
	struct dwarf_line_file *f;
	const char *dir = NULL;

	if (file >= l->n_files || !l->file[file].name)
		return NULL;
	f = &l->file[file];
	if (f->path)
		return f->path;
	if (f->name[0] != '/' && f->dir < l->n_dirs)
		dir = l->dir[f->dir];
	if (f->name[0] == '/')
		f->path = join(f->name, NULL, NULL);
	else if (dir && dir[0] == '/')
		f->path = join(dir, f->name, NULL);
	else
		f->path = join(l->comp_dir, dir, f->name);
	return f->path;
}
