/* query/by_function.h - the functions, source lines and texts of a recording, with their costs.
 *
 * The parts of query/query.h that name functions. Costs, filters, errors and cancelling are as there.
 */
#ifndef QUERY_BY_FUNCTION_H
#define QUERY_BY_FUNCTION_H

#include "query/query.h"

/* ---- functions ---- */

/* The cost of all stacks that pass through a function. A stack counts once, also in recursion. */
struct query_function {
	uint64_t key; /* as QUERY_BY_FUNCTION; code without a function name has keys of its own */
	const char *name; /* the function, or "libx.so.1+0x1234"; lives as long as the query */
	const struct frame *frame; /* one frame with this name */
	struct query_group cost; /* inclusive */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of stacks whose innermost frame it is */
};

struct query_functions {
	struct query_function *function; /* owned; largest bytes first */
	size_t n;
};

/* Selects functions: one frame of the function must contain all three texts, ignoring case. NULL
 * or "" matches all. A frame without source or module has no such text. The selection does
 * not change the costs. */
struct query_function_match {
	const char *name;
	const char *module;
	const char *source;
	bool own_only; /* and the frame must be the program's own code */
};

/* m: NULL selects all functions. ERR_USAGE: a text is not UTF-8. */
int query_functions(struct query *q, const struct query_function_match *m,
		    struct query_functions *ret, struct err *err);
void query_functions_fini(struct query_functions *f);

/* A line of a source file. A stack that passes through the line counts once. */
struct query_line {
	const char *source;
	uint32_t line;
	const char *function; /* one function that contains the line; NULL: not known */
	struct query_group cost; /* inclusive */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of the stacks whose innermost frame is this line */
};

struct query_lines {
	struct query_line *line; /* owned */
	size_t n;
};
void query_lines_fini(struct query_lines *l);

/* A function with its callers and callees. The cost of a caller or callee is that of the stacks in
 * which the call happens. ERR_USAGE: no frame has that name. */
struct query_callers {
	struct query_function function;
	struct query_functions
		callers; /* self: what the function itself allocated when this caller called it */
	struct query_functions callees; /* self: of the stacks that end in the callee */
	struct query_lines lines; /* known lines of the function, most bytes first */
};
int query_callers(struct query *q, const char *function, struct query_callers *ret,
		  struct err *err);
void query_callers_fini(struct query_callers *c);

/* The lines of a file that stacks pass through, ascending. ERR_USAGE: no frame has this source. */
int query_lines_of_file(struct query *q, const char *source, struct query_lines *ret,
			struct err *err);

/* ---- searching ---- */

struct query_found {
	const char *text;
	const struct frame *frame; /* one frame with this text */
	struct query_group cost; /* of the stacks that pass through such a frame */
};

struct query_found_list {
	struct query_found *item; /* owned; most leaked bytes first, then peak bytes, then bytes */
	size_t n;
};

/* Functions, source files and modules whose name or path contains the text, ignoring case. "":
 * all. own_only: and which the program's own code has. */
struct query_search {
	struct query_found_list functions, files, modules;
};
int query_search(struct query *q, const char *text, bool own_only, struct query_search *ret,
		 struct err *err);
void query_search_fini(struct query_search *s);

#endif
