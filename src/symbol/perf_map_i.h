/* symbol/perf_map_i.h - what perf_map.c and jitdump.c share. */
#ifndef SYMBOL_PERF_MAP_I_H
#define SYMBOL_PERF_MAP_I_H

#include "symbol/perf_map.h"

#define PERF_MAP_NONE UINT32_MAX

/* One line of a function: from addr on. */
struct perf_map_line {
	uint64_t addr;
	uint32_t line;
	uint32_t file; /* offset in text */
};

struct perf_map_code {
	uint64_t start, end;
	uint64_t time_ns; /* since when */
	uint64_t max_end; /* of the part of the array whose middle this is: see set_max_end() */
	uint64_t moved_by; /* since its lines were read; modulo 2^64 */
	uint64_t order; /* of arrival; a later one wins at the same time */
	char *demangled; /* NULL: not mangled, or not asked for yet */
	uint32_t name; /* offset in text */
	uint32_t first_line, n_lines; /* in line */
	bool is_demangled;
};

struct perf_map {
	struct perf_map_code *code;
	size_t n_codes, cap_codes;
	struct perf_map_line *line; /* each function's by addr */
	size_t n_lines, cap_lines;
	char *text; /* names, each with its ending zero */
	size_t n_text, cap_text;
	size_t n_bad;
	bool is_sorted;
};

/* Copies a text in; *ret is its offset. */
int perf_map_add_name(struct perf_map *m, const char *name, size_t len, uint32_t *ret,
		      struct err *err);
/* Adds code; the fields order, max_end and demangled are set here or later. Empty code is counted
 * as bad. */
int perf_map_add_code(struct perf_map *m, const struct perf_map_code *code, struct err *err);

#endif
