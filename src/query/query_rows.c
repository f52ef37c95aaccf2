/* query/query_rows.c - pages of rows.
 *
 * By time, rows come as they lie in the store. Blocks are counted ahead of the output by all
 * threads, in waves that grow: a first page is there at once, and the rows of blocks before the page
 * are never looked at one by one. Other orders: query_sort.c.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "query/query_sort.h"

#define FIRST_WAVE 16u /* blocks */
#define LAST_WAVE 4096u

/* Blocks are numbered in the order of output: backwards when descending. */
struct page {
	struct query *q;
	const struct query_page *page;
	struct plan plan; /* the query's, from page->first_row on */
	bool (*fn)(void *user, const struct query_row *row);
	void *user;
	uint64_t first_block, end_block;
	uint64_t wave_first, wave_end; /* numbers in the order of output */
	uint32_t *count; /* matching rows of the wave's blocks: at most LAST_WAVE */
	_Atomic uint64_t next; /* to be counted */
	uint64_t n_passed; /* matching rows of blocks before the wave */
	bool is_over; /* fn said so */
	struct scanner *scanner; /* of the calling thread */
};

static uint64_t block_at(const struct page *p, uint64_t number)
{
	return p->page->is_descending ? p->end_block - 1 - number : p->first_block + number;
}

static int count_thread(void *user, unsigned i, struct err *err)
{
	struct page *p = user;
	struct scanner *s = i ? malloc(sizeof(*s)) : p->scanner;
	int r = 0;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->q = p->q;
	s->plan = &p->plan;
	while (r >= 0) {
		uint64_t number = atomic_fetch_add(&p->next, 8), end = number + 8;

		r = query_check_cancel(p->q, err);
		if (number >= p->wave_end)
			break;
		for (; r >= 0 && number < end && number < p->wave_end; number++)
			p->count[number - p->wave_first] = scanner_count(s, block_at(p, number));
	}
	if (i)
		free(s);
	return r;
}

static uint64_t page_end(const struct query_page *page)
{
	return page->count > UINT64_MAX - page->skip ? UINT64_MAX : page->skip + page->count;
}

/* The rows of a block that lie on the page. first: number of its first row among all matching. */
static void put_block(struct page *p, uint64_t block, uint64_t first)
{
	struct scanner *s = p->scanner;
	uint64_t end = page_end(p->page);
	struct query_row row;

	scanner_select(s, block);
	for (uint32_t i = 0; i < s->n_selected && !p->is_over; i++) {
		uint32_t at = p->page->is_descending ? s->n_selected - 1 - i : i;

		if (first + i < p->page->skip || first + i >= end)
			continue;
		scanner_row(s, s->selected[at], &row);
		p->is_over = !p->fn(p->user, &row);
	}
}

static int put_wave(struct page *p, struct err *err)
{
	uint64_t end = page_end(p->page);

	for (uint64_t i = p->wave_first; i < p->wave_end; i++) {
		uint64_t n = p->count[i - p->wave_first];

		if (n && p->n_passed < end && p->n_passed + n > p->page->skip && !p->is_over) {
			int r = query_check_cancel(p->q, err);

			if (r < 0)
				return r;
			put_block(p, block_at(p, i), p->n_passed);
		}
		p->n_passed += n;
	}
	return 0;
}

/* Figures of the table, when it can tell: false otherwise. */
static bool count_by_table(const struct query *q, uint64_t *ret)
{
	uint64_t n = 0, n_all = 0;

	if (!q->plan.is_table)
		return false;
	for (size_t i = 0; i < q->n_stacks; i++) {
		const struct store_stack *s = &q->stack[i];

		n_all += s->n_allocs;
		if (!q->stack_set || set_has(q->stack_set, i))
			n += q->plan.is_leaked     ? s->n_leaked
			     : q->plan.is_released ? s->n_allocs - s->n_leaked
						   : s->n_allocs;
	}
	*ret = n;
	return n_all == store_n_rows(q->c.store); /* the recorder may have left rows out */
}

static int rows_by_time(struct page *p, uint64_t *n_matching, struct err *err)
{
	uint64_t n_blocks = p->end_block - p->first_block, known = 0, wave = FIRST_WAVE;
	bool is_known = !n_matching || (!p->page->first_row && count_by_table(p->q, &known));
	int r = 0;

	if (is_known && page_end(p->page) > wave * STORE_BLOCK_ROWS)
		wave = LAST_WAVE / 4;
	while (p->wave_end < n_blocks && !p->is_over) {
		if (is_known && p->n_passed >= page_end(p->page))
			break;
		p->wave_first = p->wave_end;
		p->wave_end = n_blocks - p->wave_first > wave ? p->wave_first + wave : n_blocks;
		atomic_store(&p->next, p->wave_first);
		r = scan_in_threads(
			scan_n_threads(p->q, p->wave_end - p->wave_first, sizeof(struct scanner)),
			count_thread, p, err);
		if (r >= 0)
			r = put_wave(p, err);
		if (r < 0)
			return r;
		wave = wave * 4 < LAST_WAVE ? wave * 4 : LAST_WAVE;
	}
	if (n_matching && !p->is_over)
		*n_matching = is_known ? known : p->n_passed;
	return 0;
}

int query_rows(struct query *q, const struct query_page *page,
	       bool (*fn)(void *user, const struct query_row *row), void *user,
	       uint64_t *n_matching, struct err *err)
{
	struct scan scan;
	struct page p = {.q = q, .page = page, .plan = q->plan, .fn = fn, .user = user};
	int r = plan_need_rows(q, err);

	if (r < 0)
		return r;
	if (page->sort != QUERY_BY_TIME)
		return query_rows_sorted(q, page, fn, user, n_matching, err);
	if (!page->is_descending && page->first_row > p.plan.first_row)
		p.plan.first_row = page->first_row;
	scan_init(&scan, q, &p.plan);
	p.first_block = scan.first_block;
	p.end_block = scan.end_block;
	p.scanner = malloc(sizeof(*p.scanner));
	p.count = malloc(LAST_WAVE * sizeof(*p.count));
	if (p.scanner && p.count) {
		p.scanner->q = q;
		p.scanner->plan = &p.plan;
		r = rows_by_time(&p, n_matching, err);
	} else {
		r = err_set_memory(err, sizeof(*p.scanner));
	}
	free(p.scanner);
	free(p.count);
	return r;
}
