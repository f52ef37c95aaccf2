/* query/query_sort.c - see query_sort.h.
 *
 * Each thread keeps the smallest rows that it met: when its buffer holds twice as many as are asked
 * for, the greater half goes, and from then on whatever is greater than the greatest that was kept
 * is not even written down. The cost is that of the scan, not of sorting.
 */
#include "query/query_sort.h"

#include <stdlib.h>
#include <string.h>

#include "query/sort_key.h"
#include "query/sort_skip.h"
#include "util/radix_sort.h"
#include "util/vec.h"

#define FEW_ROWS 4096u /* sorted with qsort() */

struct sort_state {
	const struct sort_order *order;
	const struct sorted_row *after;
	size_t max;
	struct sorted_row *item;
	size_t n, capacity;
	bool has_limit;
	struct sorted_row limit; /* the greatest that can be among the first max */
	uint64_t n_matching;
};

static bool is_less(const struct sorted_row *a, const struct sorted_row *b)
{
	return a->key < b->key || (a->key == b->key && a->row < b->row);
}

static int compare(const void *a, const void *b)
{
	return is_less(a, b) ? -1 : is_less(b, a);
}

static void swap(struct sorted_row *a, struct sorted_row *b)
{
	struct sorted_row t = *a;

	*a = *b;
	*b = t;
}

/* Hoare's partition of [low, high] around the middle of three; gives the end of the left part. */
static size_t partition(struct sorted_row *v, size_t low, size_t high)
{
	size_t mid = low + (high - low) / 2, i = low, j = high;
	struct sorted_row pivot;

	if (is_less(&v[mid], &v[low]))
		swap(&v[mid], &v[low]);
	if (is_less(&v[high], &v[low]))
		swap(&v[high], &v[low]);
	if (is_less(&v[high], &v[mid]))
		swap(&v[high], &v[mid]);
	pivot = v[mid];
	for (;;) {
		while (is_less(&v[i], &pivot))
			i++;
		while (is_less(&pivot, &v[j]))
			j--;
		if (i >= j)
			return j;
		swap(&v[i++], &v[j--]);
	}
}

/* Puts the n smallest of the first total to the front, in any order. */
static void select_smallest(struct sorted_row *v, size_t total, size_t n)
{
	size_t low = 0, high = total - 1;

	if (n == 0 || n >= total)
		return;
	while (low < high) {
		size_t end = partition(v, low, high);

		if (end >= n)
			high = end;
		else
			low = end + 1;
		if (low >= n)
			return;
	}
}

static void shrink(struct sort_state *st)
{
	if (st->n <= st->max)
		return;
	select_smallest(st->item, st->n, st->max);
	st->n = st->max;
	st->limit = st->item[0];
	for (size_t i = 1; i < st->n; i++) {
		if (is_less(&st->limit, &st->item[i]))
			st->limit = st->item[i];
	}
	st->has_limit = true;
}

static int add_item(struct sort_state *st, const struct sorted_row *item, struct err *err)
{
	size_t want = 2 * st->max > 1024 ? 2 * st->max : 1024;
	int r;

	if (st->n == st->capacity && st->n < want) {
		r = vec_reserve(&st->item, &st->capacity, st->n + 1, sizeof(*st->item), err);
		if (r < 0)
			return r;
	}
	st->item[st->n++] = *item;
	if (st->n == want)
		shrink(st);
	return 0;
}

/* The columns of the payload; not unpacked before a row of the block is kept. */
struct payload_columns {
	const uint64_t *size, *extra, *flags, *stack;
};

static void set_payload(struct sorted_row *item, struct scanner *s, struct payload_columns *c,
			uint32_t i)
{
	if (!c->size)
		*c = (struct payload_columns){
			.size = scanner_column(s, STORE_SIZE_BYTES),
			.extra = scanner_column(s, STORE_EXTRA_BYTES),
			.flags = scanner_column(s, STORE_FLAGS),
			.stack = scanner_column(s, STORE_STACK),
		};
	item->requested_bytes = c->size[i];
	item->usable_bytes = c->size[i] + c->extra[i];
	item->flags = (uint32_t)c->flags[i];
	item->stack = c->stack[i] < s->q->n_stacks ? (uint32_t)c->stack[i] : 0;
}

static int sort_sink(void *state, struct scanner *s, struct err *err)
{
	struct sort_state *st = state;
	const struct sort_order *order = st->order;
	const struct key_columns columns = key_columns(s, order->sort);
	uint64_t flip = order->is_descending ? UINT64_MAX : 0;
	struct payload_columns payload = {0};

	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		struct sorted_row item = {0};
		int r;

		item.key = sort_key(&columns, i) ^ flip;
		item.row = (s->block * STORE_BLOCK_ROWS + i) ^ flip;
		if (st->after && !is_less(st->after, &item))
			continue;
		st->n_matching++;
		if (!st->max || (st->has_limit && !is_less(&item, &st->limit)))
			continue;
		if (order->has_payload)
			set_payload(&item, s, &payload, i);
		r = add_item(st, &item, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Rows with equal keys lie together: puts each such group in the order of rows. */
static void sort_equal_keys(struct sorted_row *v, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && v[end].key == v[first].key;)
			end++;
		if (end - first > 1)
			qsort(&v[first], end - first, sizeof(*v), compare);
	}
}

/* Sorts *v, n rows on the heap, which may move. */
static int sort_all(struct sorted_row **v, size_t n, struct err *err)
{
	struct radix_item *item, *sorted;
	struct sorted_row *moved;

	if (n <= FEW_ROWS) {
		if (n)
			qsort(*v, n, sizeof(**v), compare);
		return 0;
	}
	item = malloc(2 * n * sizeof(*item));
	moved = malloc(n * sizeof(*moved));
	if (!item || !moved) {
		free(item);
		free(moved);
		return err_set_memory(err, n * (2 * sizeof(*item) + sizeof(*moved)));
	}
	for (size_t i = 0; i < n; i++)
		item[i] = (struct radix_item){(*v)[i].key, i};
	sorted = radix_sort(item, item + n, n);
	for (size_t i = 0; i < n; i++)
		moved[i] = (*v)[sorted[i].value];
	free(item);
	free(*v);
	*v = moved;
	sort_equal_keys(moved, n);
	return 0;
}

/* All that the threads kept, in order, in the first state. */
static int merge(struct sort_state *st, unsigned n_states, struct sorted_rows *ret, struct err *err)
{
	struct sort_state *all = &st[0];

	for (unsigned i = 0; i < n_states; i++) {
		shrink(&st[i]);
		ret->n_matching += st[i].n_matching;
	}
	for (unsigned i = 1; i < n_states; i++) {
		int r = vec_reserve(&all->item, &all->capacity, all->n + st[i].n,
				    sizeof(*all->item), err);
		if (r < 0)
			return r;
		if (st[i].n)
			memcpy(all->item + all->n, st[i].item, st[i].n * sizeof(*all->item));
		all->n += st[i].n;
		free(st[i].item);
		st[i].item = NULL;
		shrink(all);
	}
	if (sort_all(&all->item, all->n, err) < 0)
		return -ERR_MEMORY;
	ret->item = all->item;
	ret->n = all->n;
	all->item = NULL;
	return 0;
}

int sort_next(struct query *q, const struct sort_order *order, const struct sorted_row *after,
	      size_t max, struct sorted_rows *ret, struct err *err)
{
	struct sort_state st[SCAN_MAX_THREADS];
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r;

	scan_init(&scan, q, order->plan);
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       2 * max * sizeof(struct sorted_row));
	for (unsigned i = 0; i < scan.n_states; i++) {
		st[i] = (struct sort_state){.order = order, .after = after, .max = max};
		states[i] = &st[i];
	}
	scan.sink = sort_sink;
	scan.states = states;
	*ret = (struct sorted_rows){0};
	r = scan_run(&scan, err);
	if (r >= 0)
		r = merge(st, scan.n_states, ret, err);
	for (unsigned i = 0; i < scan.n_states; i++)
		free(st[i].item);
	return r;
}

/* ---- pages ---- */

#define ROWS_AT_ONCE 8192u

struct fetch {
	struct scanner scanner;
	struct query_row row[ROWS_AT_ONCE];
	struct {
		uint64_t row;
		uint32_t at; /* where it goes */
	} order[ROWS_AT_ONCE];
};

static int compare_rows(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Gets whole rows, block by block, so that each block is unpacked once. */
static int fetch_rows(struct fetch *f, const struct sorted_row *item, size_t n, uint64_t flip,
		      struct err *err)
{
	struct scanner *s = &f->scanner;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		f->order[i].row = item[i].row ^ flip;
		f->order[i].at = (uint32_t)i;
	}
	qsort(f->order, n, sizeof(f->order[0]), compare_rows);
	s->block = UINT64_MAX;
	for (size_t i = 0; i < n && r >= 0; i++) {
		uint64_t block = f->order[i].row / STORE_BLOCK_ROWS;

		if (block != s->block) {
			s->block = block;
			s->loaded = 0;
			r = query_check_cancel(s->q, err);
		}
		scanner_row(s, f->order[i].row % STORE_BLOCK_ROWS, &f->row[f->order[i].at]);
	}
	return r;
}

struct sorted_output {
	struct fetch *fetch;
	bool (*fn)(void *user, const struct query_row *row);
	void *user;
	bool is_over;
};

static int put_rows(struct sorted_output *o, const struct sorted_row *item, size_t n, uint64_t flip,
		    struct err *err)
{
	for (size_t done = 0; done < n && !o->is_over; done += ROWS_AT_ONCE) {
		size_t part = n - done < ROWS_AT_ONCE ? n - done : ROWS_AT_ONCE;
		int r = fetch_rows(o->fetch, item + done, part, flip, err);

		if (r < 0)
			return r;
		for (size_t i = 0; i < part && !o->is_over; i++)
			o->is_over = !o->fn(o->user, &o->fetch->row[i]);
	}
	return 0;
}

/* From FAR_ROWS on, getting near the page (sort_skip.h) is faster than sorting all that comes before. */
#define NEAR_ROWS ((uint64_t)1 << 16)
#define FAR_ROWS (4 * NEAR_ROWS)

static int put_page(struct query *q, const struct query_page *page, struct sorted_output *o,
		    uint64_t *n_matching, struct err *err)
{
	const struct sort_order order = {
		.plan = &q->plan, .sort = page->sort, .is_descending = page->is_descending};
	uint64_t flip = page->is_descending ? UINT64_MAX : 0, skip = page->skip;
	uint64_t left = page->count > UINT64_MAX - skip ? UINT64_MAX : skip + page->count;
	struct sort_skip start = {0};
	struct sorted_row last;
	bool is_first = true;
	int r = skip >= FAR_ROWS ? sort_skip(q, &order, skip, NEAR_ROWS, &start, err) : 0;

	if (r < 0)
		return r;
	skip -= start.n_before;
	left -= left == UINT64_MAX ? 0 : start.n_before;
	last = start.after;
	do {
		size_t max = left < QUERY_SORT_ROWS ? (size_t)left : QUERY_SORT_ROWS;
		struct sorted_rows rows;

		r = sort_next(q, &order, is_first && !start.has_after ? NULL : &last, max, &rows,
			      err);
		if (r < 0)
			return r;
		if (is_first)
			*n_matching = start.n_before + rows.n_matching;
		is_first = false;
		if (rows.n > skip)
			r = put_rows(o, rows.item + skip, rows.n - (size_t)skip, flip, err);
		skip -= rows.n < skip ? rows.n : skip;
		left = rows.n < max || left == UINT64_MAX ? (rows.n < max ? 0 : left)
							  : left - rows.n;
		if (rows.n)
			last = rows.item[rows.n - 1];
		free(rows.item);
	} while (r >= 0 && left && !o->is_over);
	return r;
}

int query_rows_sorted(struct query *q, const struct query_page *page,
		      bool (*fn)(void *user, const struct query_row *row), void *user,
		      uint64_t *n_matching, struct err *err)
{
	struct sorted_output o = {.fetch = malloc(sizeof(struct fetch)), .fn = fn, .user = user};
	uint64_t n = 0;
	int r;

	if (!o.fetch)
		return err_set_memory(err, sizeof(*o.fetch));
	o.fetch->scanner.q = q;
	o.fetch->scanner.plan = &q->plan;
	r = put_page(q, page, &o, &n, err);
	free(o.fetch);
	if (r >= 0 && n_matching && !o.is_over)
		*n_matching = n;
	return r;
}
