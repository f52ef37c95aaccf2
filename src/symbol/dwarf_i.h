/* symbol/dwarf_i.h - reading DWARF 2 to 5: which functions and lines an address belongs to.
 *
 * Our own reader, on the sections that libelf delivers. libdw (0.188) has no address table where
 * .debug_aranges is missing (clang, rustc), reads no .dwp files, and its way from one DIE to the
 * next walks all children again. On 100 000 addresses of a Rust program with 1.7 MB of .debug_info
 * libdw had not finished after 72 s of CPU time; this reader takes 0.05 s
 * (docs/internals/unwinder.md).
 *
 *   dwarf_file   the sections of one file, or the part of a .dwp that belongs to one unit
 *   dwarf_unit   a compilation unit: header, and what its first DIE says
 *   dwarf_index  of one unit, made on demand: functions and lines, by address
 *
 * All bytes go through base/cursor.h. Every count that comes from the file is limited by the size
 * of the section that would have to hold so many entries. What cannot be understood costs its unit
 * or its name and is not reported; only running out of memory is an error: functions with an err
 * return 0 or -ERR_MEMORY, dwarf_resolve() the number of frames or -ERR_MEMORY.
 */
#ifndef SYMBOL_DWARF_I_H
#define SYMBOL_DWARF_I_H

#include "base/cursor.h"
#include "symbol/elf_file_i.h"
#include "symbol/symbol.h"
#include "util/map.h"

enum dwarf_section {
	SECT_INFO,
	SECT_ABBREV,
	SECT_LINE,
	SECT_STR,
	SECT_LINE_STR,
	SECT_STR_OFFSETS,
	SECT_ADDR,
	SECT_RANGES,
	SECT_RNGLISTS,
	N_DWARF_SECTIONS,
};

#define DWARF_NONE UINT32_MAX

struct abbrev_spec {
	uint16_t name;
	uint16_t form;
	int8_t form_bytes; /* dwarf_form_bytes() of form */
	int64_t implicit; /* the value of DW_FORM_implicit_const */
};

struct abbrev {
	uint64_t code;
	uint32_t first_spec;
	uint16_t n_specs;
	uint16_t tag;
	int32_t fixed_bytes; /* all attributes together, or -1 when that differs by DIE */
	bool has_children;
};

struct abbrev_table {
	struct abbrev *abbrev; /* sorted by code */
	size_t n, cap;
	struct abbrev_spec *spec;
	size_t n_specs, cap_specs;
	bool is_dense; /* abbrev[i].code == i + 1 */
};

/* The name of a function, shared by all its inlined copies. */
struct dwarf_name {
	const char *raw; /* borrowed from the file's sections */
	char *demangled; /* readable, or raw with its scope; NULL: show raw */
};

struct dwarf_file {
	struct elf_file *elf; /* not owned, unless owns_elf */
	bool owns_elf;
	struct view sect[N_DWARF_SECTIONS];
	struct dwarf_unit *unit; /* by offset */
	size_t n_units, cap_units;
	bool has_read_units;
	struct map abbrev_by_offset; /* to 1 + index in abbrevs */
	struct abbrev_table **abbrevs;
	size_t n_abbrevs, cap_abbrevs;
	struct map name_by_die; /* to 1 + index in name */
	struct dwarf_name *name;
	size_t n_names, cap_names;
	size_t name_bytes, abbrev_bytes; /* memory that the names and tables take */
	unsigned name_depth; /* names under way, for a name that needs another one */
	struct dwarf_file *alt; /* what dwz moved out; NULL: none. Not owned. */
};

struct dwarf_unit {
	struct dwarf_file *file;
	struct abbrev_table *abbrevs; /* NULL until asked for */
	struct dwarf_index *index; /* NULL until asked for */
	struct dwarf_scopes *scopes; /* NULL until asked for */
	struct dwarf_unit *split; /* of a skeleton: its unit in a .dwo or .dwp; owned */
	struct dwarf_unit *skeleton; /* of a split unit */
	uint64_t offset, end, die_offset; /* in .debug_info */
	uint64_t abbrev_offset;
	uint64_t dwo_id;
	uint64_t low_pc; /* what range lists start from */
	uint64_t stmt_list; /* in .debug_line */
	uint64_t addr_base, str_offsets_base, rnglists_base, ranges_base;
	const char *comp_dir, *dwo_name;
	uint16_t version;
	uint8_t offset_bytes, addr_bytes, type;
	uint8_t language; /* DW_LANG_x, 0 when above 255 */
	bool is_opened, is_damaged; /* opening was tried; nothing more can be read of it */
	bool has_stmt_list, has_searched_split;
	bool has_no_ranges; /* its first DIE does not say where (all of) its code is */
};

/* An attribute as it is in the file; the dwarf_attr_x() functions interpret it. */
struct dwarf_attr {
	uint16_t name;
	uint16_t form; /* 0: absent */
	uint64_t value;
	const char *text; /* of DW_FORM_string; always terminated inside its section */
};

struct dwarf_range {
	uint64_t low, high;
	uint32_t item; /* whose range: index of a unit or a function */
	uint32_t depth; /* where ranges overlap, the deepest wins */
};

struct dwarf_ranges {
	struct dwarf_range *range;
	size_t n, cap;
	size_t max; /* more are not added */
};

/* The item (or DWARF_NONE) of all addresses from start up to the next row. */
struct dwarf_row {
	uint64_t start;
	uint32_t item;
};

struct dwarf_rows {
	struct dwarf_row *row; /* by start */
	size_t n;
};

struct dwarf_func {
	uint64_t name_die; /* in the unit's file: itself, or its abstract origin */
	uint32_t parent; /* index, or DWARF_NONE */
	uint32_t call_file, call_line, call_column; /* of an inlined one */
	bool is_inline;
};

struct dwarf_line {
	uint64_t addr;
	uint32_t file; /* DWARF_NONE: no code from here on */
	uint32_t line;
	uint32_t column;
};

struct dwarf_line_file {
	const char *name;
	char *path; /* NULL until asked for */
	uint32_t dir;
};

struct dwarf_lines {
	struct dwarf_line *line; /* by addr */
	size_t n, cap;
	struct dwarf_line_file *file;
	size_t n_files, cap_files;
	const char **dir;
	size_t n_dirs, cap_dirs;
	const char *comp_dir;
	uint16_t version;
};

struct dwarf_index {
	struct dwarf_func *func;
	size_t n_funcs, cap_funcs;
	struct dwarf_rows rows; /* items are indexes of func */
	struct dwarf_lines lines;
	size_t size_bytes;
};

/* --- dwarf_abbrev.c: the tables that say which attributes a DIE has --------------------------- */

/* Sets u->abbrevs. Units that use the same table share it. */
int dwarf_abbrevs_load(struct dwarf_unit *u, struct err *err);
const struct abbrev *dwarf_abbrev_find(const struct abbrev_table *t, uint64_t code); /* or NULL */

/* Reads only as far as this code, if it is near the start; otherwise *ret is empty. *ret is the
 * caller's: dwarf_abbrev_table_fini(). */
int dwarf_abbrev_peek(const struct dwarf_unit *u, uint64_t code, struct abbrev_table *ret,
		      struct err *err);
void dwarf_abbrev_table_fini(struct abbrev_table *t);
void dwarf_abbrevs_drop(struct dwarf_file *f); /* the tables of all units */

/* --- dwarf_form.c: values of attributes ------------------------------------------------------- */

/* Reading and skipping move c behind the attribute; c fails when its size is not known. */
void dwarf_attr_read(const struct dwarf_unit *u, struct cursor *c, const struct abbrev_spec *spec,
		     struct dwarf_attr *ret);
void dwarf_attrs_skip(const struct dwarf_unit *u, struct cursor *c, const struct abbrev_table *t,
		      const struct abbrev *ab);
int dwarf_form_bytes(uint16_t form, const struct dwarf_unit *u); /* -1: differs by DIE */
const char *dwarf_attr_text(const struct dwarf_unit *u, const struct dwarf_attr *a); /* or NULL */
bool dwarf_attr_is_address(const struct dwarf_attr *a);
bool dwarf_attr_address(const struct dwarf_unit *u, const struct dwarf_attr *a, uint64_t *ret);

/* The offset of the DIE that the attribute refers to; *in_alt: in the alt file. False: it refers to
 * none. */
bool dwarf_attr_ref(const struct dwarf_unit *u, const struct dwarf_attr *a, uint64_t *ret,
		    bool *in_alt);
bool dwarf_addrx(const struct dwarf_unit *u, uint64_t index, uint64_t *ret);

/* --- dwarf_unit.c: the units of a file -------------------------------------------------------- */

void dwarf_file_init(struct dwarf_file *f, struct elf_file *elf);
void dwarf_file_fini(struct dwarf_file *f);
int dwarf_file_read_units(struct dwarf_file *f, struct err *err);
struct dwarf_unit *dwarf_file_find_unit(struct dwarf_file *f, uint64_t die_offset); /* or NULL */
void dwarf_file_drop_names(struct dwarf_file *f);

/* Reads the first DIE of the unit; the ranges of its code go to ranges (may be NULL) as item. */
int dwarf_unit_open(struct dwarf_unit *u, struct dwarf_ranges *ranges, uint32_t item,
		    struct err *err);

/* --- dwarf_ranges.c: ranges of addresses ------------------------------------------------------ */

/* The three attributes that say where the code of a DIE is. */
struct dwarf_ranges_attrs {
	struct dwarf_attr low_pc, high_pc, ranges;
};

/* Keeps a in *ret if it is one of the three. */
void dwarf_ranges_take(const struct dwarf_attr *a, struct dwarf_ranges_attrs *ret);
int dwarf_ranges_add(struct dwarf_ranges *rs, const struct dwarf_range *r, struct err *err);
int dwarf_ranges_read(const struct dwarf_unit *u, const struct dwarf_ranges_attrs *at,
		      struct dwarf_ranges *rs, const struct dwarf_range *like, struct err *err);

/* Sorts rs and turns it into rows that do not overlap; the deepest item wins. */
int dwarf_rows_make(struct dwarf_ranges *rs, struct dwarf_rows *ret, struct err *err);
uint32_t dwarf_rows_find(const struct dwarf_rows *rows, uint64_t addr); /* or DWARF_NONE */

/* --- dwarf_lines.c: line tables --------------------------------------------------------------- */

int dwarf_lines_read(const struct dwarf_unit *u, struct dwarf_lines *ret, struct err *err);
void dwarf_lines_fini(struct dwarf_lines *l);
const struct dwarf_line *dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr); /* or NULL */
const char *dwarf_lines_path(struct dwarf_lines *l, uint32_t file); /* NULL: not known */

/* --- dwarf_index.c: functions and lines of a unit --------------------------------------------- */

/* u is the unit with the lines; its split unit, if there is one, has the functions. */
int dwarf_index_create(struct dwarf_unit *u, struct dwarf_index **ret, struct err *err);
void dwarf_index_destroy(struct dwarf_index *ix);

/* --- dwarf_name.c, dwarf_scope.c: names ------------------------------------------------------- */

/* The name of the function at a DIE; *ret is NULL when it has none. Borrowed until the next
 * call. */
int dwarf_name_get(struct dwarf_unit *u, uint64_t die, const struct dwarf_name **ret,
		   struct err *err);

/* The name with the namespaces and classes around the DIE that the name is from, for the caller to
 * free. *ret is untouched when there are none. */
int dwarf_scope_name(struct dwarf_unit *u, uint64_t die, const char *name, char **ret,
		     struct err *err);
void dwarf_scopes_destroy(struct dwarf_scopes *s);

/* --- dwarf_split.c: .dwo and .dwp files ------------------------------------------------------- */

struct split_search {
	const char *module_path; /* whose folder and name + ".dwp" are tried */
	const struct symbol_options *options;
	struct elf_file **dwp; /* opened so far; owned */
	size_t n_dwps, cap_dwps;
	bool has_searched_dwp;
	size_t n_missing; /* units whose .dwo was not found */
};

/* Sets u->split when its file is found. */
int dwarf_split_open(struct split_search *s, struct dwarf_unit *u, struct err *err);
void dwarf_split_close(struct dwarf_unit *u);
void split_search_fini(struct split_search *s);

/* --- dwarf.c: from an address to frames ------------------------------------------------------- */

struct dwarf {
	struct dwarf_file main, alt;
	bool has_read;
	bool has_all_ranges; /* also those of units with has_no_ranges */
	struct dwarf_ranges ranges; /* of the units */
	struct dwarf_rows rows; /* items are indexes of main.unit; made of ranges */
	size_t index_bytes; /* of all units' indexes */
	struct split_search split;
};

/* alt may be NULL. Both files must outlive d. */
void dwarf_init(struct dwarf *d, struct elf_file *main, struct elf_file *alt,
		const char *module_path, const struct symbol_options *options);
void dwarf_fini(struct dwarf *d);

/* Where frames go: fn(user, frame). Where DWARF knows a line but no function, fallback() gives a
 * name or NULL. */
struct frame_sink {
	symbol_frame_fn fn;
	void *user;
	const struct dwarf_name *(*fallback)(void *fallback_user, uint64_t addr);
	void *fallback_user;
};

/* As symbol_image_resolve(). */
int dwarf_resolve(struct dwarf *d, uint64_t addr, const struct frame_sink *sink, struct err *err);

#endif
