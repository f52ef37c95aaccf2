/* query/query.h - asking a store: the one way for the command line, the REST API, exports and GUI.
 *
 * A query is a filter bound to a store: regexes are matched once per frame name, conditions on
 * stacks become a bitmap over stacks, the rest are ranges over columns that skip whole blocks by
 * their minimum and maximum. What needs no row at all is answered from the tables.
 *
 * Every call can be cancelled from another thread: *cancel becomes true (the client hung up) and
 * the call returns -ERR_CANCELLED soon. Work is spread over query_context.n_threads threads; the
 * result does not depend on their number. A query belongs to one thread at a time; any number of
 * queries may use one store and one struct frames.
 *
 * An allocation is alive from the nanosecond of its birth until the one before its release. What
 * is alive "at" a moment is what is alive after everything that happened in that nanosecond.
 *
 * Memory: results are bounded by what is asked for (a page, a number of buckets, the number of
 * stacks), never by the number of rows.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <stdatomic.h>

#include "query/filter.h"
#include "query/frame_class.h"
#include "store/frames.h"

struct query_context {
	const struct store *store;
	struct frames *frames;
	const atomic_bool *cancel; /* may be NULL */
	unsigned n_threads; /* 0: as many as there are CPUs */
	const char *progress_label; /* NULL, or what the terminal shows while rows are looked at */
	struct frame_rules
		*rules; /* whose code a frame is; NULL: those of the store, no own_regex */
};

struct query; /* opaque: defined in query.c */

/* Context and filter are borrowed for the query's life. ERR_USAGE for a bad regex (names the
 * parameter, the offset and what is wrong) and for an unknown backtrace. */
int query_create(const struct query_context *c, const struct filter *f, struct query **ret,
		 struct err *err);
void query_destroy(struct query *q); /* NULL does nothing */

/* Whose code is whose, for this query: those of the context, or its own. Borrowed. */
struct frame_rules *query_rules(struct query *q);

/* Which figures of a struct query_group are needed: all of them unless this is called. Those that
 * are not wanted may be 0, which saves one or more passes over the rows: without both of these a
 * query about stacks alone, or about leaks, is answered from the table of stacks. */
#define QUERY_WANT_PEAK 1u /* peak_* */
#define QUERY_WANT_SPAN 2u /* first_ns, last_ns, min_size_bytes, max_size_bytes */
#define QUERY_WANT_ALL 3u
void query_want(struct query *q, unsigned wants);

/* All of the matching rows: as the total of any grouping. */
struct query_group;
int query_total(struct query *q, struct query_group *ret, struct err *err);

/* ---- rows ---- */

/* A row with all that is known of it. */
struct query_row {
	uint64_t row; /* its number: the id of an allocation */
	uint64_t birth_ns;
	uint64_t death_ns; /* UINT64_MAX: never released */
	uint64_t size_bytes;
	uint64_t extra_bytes;
	uint64_t addr;
	uint64_t marker;
	uint64_t chain; /* UINT64_MAX: none */
	uint64_t chain_position;
	uint32_t stack;
	uint32_t thread; /* index */
	uint32_t free_stack;
	uint32_t free_thread;
	uint32_t flags; /* columns.h */
};

enum query_sort {
	QUERY_BY_TIME,
	QUERY_BY_ADDRESS,
	QUERY_BY_SIZE,
	QUERY_BY_LIFETIME,
	QUERY_BY_USABLE_SIZE,
	QUERY_BY_FREE_TIME, /* never freed comes behind everything that was freed */
	QUERY_BY_KIND, /* enum store_kind */
	QUERY_BY_CHAIN_LENGTH, /* without a realloc: 1 */
	QUERY_BY_THREAD_INDEX,
	QUERY_BY_STACK_NUMBER,
	QUERY_N_SORTS,
};

struct query_page {
	enum query_sort sort;
	bool is_descending;
	uint64_t skip;
	uint64_t count; /* UINT64_MAX: all */
};

/* Calls fn for the rows of the page, in order, until it returns false. *n_matching: all rows that
 * match, also outside of the page (may be NULL: not counted, faster; not written when fn ended the
 * call). Rows with equal keys come in the order of their numbers; descending is exactly the
 * reverse. Never released counts as living until the end.
 * Pages by time stream. Others hold at most QUERY_SORT_ROWS rows at a time: one more pass over the store
 * for each as many rows of the page. What is skipped costs a few passes, however much it is. */
#define QUERY_SORT_ROWS ((size_t)1 << 20)
int query_rows(struct query *q, const struct query_page *page,
	       bool (*fn)(void *user, const struct query_row *row), void *user,
	       uint64_t *n_matching, struct err *err);

/* ---- groups ---- */

/* CODE to LINE go by one frame of each stack, its site: the innermost one that belongs neither to an
 * allocator nor to a run-time library (frame_class_is_folded()); the innermost one when all do.
 * BLAME and PACKAGE go by the frame to blame: frame_class_blame(), frame_package(). A frame to
 * blame without a function name is a function of its own, called "libx.so.1+0x1234".
 * Inclusive figures of functions: query_functions(). */
enum query_group_by {
	QUERY_BY_STACK, /* key: stack */
	QUERY_BY_FREE_STACK, /* key: stack that released; 0: not released, or not known */
	QUERY_BY_THREAD, /* key: index of thread */
	QUERY_BY_SIZE_CLASS, /* key: exact size in bytes */
	QUERY_BY_CODE, /* key: code of the site; 0: none */
	QUERY_BY_MODULE, /* key: number of the path of its module, see query_group_name(); 0: none */
	QUERY_BY_FUNCTION, /* key: number of its function's name; 0: not known */
	QUERY_BY_LINE, /* key: number of "file:line"; 0: not known */
	QUERY_BY_BLAME, /* key: function of the frame to blame, see below; 0: no frame at all */
	QUERY_BY_PACKAGE, /* key: package of the frame to blame; 0: no frame at all */
};
#define QUERY_MAX_SIZES ((size_t)1 << 20) /* different ones, by SIZE_CLASS; more: ERR_LIMIT */

struct query_group {
	uint64_t key;
	uint64_t n_allocs;
	uint64_t n_bytes;
	uint64_t n_leaked;
	uint64_t leaked_bytes;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	uint64_t extra_bytes;
	uint64_t peak_bytes; /* alive at the peak of the matching rows: see query_peak */
	uint64_t peak_count;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t min_size_bytes;
	uint64_t max_size_bytes;
	uint64_t lifetime_sum_ns; /* of those released */
	/* Of leaked_bytes: allocated early and late in query_span(), as store_is_early() and
	 * store_is_late() count them. */
	uint64_t leaked_early_bytes;
	uint64_t leaked_late_bytes;
};

struct query_groups {
	struct query_group *group; /* owned; ascending by key; only those with n_allocs > 0 */
	uint32_t *stack; /* owned; by CODE to PACKAGE: a stack of each group; else NULL */
	size_t n;
	struct query_group total;
};

/* A figure of a group. */
enum query_cost {
	QUERY_COST_BYTES,
	QUERY_COST_LEAKED_BYTES,
	QUERY_COST_LEAKED_COUNT,
	QUERY_COST_PEAK_BYTES,
	QUERY_COST_ALLOCATIONS,
	QUERY_COST_TEMPORARY, /* their number */
	QUERY_COST_EXTRA_BYTES,
};
uint64_t query_group_cost(const struct query_group *g, enum query_cost c);

/* Which stack query_groups.stack names: the one with most of this cost among those of the group, the
 * first of equal ones. Bytes unless this is called. */
void query_represent_by(struct query *q, enum query_cost c);

/* All rows of a call site as a group, whatever a query asks for; key 0. */
struct query_group query_whole_site(const struct store_stack *s);

int query_groups(struct query *q, enum query_group_by by, struct query_groups *ret,
		 struct err *err);
void query_groups_fini(struct query_groups *g);

/* Keeps those groups, which are by stack, whose stacks `found` lets through; total is made anew. Only
 * its conditions on stacks count, not those on rows. The figures of the groups stay: a search does not
 * change what it searches. */
void query_groups_keep(struct query_groups *g, const struct query *found);
/* The text of a key by MODULE, FUNCTION, LINE, BLAME or PACKAGE; NULL for other kinds and for 0. Keys
 * are the same in each query of one store. The text is good until the next call. */
const char *query_group_name(struct query *q, enum query_group_by by, uint64_t key);

/* The frame to blame for a stack, once something was asked by BLAME or PACKAGE; as
 * frame_class_blame(). NULL: the stack has no frame, or there is no such stack. */
const struct frame *query_blame(struct query *q, uint32_t stack);

/* The first moment at which the bytes of the matching rows that are alive are most, and how much. For
 * the filter that lets all pass these are the figures of store_facts. */
struct query_peak {
	uint64_t at_ns;
	uint64_t n_bytes;
	uint64_t n_alive;
};
int query_peak(struct query *q, struct query_peak *ret, struct err *err);

/* ---- over time ---- */

/* The time in which matching rows may be allocated: [from_ns, from_ns + span_ns), from the conditions
 * from and to, at most the whole recording. A span of 0: no moment fulfils both. */
struct query_span {
	uint64_t from_ns, span_ns;
};
struct query_span query_span(const struct query *q);

/* Buckets of equal width from from_ns on, as struct store_bucket, for matching rows. The width is
 * query_timeline_width(): the smallest whole number of nanoseconds with which they cover
 * [from_ns, to_ns). max_bytes and max_count are exact: the most at any moment of the bucket, and
 * at least what is alive when it begins. At most 65536 buckets. */
uint64_t query_timeline_width(uint64_t from_ns, uint64_t to_ns, size_t n_buckets);

int query_timeline(struct query *q, uint64_t from_ns, uint64_t to_ns, size_t n_buckets,
		   struct store_bucket *ret, struct err *err);

/* ---- costs ---- */

/* The costs that trees and tables of functions are about. */
enum query_main_cost {
	QUERY_MAIN_BYTES,
	QUERY_MAIN_LEAKED, /* bytes */
	QUERY_MAIN_PEAK, /* bytes */
	QUERY_MAIN_ALLOCS,
	QUERY_MAIN_TEMPORARY, /* allocations */
	QUERY_N_MAIN_COSTS,
};
uint64_t query_main_cost_of(const struct query_group *g, enum query_main_cost c);

/* ---- trees ---- */

enum query_tree_kind {
	QUERY_TOP_DOWN,
	QUERY_BOTTOM_UP /* the children of a node are callers */
};

enum query_fold_kind {
	QUERY_FOLD_NONE,
	QUERY_FOLD_RUNTIME /* just my code: query_fold.h */
};

struct query_tree_options {
	enum query_tree_kind kind;
	enum query_fold_kind fold;
	const char *fold_regex; /* runs of frames with such functions are one node; NULL: none */
	const char *hide_regex; /* frames with such functions are left out; NULL: none */
	bool collapses_recursion; /* a sequence of calls that repeats the one before it is left out */
	const uint64_t *under; /* keys from the root to the node that becomes node 0 */
	size_t n_under;
	uint32_t max_depth; /* levels below node 0; UINT32_MAX: all */
	uint32_t min_share_ppm; /* nodes with less of every cost of node 0 are left out */
	size_t max_nodes; /* more: ERR_LIMIT; 0: as many as there are */
};

#define QUERY_TREE_ALL ((struct query_tree_options){.max_depth = UINT32_MAX})

/* A row of a tree as people see it: frames with equal function, source and module; code without a
 * function name is one row for each address; or the title of a run of frames. */
struct query_tree_name {
	const struct frame *frame; /* one of those that it stands for; NULL: a title without any */
	const char *title; /* of a run: "tokio worker"; NULL: the frame's function */
	uint64_t key; /* below 2^53; the same for this recording whatever is asked */
};

/* A tree over frames (inlined ones are nodes of their own). Node 0 is the root, or the one that the
 * options name, and sums up all. A parent has a smaller number than its children, which follow its
 * first_child through next_sibling, largest bytes first. */
struct query_tree_node {
	const struct frame *frame; /* one of those that it stands for; NULL for the root */
	uint32_t parent;
	uint32_t first_child; /* 0: none */
	uint32_t next_sibling; /* 0: none */
	uint32_t depth; /* below node 0 */
	uint32_t name; /* index; QUERY_NO_NAME for the root */
	uint32_t
		n_folded; /* 0; or it stands for runs of at most so many frames. Just as many in the
			    * longest one if the kind is TOP_DOWN and recursion does not collapse */
	uint32_t n_children; /* also those that are left out */
	struct query_group cost; /* inclusive; key: unused */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of stacks that end here */
	uint64_t n_stacks; /* that pass through it */
};

#define QUERY_NO_NAME UINT32_MAX

struct query_tree {
	struct query_tree_node *node; /* owned, and name, too */
	size_t n;
	struct query_tree_name *name; /* good as long as the query and frames */
	size_t n_names;
	struct query_group total; /* all that the filter lets pass */
	uint64_t n_stacks; /* behind node 0 */
};

/* query_want() applies to the costs. ERR_USAGE: an expression is not valid, or no name has a key of
 * `under`; the text begins with the name of the member. Keys that lead nowhere in this tree, though
 * the recording has them, give a node 0 with nothing in it. Options may be QUERY_TREE_ALL. */
int query_tree_with(struct query *q, const struct query_tree_options *o, struct query_tree *ret,
		    struct err *err);
int query_tree(struct query *q, enum query_tree_kind kind, struct query_tree *ret, struct err *err);
void query_tree_fini(struct query_tree *t);

/* Keeps those groups, which are by stack, that lie behind the node that o->under names; total is made
 * anew. Errors as of query_tree_with(). */
int query_tree_keep_under(struct query *q, const struct query_tree_options *o,
			  struct query_groups *g, struct err *err);

/* ---- functions ---- */

/* What passes through a function, whatever calls it. Stacks that do so more than once count once. */
struct query_function {
	uint64_t key; /* as QUERY_BY_FUNCTION; 0: all frames without a name */
	const char *name; /* NULL for key 0; good as long as frames */
	const struct frame *frame; /* one that has the name */
	struct query_group cost; /* inclusive */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of stacks whose innermost frame it is */
};

struct query_functions {
	struct query_function *function; /* owned; largest bytes first */
	size_t n;
};

/* Which functions: some frame has all three texts in it, upper or lower case; NULL or "": any. Frames
 * without a name, source or image have no text there. Costs do not depend on it. */
struct query_function_match {
	const char *name;
	const char *module;
	const char *source;
};

/* m may be NULL: all. ERR_USAGE: a text is not UTF-8. */
int query_functions(struct query *q, const struct query_function_match *m,
		    struct query_functions *ret, struct err *err);
void query_functions_fini(struct query_functions *f);

/* A line of a source file: every stack that passes through it counts once. */
struct query_line {
	const char *source;
	uint32_t line;
	const char *function; /* one that the line is of; NULL: not known */
	struct query_group cost; /* inclusive */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of stacks whose innermost frame it is */
};

struct query_lines {
	struct query_line *line; /* owned */
	size_t n;
};
void query_lines_fini(struct query_lines *l);

/* A function with those that call it and those that it calls: of these, the cost is that of the
 * stacks in which they do. ERR_USAGE when no frame has that name. */
struct query_callers {
	struct query_function function;
	struct query_functions
		callers; /* self: what the function itself allocated, called by them */
	struct query_functions callees; /* self: of stacks that end there */
	struct query_lines lines; /* of the function, largest bytes first; those that are known */
};
int query_callers(struct query *q, const char *function, struct query_callers *ret,
		  struct err *err);
void query_callers_fini(struct query_callers *c);

/* The lines of a file that stacks pass through, ascending. ERR_USAGE when no frame has this source. */
int query_lines_of_file(struct query *q, const char *source, struct query_lines *ret,
			struct err *err);

/* ---- searching ---- */

struct query_found {
	const char *text;
	const struct frame *frame; /* one that has it */
	struct query_group cost; /* of stacks that pass through such a frame */
};

struct query_found_list {
	struct query_found *item; /* owned; most leaked bytes first, then peak bytes, then bytes */
	size_t n;
};

/* Functions, source files and images with the text in their name or path, upper or lower case; "": all. */
struct query_search {
	struct query_found_list functions, files, modules;
};
int query_search(struct query *q, const char *text, struct query_search *ret, struct err *err);
void query_search_fini(struct query_search *s);

#endif
