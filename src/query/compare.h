/* query/compare.h - two recordings side by side: the answers of two queries, matched by names.
 *
 * Addresses and the numbers of functions, stacks and modules are valid in one recording only. So
 * rows are matched by text:
 *  - Code with a function name: by the function, the base name of the source file and the base
 *    name of the module (two builds seldom lie in the same folder).
 *  - Code without a function name: by the base name of the module and the offset in the module.
 *    Such code matches when both recordings ran the same binary.
 *  - Code without a module: one row, "[no image]".
 * The texts themselves are compared; hashes only help to find them.
 *
 * `before` is the base, `after` the other recording. A row that only one recording has is there,
 * with zeros on the other side. Several rows of one recording with the same text are added up.
 *
 * Memory: the rows of both answers, and each distinct text once.
 *
 * Calls look at the cancel flag of the queries. Threads: as query.h.
 */
#ifndef QUERY_COMPARE_H
#define QUERY_COMPARE_H

#include "query/by_function.h"

/* Both sides of a comparison. */
enum compare_side {
	COMPARE_BEFORE,
	COMPARE_AFTER,
	COMPARE_N_SIDES,
};

/* Can groups of this kind be matched? True for BLAME, PACKAGE, FUNCTION, LINE, MODULE and THREAD
 * (by the thread's name). The keys of other kinds have no meaning in another recording. */
bool compare_knows(enum query_group_by by);

struct compare_row {
	uint64_t key; /* of the text: below 2^53, the same in every comparison */
	const char *name; /* NULL: all that has no name; valid until compare_rows_fini() */
	const struct frame *frame; /* functions and BLAME: a frame with the name, or NULL */
	enum compare_side frame_side; /* the recording of the frame: AFTER where possible */
	struct query_group cost[COMPARE_N_SIDES]; /* zeros where a recording has no such row */
	uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS]; /* functions and lines only */
	const char *source; /* lines: the path as recorded, AFTER where possible */
	const char *function; /* lines: one function that contains the line; NULL: not known */
	uint32_t line;
};

struct text_set;
struct compare_rows {
	struct compare_row *row; /* owned; in the order of appearance, those of AFTER first */
	size_t n, capacity;
	struct text_set *texts; /* owned */
	uint32_t *row_of_text; /* 1 + index; 0: none */
	size_t cap_texts;
};
void compare_rows_fini(struct compare_rows *c); /* a zeroed struct is empty */

/* q[side]: two queries with the same conditions. query_want() and query_represent_by() apply. */
int compare_groups(struct query *const q[COMPARE_N_SIDES], enum query_group_by by,
		   struct compare_rows *ret, struct err *err);
int compare_functions(struct query *const q[COMPARE_N_SIDES], const struct query_function_match *m,
		      struct compare_rows *ret, struct err *err);

struct compare_callers {
	struct compare_rows function; /* one row */
	struct compare_rows callers, callees, lines;
};

/* ERR_USAGE: neither recording has the function. */
int compare_callers(struct query *const q[COMPARE_N_SIDES], const char *function,
		    struct compare_callers *ret, struct err *err);
void compare_callers_fini(struct compare_callers *c);

/* ---- trees ---- */

struct compare_name {
	const struct frame *frame; /* these three as in struct query_tree_name of `side` */
	const char *title;
	uint64_t key;
	enum compare_side side; /* AFTER if that recording has the name */
};

/* Nodes are in pre-order: a parent comes before its children, a subtree has no gaps. Among
 * siblings the one with most bytes in both recordings together comes first. */
struct compare_node {
	uint32_t parent;
	uint32_t name; /* index; QUERY_NO_NAME for the root */
	uint32_t n_folded;
	uint32_t n_left_out; /* children that min_share_ppm or max_depth left out */
	uint64_t cost[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
	uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
};

struct compare_tree {
	struct compare_node *node; /* owned; at least one */
	size_t n;
	struct compare_name *name; /* owned; the texts live as long as the queries and their
				    * frames */
	size_t n_names;
	struct query_group total[COMPARE_N_SIDES];
	uint64_t n_stacks[COMPARE_N_SIDES]; /* stacks below node 0 */
};

/* The options mean the same as in query_tree_with(), with three exceptions:
 *  - A node is left out when it has less than min_share_ppm of every cost of both recordings
 *    together.
 *  - max_nodes bounds the tree of each recording before min_share_ppm leaves out nodes.
 *  - A key of `under` may be of either recording. */
int compare_trees(struct query *const q[COMPARE_N_SIDES], const struct query_tree_options *o,
		  struct compare_tree *ret, struct err *err);
void compare_tree_fini(struct compare_tree *t);

/* ---- shared by compare.c and compare_tree.c ---- */

#define COMPARE_CANCEL_STEPS 4096u

/* The name of code that means the same in both recordings: the function; without one
 * "libx.so.1+0x1234"; without a module "[no image]". *made: the caller frees it; NULL when the
 * text is the frame's. Returns NULL: no memory. */
const char *compare_code_name(const struct frame *f, char **made);

#endif
