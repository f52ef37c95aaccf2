/* query/compare.h - two recordings side by side: the answers of two queries merged by names.
 *
 * Addresses and numbers of functions, stacks and modules mean something in one recording only. Rows are
 * therefore matched by text: the function, the base name of the source file and the base name of the
 * module (two builds seldom lie in the same folder). Code without a function name is matched by the base name
 * of its module and the offset in the module, so it matches when both recordings ran the same binary; code
 * that has no module either is one row, "[no image]". Texts themselves are compared, hashes only find them.
 *
 * `before` is the base, `after` the other recording. Rows that only one recording has are there, with zeros
 * on the other side. Several rows of one recording that have the same text are added up.
 *
 * Memory: the rows of both answers, and each distinct text once. Calls look at the cancel flag of the
 * queries. Threads: as query.h.
 */
#ifndef QUERY_COMPARE_H
#define QUERY_COMPARE_H

#include "query/query.h"

/* Both sides of a comparison. */
enum compare_side {
	COMPARE_BEFORE,
	COMPARE_AFTER,
	COMPARE_N_SIDES,
};

/* by BLAME, PACKAGE, FUNCTION, LINE, MODULE and THREAD (its name); others have nothing in common. */
bool compare_knows(enum query_group_by by);

struct compare_row {
	uint64_t key; /* of the text: below 2^53, the same in every comparison */
	const char *name; /* NULL: what has no name; good until compare_rows_fini() */
	const struct frame *frame; /* of functions and by BLAME: one that has the name, or NULL */
	enum compare_side frame_side; /* whose frame that is: AFTER where possible */
	struct query_group cost[COMPARE_N_SIDES]; /* without rows: zeros */
	uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS]; /* of functions and lines */
	const char *source; /* of lines; the path as the recording has it, AFTER where possible */
	const char *function; /* of lines: one that the line is of; NULL: not known */
	uint32_t line;
};

struct text_set;
struct compare_rows {
	struct compare_row *row; /* owned; in the order in which they were met, AFTER first */
	size_t n, capacity;
	struct text_set *texts; /* owned */
	uint32_t *row_of_text; /* 1 + index; 0: none */
	size_t cap_texts;
};
void compare_rows_fini(struct compare_rows *c); /* a zeroed struct is empty */

/* q[side]: the two queries, with the same conditions. query_want() and query_represent_by() apply. */
int compare_groups(struct query *const q[COMPARE_N_SIDES], enum query_group_by by,
		   struct compare_rows *ret, struct err *err);
int compare_functions(struct query *const q[COMPARE_N_SIDES], const struct query_function_match *m,
		      struct compare_rows *ret, struct err *err);

struct compare_callers {
	struct compare_rows function; /* one row */
	struct compare_rows callers, callees, lines;
};

/* ERR_USAGE when neither recording has the function. */
int compare_callers(struct query *const q[COMPARE_N_SIDES], const char *function,
		    struct compare_callers *ret, struct err *err);
void compare_callers_fini(struct compare_callers *c);

/* ---- trees ---- */

struct compare_name {
	const struct frame *frame; /* as in struct query_tree_name ... */
	const char *title;
	uint64_t key; /* ... of the side below */
	enum compare_side side; /* AFTER where that has the name */
};

/* Nodes are in pre-order: parents before their children, a subtree without gaps, among siblings the one
 * with most bytes of both recordings first. */
struct compare_node {
	uint32_t parent;
	uint32_t name; /* index; QUERY_NO_NAME for the root */
	uint32_t n_folded;
	uint32_t n_left_out; /* children that min_share or max_depth left out */
	uint64_t cost[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
	uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS];
};

struct compare_tree {
	struct compare_node *node; /* owned, and name, too; at least one */
	size_t n;
	struct compare_name *name; /* texts: as long as the queries and their frames */
	size_t n_names;
	struct query_group total[COMPARE_N_SIDES];
	uint64_t n_stacks[COMPARE_N_SIDES]; /* behind node 0 */
};

/* Options mean what they mean for query_tree_with(), except: a node is left out when it has less than
 * min_share_ppm of what both recordings together have of every cost; max_nodes bounds the tree of each
 * recording as it is before anything is left out by min_share; keys of `under` may be of either recording. */
int compare_trees(struct query *const q[COMPARE_N_SIDES], const struct query_tree_options *o,
		  struct compare_tree *ret, struct err *err);
void compare_tree_fini(struct compare_tree *t);

/* ---- what both files share ---- */

#define COMPARE_CANCEL_STEPS 4096u

/* The name of code as both recordings have it: the function; without one "libx.so.1+0x1234"; without a module,
 * too, "[no image]". *made: to be freed, NULL when the text is the frame's. NULL: no memory. */
const char *compare_code_name(const struct frame *f, char **made);

/* A key for a text: below 2^53, so that JavaScript can hold it. */
uint64_t compare_key(const char *text);

#endif
