/* query/scan.c - selecting rows block by block, and doing it with several threads: query_i.h.
 *
 * The loops over a selection write every candidate and move on only when it fits: no branch that
 * the CPU could guess wrong.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/estimate.h"
#include "query/query_i.h"
#include "util/memory_budget.h"
#include "util/progress.h"

const uint64_t *scanner_column(struct scanner *s, enum store_column c)
{
	if (!(s->loaded >> c & 1)) {
		store_read_block(s->q->c.store, c, s->block, s->column[c]);
		s->loaded |= 1u << c;
	}
	return s->column[c];
}

/* ---- what the minimum and maximum of a block tell ---- */

#define NONE VERDICT_NONE
#define SOME VERDICT_SOME
#define ALL VERDICT_ALL

static enum verdict judge_range(uint64_t low, uint64_t high, uint64_t min, uint64_t max)
{
	if (high < min || low > max)
		return NONE;
	return low >= min && high <= max ? ALL : SOME;
}

static enum verdict opposite(enum verdict v)
{
	return v == NONE ? ALL : v == ALL ? NONE : SOME;
}

static enum verdict judge_set(const struct plan_step *step, uint64_t low, uint64_t high)
{
	bool has_one = false, has_other = false;

	if (low >= step->n_set)
		return NONE;
	if (high >= step->n_set || low > high)
		return SOME;
	for (uint64_t i = low; i <= high && !(has_one && has_other);) {
		uint64_t word = step->set[i / 64];

		if (i % 64 == 0 && high - i >= 63 && (word == 0 || word == UINT64_MAX)) {
			has_one |= word != 0;
			has_other |= word == 0;
			i += 64;
			continue;
		}
		if (set_has(step->set, i))
			has_one = true;
		else
			has_other = true;
		i++;
	}
	return has_one && has_other ? SOME : has_one ? ALL : NONE;
}

/* The earliest and the last release that can be in the block. */
static enum verdict judge_death(const struct store *st, uint64_t block, uint64_t min, uint64_t max)
{
	uint64_t alloc_low = store_block_min(st, STORE_ALLOC_NS, block);
	uint64_t alloc_high = store_block_max(st, STORE_ALLOC_NS, block);
	uint64_t life_low = store_block_min(st, STORE_LIFETIME_NS, block);
	uint64_t life_high = store_block_max(st, STORE_LIFETIME_NS, block);
	uint64_t low = alloc_low + (life_low ? life_low - 1 : 0), high;

	if (life_high == 0) /* nothing was released */
		return max == UINT64_MAX ? ALL : NONE;
	if (low < alloc_low || __builtin_add_overflow(alloc_high, life_high - 1, &high))
		return SOME;
	if (life_low > 0)
		return judge_range(low, high, min, max);
	if (max == UINT64_MAX)
		return low >= min ? ALL : SOME;
	return high < min || low > max ? NONE : SOME;
}

static enum verdict judge_block(struct scanner *s, const struct plan_step *step)
{
	const struct store *st = s->q->c.store;
	uint64_t low = store_block_min(st, step->column, s->block);
	uint64_t high = store_block_max(st, step->column, s->block);

	switch (step->kind) {
	case PLAN_RANGE:
		return judge_range(low, high, step->min, step->max);
	case PLAN_NOT_RANGE:
		return opposite(judge_range(low, high, step->min, step->max));
	case PLAN_MASK:
		if (low == high)
			return (low & step->mask) == step->min ? ALL : NONE;
		return SOME;
	case PLAN_SET:
		return judge_set(step, low, high);
	case PLAN_DEATH:
		return judge_death(st, s->block, step->min, step->max);
	case PLAN_NOT_DEATH:
		return opposite(judge_death(st, s->block, step->min, step->max));
	case PLAN_LIFETIME:
		return low > 0 ? judge_range(low - 1, high - 1, step->min, step->max) : SOME;
	case PLAN_TREE:
		return tree_filter_judge(s, s->q->tree);
	case PLAN_USABLE:
	case PLAN_CHAIN:
		break;
	}
	return SOME;
}

/* ---- the rows of a block ---- */

/* n becomes the number of selected rows i that fulfil the condition. */
#define SELECT(s, condition)                                                                       \
	do {                                                                                       \
		uint32_t n_ = 0;                                                                   \
                                                                                                   \
		for (uint32_t k_ = 0; k_ < (s)->n_selected; k_++) {                                \
			uint32_t i = (s)->selected[k_];                                            \
                                                                                                   \
			(s)->selected[n_] = (uint16_t)i;                                           \
			n_ += !!(condition);                                                       \
		}                                                                                  \
		(s)->n_selected = n_;                                                              \
	} while (0)

/* All rows of a block are selected, and few fit: most groups of rows are passed over by a loop that stores
 * nothing. */
#define ROWS_AT_ONCE 32u

static void select_few(struct scanner *s, const uint64_t *v, uint64_t value)
{
	uint32_t n = 0;

	for (uint32_t first = 0; first < s->n_rows; first += ROWS_AT_ONCE) {
		uint64_t has = 0;

		for (uint32_t i = first; i < first + ROWS_AT_ONCE; i++)
			has |= v[i] == value;
		for (uint32_t i = first; has && i < first + ROWS_AT_ONCE && i < s->n_rows; i++) {
			s->selected[n] = (uint16_t)i;
			n += v[i] == value;
		}
	}
	s->n_selected = n;
}

/* One comparison for both ends: max - min of unsigned numbers. */
static void select_range(struct scanner *s, const struct plan_step *step, bool want)
{
	const uint64_t *v = scanner_column(s, step->column);
	uint64_t min = step->min, width = step->max - step->min;

	if (step->min > step->max)
		SELECT(s, !want);
	else if (width == 0 && want && s->n_selected == STORE_BLOCK_ROWS)
		select_few(s, v, min);
	else
		SELECT(s, (v[i] - min <= width) == want);
}

static void select_mask(struct scanner *s, const struct plan_step *step)
{
	const uint64_t *v = scanner_column(s, step->column);
	uint64_t mask = step->mask, want = step->min;

	SELECT(s, (v[i] & mask) == want);
}

static void select_set(struct scanner *s, const struct plan_step *step)
{
	const uint64_t *v = scanner_column(s, step->column);
	const uint64_t *set = step->set;
	uint64_t n = step->n_set;

	SELECT(s, v[i] < n && set_has(set, v[i]));
}

static void select_death(struct scanner *s, const struct plan_step *step, bool want)
{
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	uint64_t min = step->min, width = step->max - step->min;

	if (step->min > step->max)
		SELECT(s, !want);
	else
		SELECT(s, (row_free_ns(alloc[i], life[i]) - min <= width) == want);
}

static void select_lifetime(struct scanner *s, const struct plan_step *step)
{
	const uint64_t *alloc = scanner_column(s, STORE_ALLOC_NS);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	uint64_t end = s->q->end_ns, min = step->min, width = step->max - step->min;

	if (step->min > step->max)
		s->n_selected = 0;
	else
		SELECT(s,
		       (store_is_released(life[i]) ? life[i] - 1 : end - alloc[i]) - min <= width);
}

static void select_usable(struct scanner *s, const struct plan_step *step)
{
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *extra = scanner_column(s, STORE_EXTRA_BYTES);
	uint64_t min = step->min, width = step->max - step->min;

	if (step->min > step->max)
		s->n_selected = 0;
	else
		SELECT(s, size[i] + extra[i] - min <= width);
}

static bool fits(const struct plan_range *r, uint64_t value)
{
	return value >= r->min && value <= r->max;
}

static bool chain_fits(struct scanner *s, uint32_t i)
{
	const struct plan_chain *want = &s->plan->chain;
	uint64_t number = s->column[STORE_CHAIN][i];
	uint64_t size = s->column[STORE_SIZE_BYTES][i];
	struct store_chain own;
	const struct store_chain *c = &own;
	uint64_t lifetime_ns;

	if (number && number - 1 < s->q->n_chains)
		c = &s->q->chain[number - 1];
	else
		own = (struct store_chain){
			.first_size_bytes = size,
			.last_size_bytes = size,
			.alloc_ns = s->column[STORE_ALLOC_NS][i],
			.lifetime_ns = s->column[STORE_LIFETIME_NS][i],
			.length = 1,
		};
	lifetime_ns =
		store_is_released(c->lifetime_ns) ? c->lifetime_ns - 1 : s->q->end_ns - c->alloc_ns;
	return fits(&want->first_size, c->first_size_bytes) &&
	       fits(&want->last_size, c->last_size_bytes) && fits(&want->length, c->length) &&
	       fits(&want->lifetime_ns, lifetime_ns) && !(want->is_leaked && c->lifetime_ns);
}

static void select_chain(struct scanner *s)
{
	scanner_column(s, STORE_CHAIN);
	scanner_column(s, STORE_SIZE_BYTES);
	scanner_column(s, STORE_ALLOC_NS);
	scanner_column(s, STORE_LIFETIME_NS);
	SELECT(s, chain_fits(s, i));
}

static void select_tree(struct scanner *s)
{
	uint64_t rows[TREE_FILTER_WORDS];
	uint16_t selected[STORE_BLOCK_ROWS];
	uint32_t n = s->n_selected;

	memcpy(selected, s->selected, n * sizeof(*selected));
	tree_filter_rows(s, s->q->tree, rows);
	memcpy(s->selected, selected, n * sizeof(*selected));
	s->n_selected = n;
	SELECT(s, set_has(rows, i));
}

static void select_step(struct scanner *s, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_RANGE:
	case PLAN_NOT_RANGE:
		select_range(s, step, step->kind == PLAN_RANGE);
		break;
	case PLAN_MASK:
		select_mask(s, step);
		break;
	case PLAN_SET:
		select_set(s, step);
		break;
	case PLAN_DEATH:
	case PLAN_NOT_DEATH:
		select_death(s, step, step->kind == PLAN_DEATH);
		break;
	case PLAN_LIFETIME:
		select_lifetime(s, step);
		break;
	case PLAN_USABLE:
		select_usable(s, step);
		break;
	case PLAN_CHAIN:
		select_chain(s);
		break;
	case PLAN_TREE:
		select_tree(s);
		break;
	}
}

/* The rows of the block that lie in the plan's range; false: none. */
static bool clip(const struct plan *p, uint64_t block, uint32_t n_rows, uint32_t *low,
		 uint32_t *high)
{
	uint64_t first = block * STORE_BLOCK_ROWS;

	*low = p->first_row > first ? (uint32_t)(p->first_row - first) : 0;
	*high = p->end_row < first + n_rows ? (uint32_t)(p->end_row - first) : n_rows;
	return p->first_row < first + n_rows && p->end_row > first && *low < *high;
}

/* NONE: no row of the scanner's block. ALL: every row from low to high; else the steps that have to be
 * taken are set in *open. */
static enum verdict judge_plan(struct scanner *s, const struct plan *p, uint32_t *low,
			       uint32_t *high, uint32_t *open)
{
	*open = 0;
	if (!clip(p, s->block, s->n_rows, low, high))
		return NONE;
	for (unsigned i = 0; i < p->n_steps; i++) {
		enum verdict v = judge_block(s, &p->step[i]);

		if (v == NONE)
			return NONE;
		if (v == SOME)
			*open |= 1u << i;
	}
	return *open ? SOME : ALL;
}

static enum verdict open_block(struct scanner *s, uint64_t block, uint32_t *low, uint32_t *high,
			       uint32_t *open)
{
	s->block = block;
	s->n_rows = store_block_rows(s->q->c.store, block);
	s->loaded = 0;
	s->n_selected = 0;
	return judge_plan(s, s->plan, low, high, open);
}

static void select_open(struct scanner *s, uint32_t low, uint32_t high, uint32_t open)
{
	/* more than there are: a loop of known length becomes vector code */
	for (uint32_t i = 0; i < STORE_BLOCK_ROWS; i++)
		s->selected[i] = (uint16_t)(low + i);
	s->n_selected = high - low;
	for (; open && s->n_selected; open &= open - 1)
		select_step(s, &s->plan->step[__builtin_ctz(open)]);
}

enum verdict scanner_judge_plan(struct scanner *s, const struct plan *p)
{
	uint32_t low, high, open;
	enum verdict v = judge_plan(s, p, &low, &high, &open);

	return v == ALL && high - low < s->n_rows ? SOME : v;
}

void scanner_select_plan(struct scanner *s, const struct plan *p)
{
	const struct plan *own = s->plan;
	uint32_t low, high, open;

	s->n_selected = 0;
	s->plan = p;
	if (judge_plan(s, p, &low, &high, &open) != NONE)
		select_open(s, low, high, open);
	s->plan = own;
}

void scanner_select(struct scanner *s, uint64_t block)
{
	uint32_t low, high, open;

	if (open_block(s, block, &low, &high, &open) != NONE)
		select_open(s, low, high, open);
}

bool scanner_can_match(struct scanner *s, uint64_t block)
{
	uint32_t low, high, open;

	return open_block(s, block, &low, &high, &open) != NONE;
}

uint32_t scanner_count(struct scanner *s, uint64_t block)
{
	uint32_t low, high, open;

	switch (open_block(s, block, &low, &high, &open)) {
	case NONE:
		return 0;
	case ALL:
		return high - low;
	case SOME:
		break;
	}
	select_open(s, low, high, open);
	return s->n_selected;
}

void scanner_row(struct scanner *s, uint32_t i, struct query_row *ret)
{
	const uint64_t *v[STORE_N_COLUMNS];
	uint64_t stack, free_stack, chain;

	for (unsigned c = 0; c < STORE_N_COLUMNS; c++)
		v[c] = scanner_column(s, c);
	stack = v[STORE_STACK][i];
	free_stack = v[STORE_FREE_STACK][i];
	chain = v[STORE_CHAIN][i];
	*ret = (struct query_row){
		.row = s->block * STORE_BLOCK_ROWS + i,
		.alloc_ns = v[STORE_ALLOC_NS][i],
		.free_ns = store_is_released(v[STORE_LIFETIME_NS][i])
				   ? row_free_ns(v[STORE_ALLOC_NS][i], v[STORE_LIFETIME_NS][i])
				   : UINT64_MAX, /* the single row says so, suppressed or not */
		.size_bytes = v[STORE_SIZE_BYTES][i],
		.extra_bytes = v[STORE_EXTRA_BYTES][i],
		.addr = v[STORE_ADDR][i],
		.marker = v[STORE_MARKER][i],
		.chain = chain && chain - 1 < s->q->n_chains ? chain - 1 : UINT64_MAX,
		.chain_position = v[STORE_CHAIN_POSITION][i],
		.stack = stack < s->q->n_stacks ? (uint32_t)stack : 0,
		.thread = v[STORE_THREAD][i] < s->q->n_threads ? (uint32_t)v[STORE_THREAD][i] : 0,
		.free_stack = free_stack < s->q->n_stacks ? (uint32_t)free_stack : 0,
		.flags = (uint32_t)v[STORE_FLAGS][i],
	};
	if (v[STORE_FREE_THREAD][i] < s->q->n_threads)
		ret->free_thread = (uint32_t)v[STORE_FREE_THREAD][i];
}

/* ---- threads ---- */

#define BLOCKS_AT_ONCE 8u /* that a thread takes from the heap of work */
#define STATE_SIXTEENTHS 8u /* of the budget: the states of all threads together */
#define STATE_BYTES_PER_BLOCK 65536u /* more cost as much to clear and to add up as the rows do */

int query_check_cancel(const struct query *q, struct err *err)
{
	if (store_is_cut(q->c.store))
		return err_set(err, ERR_FORMAT, "%s", STORE_CUT_TEXT);
	if (!q->c.cancel || !atomic_load_explicit(q->c.cancel, memory_order_relaxed))
		return 0;
	for (const struct query_audience *a = q->audience; a; a = a->outer) {
		if (atomic_load_explicit(a->n_waiting, memory_order_relaxed))
			return 0;
	}
	return err_set(err, ERR_CANCELLED, "cancelled");
}

unsigned scan_n_threads(const struct query *q, uint64_t n_blocks, size_t state_bytes)
{
	long n = q->c.n_threads ? (long)q->c.n_threads : sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		n = 1;
	if (n > (long)SCAN_MAX_THREADS)
		n = SCAN_MAX_THREADS;
	if ((uint64_t)n > n_blocks / BLOCKS_AT_ONCE + 1)
		n = (long)(n_blocks / BLOCKS_AT_ONCE + 1);
	if (q->estimate && n_blocks > q->estimate->n_read)
		n_blocks = q->estimate->n_read;
	while (n > 1 && ((size_t)n * state_bytes > memory_budget_share(STATE_SIXTEENTHS) ||
			 (size_t)n * state_bytes > n_blocks * STATE_BYTES_PER_BLOCK))
		n--;
	return (unsigned)n;
}

struct threads_job {
	int (*fn)(void *user, unsigned i, struct err *err);
	void *user;
	unsigned i;
	int result;
	struct err err;
	pthread_t thread;
	bool is_started;
};

static void *threads_main(void *arg)
{
	struct threads_job *job = arg;

	job->result = job->fn(job->user, job->i, &job->err);
	return NULL;
}

int scan_in_threads(unsigned n, int (*fn)(void *user, unsigned i, struct err *err), void *user,
		    struct err *err)
{
	struct threads_job *job;
	int r = 0;

	if (n == 1)
		return fn(user, 0, err);
	job = calloc(n, sizeof(*job));
	if (!job)
		return err_set_memory(err, n * sizeof(*job));
	for (unsigned i = 1; i < n; i++) {
		job[i] = (struct threads_job){.fn = fn, .user = user, .i = i};
		job[i].is_started =
			pthread_create(&job[i].thread, NULL, threads_main, &job[i]) == 0;
	}
	r = fn(user, 0, err);
	for (unsigned i = 1; i < n; i++) {
		if (job[i].is_started)
			pthread_join(job[i].thread, NULL);
		else /* no more threads to be had: slower, but the same */
			job[i].result = fn(user, i, &job[i].err);
		if (job[i].result < 0 && r >= 0) {
			r = job[i].result;
			if (err)
				*err = job[i].err;
		}
	}
	free(job);
	return r;
}

struct scan_run {
	struct scan *scan;
	_Atomic uint64_t next_block;
	atomic_bool has_failed; /* the others need not go on */
	struct progress progress; /* the first thread's */
};

static int scan_thread(void *user, unsigned i, struct err *err)
{
	struct scan_run *run = user;
	const struct scan *scan = run->scan;
	struct scanner *s = malloc(sizeof(*s));
	int r = 0;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->q = scan->q;
	s->plan = scan->plan;
	while (r >= 0 && !atomic_load_explicit(&run->has_failed, memory_order_relaxed)) {
		uint64_t block = atomic_fetch_add(&run->next_block, BLOCKS_AT_ONCE);
		uint64_t end = block + BLOCKS_AT_ONCE;

		if (block >= scan->end_block)
			break;
		if (end > scan->end_block)
			end = scan->end_block;
		r = query_check_cancel(scan->q, err);
		if (i == 0)
			progress_set(&run->progress,
				     (block - scan->first_block) * STORE_BLOCK_ROWS);
		if (scan->q->c.progress)
			atomic_store_explicit(&scan->q->c.progress->n_done,
					      block - scan->first_block, memory_order_relaxed);
		for (; block < end && r >= 0; block++) {
			if (!estimate_reads(scan->q->estimate, block))
				continue;
			scanner_select(s, block);
			if (s->n_selected)
				r = scan->sink(scan->states[i], s, err);
		}
	}
	if (r < 0)
		atomic_store(&run->has_failed, true);
	free(s);
	return r;
}

void scan_init(struct scan *scan, struct query *q, const struct plan *plan)
{
	*scan = (struct scan){
		.q = q,
		.plan = plan,
		.first_block = plan->first_row / STORE_BLOCK_ROWS,
		.end_block = (plan->end_row + STORE_BLOCK_ROWS - 1) / STORE_BLOCK_ROWS,
	};
	if (plan->first_row >= plan->end_row)
		scan->end_block = scan->first_block;
}

/* What others see of the pass from now on. */
static void announce(const struct scan *scan)
{
	struct query_progress *p = scan->q->c.progress;

	if (scan->q->estimate)
		atomic_store(&scan->q->estimate->was_used, true);
	if (!p)
		return;
	atomic_store(&p->n_done, 0);
	atomic_store(&p->n_all, scan->end_block - scan->first_block);
	atomic_fetch_add(&p->n_passes, 1);
}

int scan_run(struct scan *scan, struct err *err)
{
	struct scan_run run = {.scan = scan};
	int r = plan_need_rows(scan->q, err);

	if (r < 0)
		return r;
	if (scan->first_block >= scan->end_block)
		return 0;
	announce(scan);
	atomic_init(&run.next_block, scan->first_block);
	atomic_init(&run.has_failed, false);
	if (scan->q->c.progress_label)
		progress_start(&run.progress, scan->q->c.progress_label,
			       (scan->end_block - scan->first_block) * STORE_BLOCK_ROWS,
			       PROGRESS_ITEMS);
	r = scan_in_threads(scan->n_states, scan_thread, &run, err);
	progress_end(&run.progress);
	return r;
}
