/* query/query_i.h - what the files of query/ share: the plan of a query and the scan over blocks.
 *
 * A filter is compiled into a plan: a range of rows (births are sorted, so every condition on the
 * birth ends there) and steps, each of which looks at one or two columns. A block is decided by
 * the minima and maxima of its columns where that is possible; else the columns that a step needs
 * are unpacked and the selection, a list of row numbers in the block, is made shorter. What is
 * left goes to the sink, which unpacks what it needs itself.
 *
 * Column values come from a file: every one that is used as an index is checked where it is used.
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

/* An empty set for numbers below n; never of size 0. NULL: out of memory. */
uint64_t *set_create(uint64_t n);

/* ---- plan ---- */

enum plan_kind {
	PLAN_RANGE, /* column within [min, max] */
	PLAN_NOT_RANGE, /* column not within */
	PLAN_MASK, /* column & mask == min */
	PLAN_SET, /* column's value is in the set */
	PLAN_DEATH, /* release within [min, max]; never is UINT64_MAX */
	PLAN_NOT_DEATH,
	PLAN_LIFETIME, /* nanoseconds of life within [min, max]; never released: until the end */
	PLAN_USABLE, /* size and extra within [min, max] */
	PLAN_CHAIN, /* see struct plan_chain */
};

struct plan_step {
	enum plan_kind kind;
	enum store_column column;
	uint64_t min, max;
	uint64_t mask;
	const uint64_t *set; /* borrowed from the query */
	uint64_t n_set; /* values from there on are in no set */
};

/* All inclusive; a row without a chain is a chain of its own. */
struct plan_range {
	uint64_t min, max;
};
struct plan_chain {
	struct plan_range first_size, last_size, length, lifetime_ns;
	bool is_leaked; /* the last one must never have been released */
};

#define PLAN_MAX_STEPS 24u

struct plan {
	uint64_t first_row, end_row; /* births */
	struct plan_step step[PLAN_MAX_STEPS];
	unsigned n_steps;
	struct plan_chain chain;
	/* What the table of stacks can answer: no step but these. */
	bool is_table; /* conditions on stacks, and at most one of the next two */
	bool is_leaked;
	bool is_released;
};

/* A moment of the recording that may lie before its start. */
struct plan_moment {
	uint64_t ns;
	bool is_before;
};
struct plan_moment plan_moment(const struct store *s, const struct filter_time *t);

/* A share in millionths of a whole, rounded down. */
uint64_t plan_share(uint64_t whole, uint64_t ppm);

struct query {
	struct query_context c; /* with rules */
	struct frame_rules rules; /* where the context has none */
	const struct filter *filter;
	const struct store_stack *stack; /* the tables */
	const struct store_chain *chain;
	size_t n_stacks, n_threads, n_chains;
	struct query_span span; /* query_span() */
	uint64_t end_ns; /* last moment: of the recording, or of the last birth */
	uint64_t *stack_set; /* stacks that match; NULL: all */
	uint64_t *thread_set;
	uint64_t *free_stack_set;
	struct plan plan;
	unsigned wants; /* QUERY_WANT_* */
	enum query_cost site_cost; /* query_represent_by() */
	struct query_names *names; /* NULL: not asked for yet */
	struct owners *owners; /* as names */
	struct query_peak peak;
	bool has_peak;
	char *made_name; /* text of the last query_group_name() that had to be put together */
};

/* Makes the plan of q->filter; sets are kept in q. */
int plan_create(struct query *q, struct err *err);

/* ERR_REFUSED when the store was made without rows. */
int plan_need_rows(const struct query *q, struct err *err);

/* The stacks that fulfil every condition on stacks: *ret is NULL when there is none. */
int plan_stacks(struct query *q, uint64_t **ret, struct err *err);

/* The plan of a query, and alive at a moment (less than UINT64_MAX - 1): rows that were allocated at
 * at_ns or before and freed later, or never. */
void plan_alive(const struct query *q, uint64_t at_ns, struct plan *ret);

/* First row whose birth is at ns or later. */
uint64_t plan_first_row(const struct store *s, uint64_t ns);

/* The query's plan without rows that are allocated at end_ns or later. Rows that are freed before
 * from_ns are left out as well where that is possible: the sink must not count on it. */
void plan_narrow(const struct query *q, uint64_t from_ns, uint64_t end_ns, struct plan *ret);

/* The frames of all codes, looked up once per query. */
int query_need_names(struct query *q, struct err *err);

/* Adds the figures of one group to those of another; key stays. */
void group_add(struct query_group *sum, const struct query_group *g);

/* Adds its main costs to sums. */
static inline void query_main_add(uint64_t sum[QUERY_N_MAIN_COSTS], const struct query_group *g)
{
	sum[QUERY_MAIN_BYTES] += g->n_bytes;
	sum[QUERY_MAIN_LEAKED] += g->leaked_bytes;
	sum[QUERY_MAIN_PEAK] += g->peak_bytes;
	sum[QUERY_MAIN_ALLOCS] += g->n_allocs;
	sum[QUERY_MAIN_TEMPORARY] += g->n_temporary;
}

/* For qsort() and bsearch() of struct query_group. */
int query_compare_keys(const void *a, const void *b);

/* ---- groups by a frame of the stack: query_sites.c ---- */

static inline bool sites_are_by_frame(enum query_group_by by)
{
	return by >= QUERY_BY_CODE;
}

/* Makes the names that sites_key() needs; nothing for groups that do not go by a frame. */
int sites_need(struct query *q, enum query_group_by by, struct err *err);

/* The key of a stack, by CODE to PACKAGE. sites_need() came before; stack is below n_stacks. */
uint64_t sites_key(const struct query *q, enum query_group_by by, uint32_t stack);

/* ---- scan ---- */

struct scanner {
	const struct query *q;
	const struct plan *plan;
	uint64_t block;
	uint32_t n_rows; /* of the block */
	uint32_t loaded; /* bit of each column that is unpacked */
	uint32_t n_selected;
	uint16_t selected[STORE_BLOCK_ROWS]; /* ascending */
	uint64_t column[STORE_N_COLUMNS][STORE_BLOCK_ROWS];
};

/* The values of a column of the current block. */
const uint64_t *scanner_column(struct scanner *s, enum store_column c);

/* Selects the matching rows of a block. */
void scanner_select(struct scanner *s, uint64_t block);

/* How many rows of the block match, without unpacking if possible. */
uint32_t scanner_count(struct scanner *s, uint64_t block);

static inline uint64_t row_death(uint64_t birth_ns, uint64_t lifetime)
{
	return lifetime ? birth_ns + (lifetime - 1) : UINT64_MAX;
}

/* What a row adds to a group. The columns are those of the scanner's current block. */
struct group_columns {
	const uint64_t *allocated_ns, *life, *size, *extra, *flags;
	struct query_span span;
};
struct group_columns group_columns(struct scanner *s);

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
	g->lifetime_sum_ns += c->life[i] - !is_leaked;
	g->first_ns = at_ns < g->first_ns ? at_ns : g->first_ns;
	g->last_ns = at_ns > g->last_ns ? at_ns : g->last_ns;
	g->min_size_bytes = n_bytes < g->min_size_bytes ? n_bytes : g->min_size_bytes;
	g->max_size_bytes = n_bytes > g->max_size_bytes ? n_bytes : g->max_size_bytes;
}

static inline bool row_is_alive(const struct group_columns *c, uint32_t i, uint64_t at_ns)
{
	return c->allocated_ns[i] <= at_ns && row_death(c->allocated_ns[i], c->life[i]) > at_ns;
}

static inline void group_add_peak(struct query_group *g, const struct group_columns *c, uint32_t i,
				  uint64_t peak_ns)
{
	if (row_is_alive(c, i, peak_ns)) {
		g->peak_bytes += c->size[i];
		g->peak_count++;
	}
}

/* A pass over blocks with several threads. */
struct scan {
	struct query *q;
	const struct plan *plan;
	uint64_t first_block, end_block;
	/* Called for each block with at least one selected row, in any order, by several threads;
	 * states[] has one state for each. 0 or -ERR_x, which ends the pass. Must not depend on
	 * the order of blocks, so that results are the same whoever did what. */
	int (*sink)(void *state, struct scanner *s, struct err *err);
	void **states;
	unsigned n_states; /* threads */
};

/* first_block and end_block of a plan's rows. */
void scan_init(struct scan *scan, struct query *q, const struct plan *plan);

#define SCAN_MAX_THREADS 32u

/* How many threads a pass may use: each needs state_bytes. */
unsigned scan_n_threads(const struct query *q, uint64_t n_blocks, size_t state_bytes);

int scan_run(struct scan *scan, struct err *err);

/* Runs fn(user, i) for i below n, each in a thread of its own, and waits. */
int scan_in_threads(unsigned n, int (*fn)(void *user, unsigned i, struct err *err), void *user,
		    struct err *err);

/* -ERR_CANCELLED when the caller asked for it. */
int query_check_cancel(const struct query *q, struct err *err);

/* All columns of a selected row. */
void scanner_row(struct scanner *s, uint32_t row_in_block, struct query_row *ret);

#endif
