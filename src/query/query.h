/* query/query.h - questions to a store. The command line, the REST API, the exports and the GUI
 * all ask through this header.
 *
 * A query is a filter bound to a store. query_create() compiles the filter:
 *  - A regex is matched once per frame name, not once per row.
 *  - The conditions on stacks become one bitmap over the stacks.
 *  - All other conditions become ranges over columns. The minimum and the maximum of a column in a
 *    block let a pass skip the whole block.
 * A question that needs no row is answered from the tables of the store.
 *
 * Cancelling: another thread may set *cancel (the client hung up). The call then returns
 * -ERR_CANCELLED soon.
 *
 * Threads: a call spreads its work over query_context.n_threads threads. The result does not
 * depend on the number of threads. One thread at a time may use a query. Any number of queries may
 * use one store and one struct frames.
 *
 * Alive: an allocation is alive from the nanosecond of the allocation to the nanosecond before the
 * release, both included. "Alive at T" means: alive after all events of nanosecond T.
 *
 * Memory: a result is bounded by what the caller asks for (a page, a number of buckets, the number
 * of stacks), never by the number of rows.
 *
 * Errors: the functions that return an int return 0 or -ERR_x, and err has the text.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <stdatomic.h>

#include "query/filter.h"
#include "query/frame_class.h"
#include "store/frames.h"
#include "util/spill_vec.h"

struct shared_results;

/* How far the pass over rows has come that a query makes now. Set by the query; anybody may read. */
struct query_progress {
	_Atomic uint64_t n_done, n_all; /* blocks of rows */
	_Atomic unsigned n_passes; /* that the query has begun; 0: none */
	_Atomic uint64_t others_cpu_ns; /* processor time of others for results it waited for */
};

/* The right to compute, of which a server gives only so many at once. A query gives its own back while
 * it waits for what another query computes, and takes it again after that. */
struct query_turn {
	void (*give)(void *user);
	void (*take)(void *user);
	void *user;
};

struct query_context {
	const struct store *store;
	struct frames *frames;
	const atomic_bool *cancel; /* may be NULL */
	unsigned n_threads; /* 0: one per CPU */
	const char *progress_label; /* shown on the terminal during a pass over rows; or NULL */
	struct frame_rules
		*rules; /* whose code a frame is; NULL: the store's rules, without own_regex */
	struct shared_results *shared; /* query/shared_results.h, for the same store; or NULL */
	struct query_progress *progress; /* or NULL */
	const struct query_turn *turn; /* or NULL */
	/* Not 0: passes over rows read at most so many blocks (STORE_BLOCK_ROWS rows each), evenly
	 * spread, and figures are multiplied: an estimate. Only for questions that add up rows:
	 * groups, trees, timelines, series, peaks, growth, sizes, lifetimes, pairs of threads. */
	uint64_t sample_blocks;
};

struct query; /* opaque: defined in query.c */

/* The query borrows the context and the filter until query_destroy(). ERR_USAGE: a regex is not
 * valid (the text names the parameter, the offset and the fault), or a backtrace is not in the
 * store. */
int query_create(const struct query_context *c, const struct filter *f, struct query **ret,
		 struct err *err);
void query_destroy(struct query *q); /* NULL does nothing */

/* The rules that say whose code a frame is: those of the context, or the query's own. Borrowed. */
struct frame_rules *query_rules(struct query *q);

/* The share of the blocks with matching rows that the answers so far were made of. Below 1: they are
 * estimates. 0: estimates from the table of stacks alone. 1: they are exact. */
double query_read_share(const struct query *q);

/* The caller has used figures of other queries with the same context: they are estimates where those of
 * q would be. */
void query_used_others(struct query *q);

/* Says which figures of a struct query_group the caller needs. Without this call: all of them. A
 * figure that is not wanted may be 0. Each figure less can save a pass over the rows: with neither
 * of the two, the table of stacks alone answers a query with conditions on stacks or on leaks. */
#define QUERY_WANT_PEAK 1u /* peak_* */
#define QUERY_WANT_SPAN 2u /* first_ns, last_ns, min_size_bytes, max_size_bytes */
#define QUERY_WANT_ALL 3u
void query_want(struct query *q, unsigned wants);

/* The sum of all matching rows. It equals query_groups.total of any grouping. */
struct query_group;
int query_total(struct query *q, struct query_group *ret, struct err *err);

/* ---- rows ---- */

/* One allocation with all its columns. */
struct query_row {
	uint64_t row; /* number of the row: the id of the allocation */
	uint64_t alloc_ns;
	uint64_t free_ns; /* time of the release; UINT64_MAX: never released */
	uint64_t size_bytes;
	uint64_t extra_bytes;
	uint64_t addr;
	uint64_t marker;
	uint64_t chain; /* UINT64_MAX: none */
	uint64_t chain_position;
	uint32_t stack;
	uint32_t thread; /* index in the table of threads, as free_thread */
	uint32_t free_stack;
	uint32_t free_thread;
	uint32_t flags; /* store/columns.h */
};

enum query_sort {
	QUERY_BY_TIME,
	QUERY_BY_ADDRESS,
	QUERY_BY_SIZE,
	QUERY_BY_LIFETIME,
	QUERY_BY_USABLE_SIZE,
	QUERY_BY_FREE_TIME, /* allocations that were never freed come last */
	QUERY_BY_KIND, /* enum store_kind */
	QUERY_BY_CHAIN_LENGTH, /* 1 for an allocation that no realloc touched */
	QUERY_BY_THREAD_INDEX,
	QUERY_BY_STACK_NUMBER,
	QUERY_N_SORTS,
};

struct query_page {
	enum query_sort sort;
	bool is_descending;
	uint64_t skip;
	uint64_t count; /* UINT64_MAX: all */
	/* By time ascending: rows with a smaller number are left out, and not counted. The next page
	 * of a long list is found without a look at the pages before. */
	uint64_t first_row;
};

/* Calls fn for the rows of the page, in order, until fn returns false.
 *
 * n_matching may be NULL, which is faster. Otherwise *n_matching becomes the number of all
 * matching rows, inside and outside of the page. It is not written when fn ended the call.
 *
 * Rows with equal keys come in the order of their numbers. Descending is exactly the reverse of
 * ascending. An allocation that was never released has a lifetime until the end of the recording.
 *
 * Cost: pages by time stream. Other orders hold at most QUERY_SORT_ROWS rows at a time and make
 * one pass over the store for each QUERY_SORT_ROWS rows of the page. The skipped rows cost a few
 * passes, however many they are (query/sort_skip.h). */
#define QUERY_SORT_ROWS ((size_t)1 << 20)
int query_rows(struct query *q, const struct query_page *page,
	       bool (*fn)(void *user, const struct query_row *row), void *user,
	       uint64_t *n_matching, struct err *err);

/* ---- groups ---- */

/* How rows are grouped, and what the key of a group is.
 *
 * CODE, MODULE, FUNCTION and LINE use one frame of each stack, the site. The site is the innermost
 * frame that belongs neither to an allocator nor to a run-time library (frame_class_is_folded()).
 * If all frames do, the site is the innermost frame.
 *
 * BLAME and PACKAGE use the frame to blame: frame_class_blame(), frame_package(). A frame to blame
 * without a function name counts as a function of its own, with the name "libx.so.1+0x1234".
 *
 * For the inclusive figures of functions see query_functions(). */
enum query_group_by {
	QUERY_BY_STACK, /* key: stack that allocated */
	QUERY_BY_FREE_STACK, /* key: stack that released; 0: not released, or stack not known */
	QUERY_BY_THREAD, /* key: index of the thread that allocated */
	QUERY_BY_SIZE_CLASS, /* key: exact size in bytes */
	QUERY_BY_CODE, /* key: code of the site; 0: none */
	QUERY_BY_MODULE, /* key: number of the module's path, see query_group_name(); 0: none */
	QUERY_BY_FUNCTION, /* key: number of the function's name; 0: not known */
	QUERY_BY_LINE, /* key: number of "file:line"; 0: not known */
	QUERY_BY_BLAME, /* key: function of the frame to blame; 0: the stack has no frame */
	QUERY_BY_PACKAGE, /* key: package of the frame to blame; 0: the stack has no frame */
};
#define QUERY_MAX_SIZES ((size_t)1 << 20) /* different sizes by SIZE_CLASS; more: ERR_LIMIT */

struct query_group {
	uint64_t key;
	uint64_t n_allocs;
	uint64_t n_bytes;
	uint64_t n_leaked;
	uint64_t leaked_bytes;
	uint64_t n_temporary;
	uint64_t temporary_bytes;
	uint64_t extra_bytes;
	uint64_t peak_bytes; /* alive at the peak of the matching rows: query_peak() */
	uint64_t peak_count;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t min_size_bytes;
	uint64_t max_size_bytes;
	uint64_t lifetime_sum_ns; /* of the released allocations, without culled ones */
	uint64_t
		n_culled; /* of n_allocs: there are no rows of them, so conditions on rows leave them out */
	/* Parts of leaked_bytes: allocated early and late in query_span(), as store_is_early() and
	 * store_is_late() count. */
	uint64_t leaked_early_bytes;
	uint64_t leaked_late_bytes;
};

struct query_groups {
	struct query_group *group; /* owned; ascending by key; every n_allocs is above 0 */
	uint32_t *stack; /* owned; by CODE to PACKAGE: one stack of each group; else NULL */
	size_t n;
	struct query_group total;
};

/* One figure of a group. */
enum query_cost {
	QUERY_COST_BYTES,
	QUERY_COST_LEAKED_BYTES,
	QUERY_COST_LEAKED_COUNT,
	QUERY_COST_PEAK_BYTES,
	QUERY_COST_ALLOCATIONS,
	QUERY_COST_TEMPORARY, /* number of temporary allocations */
	QUERY_COST_EXTRA_BYTES,
};
uint64_t query_group_cost(const struct query_group *g, enum query_cost c);

/* Says which stack of a group query_groups.stack names: the one with most of this cost, and among
 * equals the stack with the smallest number. Without this call: QUERY_COST_BYTES. */
void query_represent_by(struct query *q, enum query_cost c);

/* All rows of a call site as a group, without any condition of a query. The key is 0. */
struct query_group query_whole_site(const struct store_stack *s);

int query_groups(struct query *q, enum query_group_by by, struct query_groups *ret,
		 struct err *err);
void query_groups_fini(struct query_groups *g);

/* Removes the groups whose stacks do not match `found`, and sums up total again. The groups must
 * be by STACK. Only the conditions of `found` on stacks count, not its conditions on rows. The
 * figures of the groups stay as they are: a search does not change what it searches. */
void query_groups_keep(struct query_groups *g, const struct query *found);

/* The text of a key by MODULE, FUNCTION, LINE, BLAME or PACKAGE. NULL: another kind of group, or
 * key
 * 0. A key is the same in every query of one store. The text is valid until the next call. */
const char *query_group_name(struct query *q, enum query_group_by by, uint64_t key);

/* The frame to blame for a stack, as frame_class_blame(). Call query_groups() by BLAME or PACKAGE
 * before. NULL: the stack has no frame, or there is no such stack. */
const struct frame *query_blame(struct query *q, uint32_t stack);

/* The first moment at which the matching rows have most bytes alive, with the bytes and blocks
 * alive then. For a filter without conditions these are the figures of store_facts. */
struct query_peak {
	uint64_t at_ns;
	uint64_t n_bytes;
	uint64_t n_alive;
};
int query_peak(struct query *q, struct query_peak *ret, struct err *err);

/* ---- over time ---- */

/* The time in which matching rows may be allocated: [from_ns, from_ns + span_ns). The conditions from
 * and to limit this time, and so does the recording. span_ns 0: no moment fulfils both conditions. */
struct query_span {
	uint64_t from_ns, span_ns;
};
struct query_span query_span(const struct query *q);

/* Memory over time: n_buckets buckets of equal width from from_ns on, for the matching rows.
 * The width is the smallest whole number of nanoseconds with which the buckets cover
 * [from_ns, to_ns). max_bytes and max_count are exact: the most at any moment of the bucket,
 * including the moment at which the bucket begins. At most 65536 buckets; more: ERR_USAGE. */
uint64_t query_timeline_width(uint64_t from_ns, uint64_t to_ns, size_t n_buckets);

/* Moves from_ns down and to_ns up so that each bucket consists of whole buckets of the store, if
 * the store's buckets are finer. A timeline without a filter then needs no pass over the rows. */
void query_timeline_round(const struct store *store, uint64_t *from_ns, uint64_t *to_ns,
			  size_t n_buckets);

int query_timeline(struct query *q, uint64_t from_ns, uint64_t to_ns, size_t n_buckets,
		   struct store_bucket *ret, struct err *err);

/* ---- costs ---- */

/* The costs that trees and tables of functions show. */
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
	QUERY_FOLD_RUNTIME /* "just my code": query_fold.h */
};

struct query_tree_options {
	enum query_tree_kind kind;
	enum query_fold_kind fold;
	const char *fold_regex; /* a run of frames with such functions is one node; NULL: none */
	const char *hide_regex; /* frames with such functions are left out; NULL: none */
	bool collapses_recursion; /* leaves out calls that repeat the calls right before them */
	const uint64_t *under; /* keys from the root to the node that becomes node 0 */
	size_t n_under;
	uint32_t max_depth; /* levels below node 0; UINT32_MAX: all */
	uint32_t min_share_ppm; /* a node needs this share of some cost of node 0 */
	size_t max_nodes; /* more nodes: ERR_LIMIT; 0: no limit */
	/* Not 0: if the tree has more nodes, min_share_ppm is raised until it has not, and what then
	 * is left out of a node is one child together, query_is_rest(). */
	size_t most_nodes;
};

#define QUERY_TREE_ALL ((struct query_tree_options){.max_depth = UINT32_MAX})

/* most_nodes of what is drawn or read as a whole: more is of no use to a reader, and so many lie in
 * memory. */
#define QUERY_TREE_READABLE ((size_t)1 << 16)

/* The text of a node. Frames with equal function, source and module have one name. Code without a
 * function name has one name per address. A folded run of frames has a title. */
struct query_tree_name {
	const struct frame *frame; /* one of the frames with this name; NULL: a title without any */
	const char *title; /* of a run, for example "tokio worker"; NULL: the frame's function */
	uint64_t key; /* below 2^53; the same in every query of this recording */
};

/* A tree over frames. An inlined frame is a node of its own. Node 0 is the root, or the node that
 * options.under names, and holds the sum of all. A parent has a smaller number than its children.
 * first_child and next_sibling link the children, most bytes first:
 *
 *	parent --first_child--> child A --next_sibling--> child B --next_sibling--> 0
 */
struct query_tree_node {
	const struct frame *frame; /* one of the node's frames; NULL for the root */
	uint32_t parent;
	uint32_t first_child; /* 0: none */
	uint32_t next_sibling; /* 0: none */
	uint32_t depth; /* levels below node 0 */
	uint32_t name; /* index in query_tree.name; QUERY_NO_NAME for the root */
	uint32_t n_folded; /* 0: not a run. Else at least the frames of the longest run; exactly
			   * that many if TOP_DOWN and recursion does not collapse */
	uint32_t
		n_children; /* includes children that the tree leaves out; of a rest: for so many it stands */
	struct query_group cost; /* inclusive; key: unused */
	uint64_t self[QUERY_N_MAIN_COSTS]; /* of the stacks that end here */
	uint64_t n_stacks; /* stacks that pass through the node */
};

#define QUERY_NO_NAME UINT32_MAX

struct query_tree {
	struct query_tree_node *node; /* owned */
	struct spill_vec nodes; /* the memory of node: a file if they are many */
	size_t n;
	struct query_tree_name *name; /* owned; the texts live as long as the query, frames */
	size_t n_names;
	struct query_group total; /* all matching rows */
	uint64_t n_stacks; /* stacks below node 0 */
	uint32_t min_share_ppm; /* that of the options, or what most_nodes made of it */
};

/* Does the node stand for the children that most_nodes leaves out? Its frame has a text in brackets as
 * its function, so who only shows frames need not ask. */
bool query_is_rest(const struct query_tree_node *n);

/* Makes the tree that the options describe. QUERY_TREE_ALL: the whole tree, top down. query_want()
 * applies to the costs. ERR_USAGE: a regex is not valid, or no name of the recording has a key of
 * `under`; the error text begins with the name of the member. If the recording has the keys but
 * this tree has no such path, node 0 is empty. ERR_LIMIT: more than max_nodes nodes. */
int query_tree_with(struct query *q, const struct query_tree_options *o, struct query_tree *ret,
		    struct err *err);
int query_tree(struct query *q, enum query_tree_kind kind, struct query_tree *ret, struct err *err);
void query_tree_fini(struct query_tree *t);

/* Removes the groups that do not lie below the node that o->under names, and sums up total again.
 * The groups must be by STACK. Errors: as query_tree_with(). */
int query_tree_keep_under(struct query *q, const struct query_tree_options *o,
			  struct query_groups *g, struct err *err);

#endif
