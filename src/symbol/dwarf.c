/* symbol/dwarf.c - from an address to frames: the unit, its index, the functions in it.
 * See dwarf_i.h. */
#include <stdlib.h>

#include "symbol/dwarf_i.h"

void dwarf_init(struct dwarf *d, struct elf_file *main, struct elf_file *alt,
		const char *module_path, const struct symbol_options *options)
{
	*d = (struct dwarf){.split = {.module_path = module_path, .options = options}};
	d->main.elf = main;
	d->alt.elf = alt;
}

void dwarf_fini(struct dwarf *d)
{
	dwarf_file_fini(&d->main);
	dwarf_file_fini(&d->alt);
	split_search_fini(&d->split);
	free(d->ranges.range);
	free(d->rows.row);
	*d = (struct dwarf){0};
}

/* Reads the sections and the table of units. */
static int read_units(struct dwarf *d, struct err *err)
{
	int r;

	dwarf_file_init(&d->main, d->main.elf);
	r = dwarf_file_read_units(&d->main, err);
	if (r == 0 && d->alt.elf) {
		dwarf_file_init(&d->alt, d->alt.elf);
		d->main.alt = &d->alt;
		r = dwarf_file_read_units(&d->alt, err);
	}
	d->ranges.max = d->main.n_units + d->main.sect[SECT_INFO].len / 8 +
			d->main.sect[SECT_RANGES].len / 8 + d->main.sect[SECT_RNGLISTS].len / 2;
	for (size_t i = 0; r == 0 && i < d->main.n_units; i++)
		r = dwarf_unit_open(&d->main.unit[i], &d->ranges, (uint32_t)i, err);
	if (r == 0)
		r = dwarf_rows_make(&d->ranges, &d->rows, err);
	d->has_read = true; /* also after a failure: what was read is consistent */
	return r;
}

/* Keeps memory bounded. Addresses in ascending order do not need the dropped indexes again. */
static void drop_indexes(struct dwarf *d)
{
	for (size_t i = 0; i < d->main.n_units; i++) {
		dwarf_index_destroy(d->main.unit[i].index);
		d->main.unit[i].index = NULL;
		dwarf_scopes_destroy(d->main.unit[i].scopes);
		d->main.unit[i].scopes = NULL;
		dwarf_split_close(&d->main.unit[i]);
	}
	d->index_bytes = 0;
	dwarf_abbrevs_drop(&d->main);
	dwarf_abbrevs_drop(&d->alt);
	dwarf_file_drop_names(&d->main);
}

static int get_index(struct dwarf *d, struct dwarf_unit *u, struct err *err)
{
	int r;

	if (u->index)
		return 0;
	if (d->index_bytes + d->main.name_bytes + d->main.abbrev_bytes + d->alt.abbrev_bytes >
	    SYMBOL_MAX_INDEX_BYTES)
		drop_indexes(d);
	if (u->dwo_name && !u->split) {
		r = dwarf_split_open(&d->split, u, err);
		if (r < 0)
			return r;
	}
	r = dwarf_index_create(u, &u->index, err);
	if (r == 0)
		d->index_bytes += u->index->size_bytes;
	return r;
}

/* Old compilers do not say where the code of a unit with several sections is; its functions do.
 * This walks over all such units, once; units that have types only are among them. */
static int read_missing_ranges(struct dwarf *d, struct err *err)
{
	int r = 0;

	d->has_all_ranges = true;
	for (size_t i = 0; r == 0 && i < d->main.n_units; i++) {
		struct dwarf_unit *u = &d->main.unit[i];

		if (!u->has_no_ranges || u->is_damaged || !u->has_stmt_list)
			continue;
		r = get_index(d, u, err);
		for (size_t k = 0; r == 0 && k + 1 < u->index->rows.n; k++) {
			const struct dwarf_row *row = &u->index->rows.row[k];
			struct dwarf_range range = {row->start, row[1].start, (uint32_t)i, 0};

			if (row->item != DWARF_NONE)
				r = dwarf_ranges_add(&d->ranges, &range, err);
		}
	}
	if (r == 0) {
		struct dwarf_rows rows = {0};

		r = dwarf_rows_make(&d->ranges, &rows, err);
		if (r < 0)
			return r;
		free(d->rows.row);
		d->rows = rows;
	}
	return r;
}

/* The unit with the code at addr; *ret is untouched when there is none. */
static int find_unit(struct dwarf *d, uint64_t addr, struct dwarf_unit **ret, struct err *err)
{
	uint32_t item;
	int r = d->has_read ? 0 : read_units(d, err);

	item = dwarf_rows_find(&d->rows, addr);
	if (r == 0 && item == DWARF_NONE && !d->has_all_ranges) {
		r = read_missing_ranges(d, err);
		item = dwarf_rows_find(&d->rows, addr);
	}
	if (r == 0 && item != DWARF_NONE)
		*ret = &d->main.unit[item];
	return r;
}

static void set_name(struct symbol_frame *frame, const struct dwarf_name *name)
{
	frame->raw_function = name ? name->raw : NULL;
	frame->function = name && name->demangled ? name->demangled : frame->raw_function;
}

/* Gives the frames from func outwards; frame has file and line in the innermost function. */
static int give_frames(struct dwarf_unit *u, uint32_t func, struct symbol_frame *frame,
		       uint64_t addr, const struct frame_sink *sink, struct err *err)
{
	struct dwarf_index *ix = u->index;
	int n = 0;

	for (;;) {
		const struct dwarf_func *f = &ix->func[func];
		const struct dwarf_name *name;
		int r = dwarf_name_get(u->split ? u->split : u, f->name_die, &name, err);

		if (r < 0)
			return r;
		frame->is_inline = f->is_inline && f->parent != DWARF_NONE;
		if (!name && !frame->is_inline)
			name = sink->fallback(sink->fallback_user, addr);
		set_name(frame, name);
		sink->fn(sink->user, frame);
		n++;
		if (!frame->is_inline)
			return n;
		frame->source = dwarf_lines_path(&ix->lines, f->call_file);
		frame->line = f->call_line;
		frame->column = f->call_column;
		func = f->parent; /* always a smaller index: this ends */
	}
}

int dwarf_resolve(struct dwarf *d, uint64_t addr, const struct frame_sink *sink, struct err *err)
{
	struct symbol_frame frame = {0};
	const struct dwarf_line *line;
	struct dwarf_unit *u = NULL;
	uint32_t item;
	int r;

	r = find_unit(d, addr, &u, err);
	if (r < 0 || !u)
		return r;
	r = get_index(d, u, err);
	if (r < 0)
		return r;
	line = dwarf_lines_find(&u->index->lines, addr);
	if (line) {
		frame.source = dwarf_lines_path(&u->index->lines, line->file);
		frame.line = line->line;
		frame.column = line->column;
	}
	item = dwarf_rows_find(&u->index->rows, addr);
	if (item != DWARF_NONE)
		return give_frames(u, item, &frame, addr, sink, err);
	if (!line)
		return 0;
	set_name(&frame, sink->fallback(sink->fallback_user, addr));
	sink->fn(sink->user, &frame);
	return 1;
}
