/* query/fragmentation.c - see fragmentation.h. Moments in a row: fragmentation_timeline.c. */
#include "query/fragmentation.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "query/query_sort.h"
#include "util/vec.h"

#define DEFAULT_PAGE_BYTES 4096u

/* ---- blocks in the order of addresses ---- */

/* The plan without rows below an address, so that whole blocks of rows are skipped. */
static void skip_below(const struct plan *plan, uint64_t addr, struct plan *ret)
{
	*ret = *plan;
	if (ret->n_steps < PLAN_MAX_STEPS)
		ret->step[ret->n_steps++] = (struct plan_step){
			.kind = PLAN_RANGE, .column = STORE_ADDR, .min = addr, .max = UINT64_MAX};
}

/* Calls fn for each row of the plan until it returns 0; -ERR_x ends with it. */
static int each_by_address(struct query *q, const struct plan *plan,
			   int (*fn)(void *user, const struct sorted_row *row, struct err *err),
			   void *user, struct err *err)
{
	struct plan rest = *plan;
	const struct sort_order order = {
		.plan = &rest, .sort = QUERY_BY_ADDRESS, .has_payload = true};
	struct sorted_row last;
	struct sorted_rows rows;
	bool is_first = true;
	size_t n;
	int r = 1;

	do {
		int failed =
			sort_next(q, &order, is_first ? NULL : &last, QUERY_SORT_ROWS, &rows, err);

		if (failed < 0)
			return failed;
		n = rows.n;
		for (size_t i = 0; i < n && r == 1; i++)
			r = fn(user, &rows.item[i], err);
		if (n) {
			last = rows.item[n - 1];
			skip_below(plan, last.key, &rest);
		}
		is_first = false;
		free(rows.item);
	} while (r == 1 && n == QUERY_SORT_ROWS);
	return r < 0 ? r : 0;
}

static uint64_t block_end(const struct sorted_row *row)
{
	uint64_t len = row->usable_bytes ? row->usable_bytes : 1;

	return row->key > UINT64_MAX - len ? UINT64_MAX : row->key + len;
}

/* ---- pages ---- */

/* A block that has bytes in the current page. */
struct holder {
	uint32_t stack;
	uint64_t row;
};

struct walk {
	struct query *q;
	struct fragmentation *f;
	struct fragmentation_site *site; /* by stack */
	uint32_t *page_stamp; /* by stack: the page in which it was counted last */
	uint64_t page; /* number of the current one */
	bool has_page;
	uint64_t used_bytes; /* in it */
	struct holder *holder;
	size_t n_holders, cap_holders;
	uint32_t stamp; /* of the current page: small number, wraps */
};

static void share_page(struct walk *w, uint64_t unused_bytes)
{
	uint64_t share = unused_bytes / w->n_holders, rest = unused_bytes % w->n_holders;

	w->stamp++;
	for (size_t i = 0; i < w->n_holders; i++) {
		struct fragmentation_site *s = &w->site[w->holder[i].stack];
		uint64_t row = w->holder[i].row;

		s->held_bytes += share + (i < rest);
		if (w->page_stamp[w->holder[i].stack] != w->stamp) {
			w->page_stamp[w->holder[i].stack] = w->stamp;
			s->n_sparse_pages++;
		}
		/* Rows are in the order of allocation: the least row is the oldest. Turned into its
		 * time of allocation at the end. */
		s->oldest_alloc_ns = row < s->oldest_alloc_ns ? row : s->oldest_alloc_ns;
	}
}

static unsigned use_class(uint64_t used_bytes, uint64_t page_bytes)
{
	uint64_t c = (used_bytes * FRAGMENTATION_CLASSES - 1) / page_bytes;

	return c < FRAGMENTATION_CLASSES ? (unsigned)c : FRAGMENTATION_CLASSES - 1;
}

static void end_page(struct walk *w)
{
	struct fragmentation *f = w->f;
	/* More than there is only when blocks overlap: a recording with gaps. */
	uint64_t used = w->used_bytes < f->page_bytes ? w->used_bytes : f->page_bytes;

	if (!w->has_page)
		return;
	f->n_pages++;
	f->n_pages_by_use[use_class(used, f->page_bytes)]++;
	if (used * 100 < f->page_bytes * FRAGMENTATION_SPARSE_PERCENT) {
		f->n_sparse_pages++;
		f->sparse_used_bytes += used;
		f->sparse_held_bytes += f->page_bytes - used;
		share_page(w, f->page_bytes - used);
	}
	w->has_page = false;
	w->n_holders = 0;
	w->used_bytes = 0;
}

/* [start, end) of one block, which lies in one page. */
static int put_in_page(struct walk *w, const struct sorted_row *row, uint64_t start, uint64_t end,
		       struct err *err)
{
	uint64_t page = start / w->f->page_bytes;
	int r;

	if (w->has_page && page != w->page)
		end_page(w);
	r = vec_reserve(&w->holder, &w->cap_holders, w->n_holders + 1, sizeof(*w->holder), err);
	if (r < 0)
		return r;
	w->page = page;
	w->has_page = true;
	w->used_bytes += end - start;
	w->holder[w->n_holders++] = (struct holder){row->stack, row->row};
	return 0;
}

static void count_block(struct walk *w, const struct sorted_row *row)
{
	struct fragmentation *f = w->f;
	struct fragmentation_site *s = &w->site[row->stack];
	uint64_t end = block_end(row);

	if (s->n_blocks++ == 0)
		s->oldest_alloc_ns = UINT64_MAX;
	s->requested_bytes += row->requested_bytes;
	s->usable_bytes += row->usable_bytes;
	if (f->n_blocks++ == 0)
		f->lowest_addr = row->key;
	f->requested_bytes += row->requested_bytes;
	f->usable_bytes += row->usable_bytes;
	f->end_addr = end > f->end_addr ? end : f->end_addr;
	if (row->flags & STORE_FLAG_MAIN_ARENA) {
		if (f->heap_end_addr == 0)
			f->heap_lowest_addr = row->key;
		f->heap_end_addr = end > f->heap_end_addr ? end : f->heap_end_addr;
		f->heap_usable_bytes += row->usable_bytes;
	}
}

static int walk_block(void *user, const struct sorted_row *row, struct err *err)
{
	struct walk *w = user;
	uint64_t page_bytes = w->f->page_bytes, start = row->key, end = block_end(row);
	uint64_t first_end, last_start;
	int r;

	count_block(w, row);
	if (w->has_page && start < w->page * page_bytes) /* overlaps with one before */
		start = w->page * page_bytes;
	if (start >= end)
		return 1;
	first_end = (start / page_bytes + 1) * page_bytes;
	last_start = (end - 1) / page_bytes * page_bytes;
	if (start / page_bytes == last_start / page_bytes) {
		r = put_in_page(w, row, start, end, err);
		return r < 0 ? r : 1;
	}
	r = put_in_page(w, row, start, first_end, err);
	if (r < 0)
		return r;
	end_page(w);
	/* Pages between the first and the last are full. */
	w->f->n_pages += (last_start - first_end) / page_bytes;
	w->f->n_pages_by_use[FRAGMENTATION_CLASSES - 1] += (last_start - first_end) / page_bytes;
	r = put_in_page(w, row, last_start, end, err);
	return r < 0 ? r : 1;
}

static int compare_sites(const void *a, const void *b)
{
	const struct fragmentation_site *x = a, *y = b;

	if (x->held_bytes != y->held_bytes)
		return x->held_bytes > y->held_bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void take_sites(struct walk *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->q->n_stacks; i++) {
		if (!w->site[i].n_blocks)
			continue;
		w->site[n] = w->site[i];
		w->site[n].stack = (uint32_t)i;
		if (w->site[n].oldest_alloc_ns != UINT64_MAX)
			w->site[n].oldest_alloc_ns = store_value(w->q->c.store, STORE_ALLOC_NS,
								 w->site[n].oldest_alloc_ns);
		n++;
	}
	if (n)
		qsort(w->site, n, sizeof(*w->site), compare_sites);
	w->f->site = w->site;
	w->f->n_sites = n;
	w->site = NULL;
}

int fragmentation_at(struct query *q, uint64_t at_ns, struct fragmentation *ret, struct err *err)
{
	uint64_t page_bytes = store_facts(q->c.store)->page_bytes;
	bool is_page = page_bytes >= 512 && page_bytes <= 1u << 30;
	struct fragmentation f = {.at_ns = at_ns,
				  .page_bytes = is_page ? page_bytes : DEFAULT_PAGE_BYTES};
	struct walk w = {.q = q, .f = &f};
	struct plan plan;
	int r;

	if (at_ns >= UINT64_MAX - 1)
		return err_set(err, ERR_USAGE, "there is no such moment");
	plan_alive(q, at_ns, &plan);
	w.site = calloc(q->n_stacks, sizeof(*w.site));
	w.page_stamp = calloc(q->n_stacks, sizeof(*w.page_stamp));
	if (!w.site || !w.page_stamp)
		r = err_set_memory(err, q->n_stacks * sizeof(*w.site));
	else
		r = each_by_address(q, &plan, walk_block, &w, err);
	if (r >= 0) {
		end_page(&w);
		take_sites(&w);
		*ret = f;
	}
	free(w.site);
	free(w.page_stamp);
	free(w.holder);
	return r;
}

void fragmentation_fini(struct fragmentation *f)
{
	free(f->site);
	*f = (struct fragmentation){0};
}
