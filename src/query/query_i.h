/* query/query_i.h - private to query/: the plan of a query, and the scan over blocks of rows.
 *
 * query_create() compiles a filter into a plan. A plan has
 *  - a range of rows. Rows are sorted by the time of their allocation, so each condition on that
 *    time only narrows the range;
 *  - steps. A step is one condition on one or two columns.
 *
 * A scan runs the plan over the blocks of the range, for each block:
 *  1. The minima and maxima of the columns decide the whole block where they can.
 *  2. Otherwise each step unpacks its columns and shortens the selection, a list of row numbers in
 *     the block.
 *  3. The rows that are left go to the sink. The sink unpacks the columns that it needs.
 *
 * Column values come from a file, so they may be wrong: every value that serves as an index is
 * checked where it is used.
 */
#ifndef QUERY_QUERY_I_H
#define QUERY_QUERY_I_H

#include "query/frame_class.h"
#include "query/owners.h"
#include "query/query.h"
#include "query/query_names.h"

/* ---- sets of small numbers ---- */

static inline bool set_has(const uint64_t *set, uint64_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void set_add(uint64_t *set, uint64_t i)
{
	set[i / 64] |= 1ull << (i % 64);
}

static inline void set_remove(uint64_t *set, uint64_t i)
{
	set[i / 64] &= ~(1ull << (i % 64));
}

/* An empty set for the numbers below n. Owned: free(). NULL: no memory. Never of size 0. */
uint64_t *set_create(uint64_t n);

/* ---- plan ---- */

enum plan_kind {
	PLAN_RANGE, /* column within [min, max] */
	PLAN_NOT_RANGE, /* column not within [min, max] */
	PLAN_MASK, /* column & mask == min */
	PLAN_SET, /* column's value is in the set */
	PLAN_DEATH, /* time of the release within [min, max]; UINT64_MAX: never released */
	PLAN_NOT_DEATH,
	PLAN_LIFETIME, /* lifetime within [min, max]; never released: until end_ns */
	PLAN_USABLE, /* size + extra within [min, max] */
	PLAN_CHAIN, /* struct plan_chain */
	PLAN_TREE, /* query.tree */
};

struct plan_step {
	enum plan_kind kind;
	enum store_column column;
	uint64_t min, max;
	uint64_t mask;
	const uint64_t *set; /* borrowed from the query */
	uint64_t n_set; /* the set holds values below n_set only */
};

/* Conditions on realloc chains. Ranges include both ends. A row without a chain is a chain of
 * one. */
struct plan_range {
	uint64_t min, max;
};
struct plan_chain {
	struct plan_range first_size, last_size, length, lifetime_ns;
	bool is_leaked; /* the last allocation of the chain was never released */
};

#define PLAN_MAX_STEPS 24u

struct plan {
	uint64_t first_row, end_row; /* the range of rows, from the conditions on allocation time */
	struct plan_step step[PLAN_MAX_STEPS];
	unsigned n_steps;
	struct plan_chain chain;
	/* Can the table of stacks answer without a pass over rows? True if the plan has conditions
	 * on stacks only, and at most one of the next two. */
	bool is_table;
	bool is_leaked;
	bool is_released;
};

/* A moment of the recording. is_before: the moment lies before the start. */
struct plan_moment {
	uint64_t ns;
	bool is_before;
};
struct plan_moment plan_moment(const struct store *s, const struct filter_time *t);

/* A share (in millionths) of a whole, rounded down. */
uint64_t plan_share(uint64_t whole, uint64_t ppm);

/* The other queries that wait for what a query computes now (shared_results.h). */
struct query_audience {
	const atomic_uint *n_waiting;
	const struct query_audience *outer; /* of the result that needs this one; or NULL */
};

struct query {
	struct query_context c; /* rules is never NULL here */
	struct frame_rules rules; /* used where the caller's context has none */
	const struct filter *filter;
	const struct store_stack *stack; /* table of the store, as chain */
	const struct store_chain *chain;
	size_t n_stacks, n_threads, n_chains;
	struct query_span span; /* query_span() */
	uint64_t end_ns; /* the end of the recording, or the last allocation if that is later */
	uint64_t *stack_set; /* stacks that match; NULL: all */
	uint64_t *flags_set; /* values of STORE_FLAGS that match; NULL: all */
	uint64_t *thread_set; /* threads that match, as long as n_threads */
	uint64_t *free_stack_set;
	struct plan plan;
	unsigned wants; /* QUERY_WANT_* */
	enum query_cost site_cost; /* query_represent_by() */
	struct query_names *names; /* NULL until query_need_names() */
	bool has_shared_names; /* they and the owners belong to c.shared */
	const struct query_tree_options *tree_options; /* during shared_paths_get() */
	struct owners *owners; /* NULL until sites_need() by BLAME or PACKAGE */
	struct query_peak peak;
	bool has_peak;
	struct shared_result *sums; /* query_stack_sums(); NULL: not computed yet */
	struct estimate *estimate; /* estimate.h; NULL: passes read all blocks */
	const struct query_audience *audience; /* while it computes a shared result; or NULL */
	struct query_tree_filter *tree; /* query_create_tree(); or NULL */
	char *made_name; /* owned: the text that query_group_name() composed last */
};

/* Makes the plan of q->filter. q owns the sets of the plan. */
int plan_create(struct query *q, struct err *err);

/* ERR_REFUSED: the store was made without rows. */
int plan_need_rows(const struct query *q, struct err *err);

/* The set of stacks that fulfil all conditions on stacks. *ret becomes NULL if there is no such
 * condition. */
int plan_stacks(struct query *q, uint64_t **ret, struct err *err);

/* The plan of q with one more condition: alive at at_ns, which is below UINT64_MAX - 1. Such rows
 * were allocated at at_ns or before and released later, or never. */
void plan_alive(const struct query *q, uint64_t at_ns, struct plan *ret);

/* The first row that was allocated at ns or later. */
uint64_t plan_first_row(const struct store *s, uint64_t ns);

/* The plan of q without the rows that were allocated at end_ns or later. Where possible the plan
 * also leaves out rows that were released before from_ns, but a sink must not rely on that. */
void plan_narrow(const struct query *q, uint64_t from_ns, uint64_t end_ns, struct plan *ret);

/* Looks up the frames of all codes: q->names. Later calls do nothing. */
int query_need_names(struct query *q, struct err *err);

/* query_turn of the context, if it has one. No lock may be held that a query with a turn waits for. */
void query_give_turn(const struct query *q);
void query_take_turn(const struct query *q);

/* The groups by STACK, as query_groups() gives them. Computed at the first call. Borrowed until
 * query_want(), query_groups() by STACK, or query_destroy(). Other queries may share them: never
 * change them. */
int query_stack_sums(struct query *q, const struct query_groups **ret, struct err *err);
void query_forget_sums(struct query *q);

/* Chooses the blocks that passes read (estimate.h): q->estimate; it stays NULL if all blocks are to
 * be read. */
int estimate_create(struct query *q, struct err *err);
void estimate_destroy(struct estimate *e); /* NULL does nothing */

/* What queries share. A kind of groups is SHARED_GROUPS + 2 * query_group_by + wants the peak; of paths,
 * see shared_paths.c. */
enum shared_kind {
	SHARED_PEAK,
	SHARED_SIZES, /* only where no own_regex says whose code a frame is */
	SHARED_CHAINS,
	SHARED_GROUPS,
	SHARED_PATHS = 64,
};

/* Adds the figures of a group to a sum. The key of the sum stays. */
void group_add(struct query_group *sum, const struct query_group *g);

/* Adds the main costs of a group to sums. */
static inline void query_main_add(uint64_t sum[QUERY_N_MAIN_COSTS], const struct query_group *g)
{
	sum[QUERY_MAIN_BYTES] += g->n_bytes;
	sum[QUERY_MAIN_LEAKED] += g->leaked_bytes;
	sum[QUERY_MAIN_PEAK] += g->peak_bytes;
	sum[QUERY_MAIN_ALLOCS] += g->n_allocs;
	sum[QUERY_MAIN_TEMPORARY] += g->n_temporary;
}

/* Orders struct query_group by key, for qsort() and bsearch(). */
int query_compare_keys(const void *a, const void *b);

/* ---- groups by a frame of the stack: query_sites.c ---- */

static inline bool sites_are_by_frame(enum query_group_by by)
{
	return by >= QUERY_BY_CODE;
}

/* Makes the names that sites_key() needs. Does nothing for groups that do not use a frame. */
int sites_need(struct query *q, enum query_group_by by, struct err *err);

/* The key of a stack, by CODE to PACKAGE. Call sites_need() before. stack is below n_stacks. */
uint64_t sites_key(const struct query *q, enum query_group_by by, uint32_t stack);

/* ---- scan ---- */

struct query_tree_filter; /* opaque: defined in filter_tree.c */

struct scanner {
	const struct query *q;
	const struct plan *plan;
	uint64_t block;
	uint32_t n_rows; /* rows in the block */
	uint32_t loaded; /* one bit for each column that is unpacked */
	uint32_t n_selected;
	uint16_t selected[STORE_BLOCK_ROWS]; /* ascending */
	uint64_t column[STORE_N_COLUMNS][STORE_BLOCK_ROWS];
};

/* The values of a column of the current block. Valid until the scanner moves to another block. */
const uint64_t *scanner_column(struct scanner *s, enum store_column c);

/* Moves to a block and selects its matching rows. */
void scanner_select(struct scanner *s, uint64_t block);

/* May the block have matching rows, as far as the minima and maxima of its columns tell? */
bool scanner_can_match(struct scanner *s, uint64_t block);

/* What the minima and maxima of a block tell about a condition. */
enum verdict {
	VERDICT_NONE, /* no row fulfils it */
	VERDICT_SOME,
	VERDICT_ALL
};

/* The same for all rows of the scanner's block and another plan of the same store. */
enum verdict scanner_judge_plan(struct scanner *s, const struct plan *p);

/* Selects the rows of the scanner's block that match another plan of the same store. Columns that
 * are unpacked stay so. */
void scanner_select_plan(struct scanner *s, const struct plan *p);

/* ---- filters joined to a tree: filter_tree.c ---- */

enum verdict tree_filter_judge(struct scanner *s, const struct query_tree_filter *t);

/* The set of the rows of the scanner's block that match. Overwrites the selection. */
#define TREE_FILTER_WORDS (STORE_BLOCK_ROWS / 64)
void tree_filter_rows(struct scanner *s, const struct query_tree_filter *t,
		      uint64_t rows[TREE_FILTER_WORDS]);
void tree_filter_destroy(struct query_tree_filter *t); /* NULL does nothing */

/* The number of matching rows of a block. Unpacks columns only where minima and maxima do not
 * do. */
uint32_t scanner_count(struct scanner *s, uint64_t block);

static inline uint64_t row_free_ns(uint64_t alloc_ns, uint64_t lifetime)
{
	return lifetime ? alloc_ns + (lifetime - 1) : UINT64_MAX;
}

/* The columns of the scanner's current block that make the figures of a group. */
struct group_columns {
	const uint64_t *allocated_ns, *life, *size, *extra, *flags;
	struct query_span span;
};
struct group_columns group_columns(struct scanner *s);

/* Every row matches: the store itself has figures. */
static inline bool query_is_everything(const struct query *q)
{
	return q->plan.is_table && !q->stack_set && !q->plan.is_leaked && !q->plan.is_released;
}

static inline void group_add_row(struct query_group *g, const struct group_columns *c, uint32_t i)
{
	uint64_t is_leaked = c->life[i] == 0, n_bytes = c->size[i], at_ns = c->allocated_ns[i];
	uint64_t is_temporary = !!(c->flags[i] & STORE_FLAG_TEMPORARY);

	if (g->n_allocs == 0) {
		g->first_ns = at_ns;
		g->last_ns = at_ns;
		g->min_size_bytes = n_bytes;
	}
	g->n_allocs++;
	g->n_bytes += n_bytes;
	g->extra_bytes += c->extra[i];
	if (is_leaked) {
		g->n_leaked++;
		g->leaked_bytes += n_bytes;
		g->leaked_early_bytes +=
			store_is_early(c->span.span_ns, at_ns - c->span.from_ns) ? n_bytes : 0;
		g->leaked_late_bytes +=
			store_is_late(c->span.span_ns, at_ns - c->span.from_ns) ? n_bytes : 0;
	}
	g->n_temporary += is_temporary;
	g->temporary_bytes += is_temporary ? n_bytes : 0;
	g->lifetime_sum_ns += store_is_released(c->life[i]) ? c->life[i] - 1 : 0;
	g->first_ns = at_ns < g->first_ns ? at_ns : g->first_ns;
	g->last_ns = at_ns > g->last_ns ? at_ns : g->last_ns;
	g->min_size_bytes = n_bytes < g->min_size_bytes ? n_bytes : g->min_size_bytes;
	g->max_size_bytes = n_bytes > g->max_size_bytes ? n_bytes : g->max_size_bytes;
}

static inline bool row_is_alive(const struct group_columns *c, uint32_t i, uint64_t at_ns)
{
	return c->allocated_ns[i] <= at_ns && row_free_ns(c->allocated_ns[i], c->life[i]) > at_ns;
}

static inline void group_add_peak(struct query_group *g, const struct group_columns *c, uint32_t i,
				  uint64_t peak_ns)
{
	if (row_is_alive(c, i, peak_ns)) {
		g->peak_bytes += c->size[i];
		g->peak_count++;
	}
}

/* A pass over blocks, with several threads. */
struct scan {
	struct query *q;
	const struct plan *plan;
	uint64_t first_block, end_block;
	/* Called for each block with at least one selected row, in any order, from several
	 * threads. Each thread has one state of states[]. Returns 0 or -ERR_x, which ends the
	 * pass. The sink must not depend on the order of blocks: the result is the same for any
	 * number of threads. */
	int (*sink)(void *state, struct scanner *s, struct err *err);
	void **states;
	unsigned n_states; /* number of threads */
};

/* Sets first_block and end_block to the blocks of the plan's rows. The caller sets the sink. */
void scan_init(struct scan *scan, struct query *q, const struct plan *plan);

#define SCAN_MAX_THREADS 32u

/* How many threads a pass over n_blocks may use if each thread needs state_bytes of memory. */
unsigned scan_n_threads(const struct query *q, uint64_t n_blocks, size_t state_bytes);

int scan_run(struct scan *scan, struct err *err);

/* Runs fn(user, i) for each i below n, each in its own thread, and waits for all. */
int scan_in_threads(unsigned n, int (*fn)(void *user, unsigned i, struct err *err), void *user,
		    struct err *err);

/* -ERR_CANCELLED: the caller set *cancel, and no other query waits for the result. Else 0. */
int query_check_cancel(const struct query *q, struct err *err);

/* Fills in all columns of a selected row. */
void scanner_row(struct scanner *s, uint32_t row_in_block, struct query_row *ret);

#endif
