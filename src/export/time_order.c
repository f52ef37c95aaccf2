/* export/time_order.c - see time_order.h.
 *
 * Frees come from two sources: a binary heap in memory, and runs. A run is a sorted piece of the
 * temporary file; a second heap has the run with the earliest free at its top.
 */
#include "export/time_order.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/temp_file.h"
#include "util/vec.h"

struct waiting {
	uint64_t at_ns;
	struct time_order_tag tag;
};

#define RUN_BUFFER 1024u /* entries read at once: 24 KiB */

struct run {
	uint64_t
		next_byte; /* offset in the file of the first entry that is not in the buffer yet */
	uint64_t n_left; /* entries from there on */
	size_t at, n; /* in the buffer; at < n while the run has a head */
	struct waiting *buffer;
};

struct time_order {
	const struct time_order_calls *calls;
	struct err *err;
	int result;
	uint64_t n_rows;
	struct waiting *heap; /* the earliest at 0 */
	size_t n_heap, cap_heap, max_heap;
	struct run *run; /* a heap by head */
	size_t n_runs, cap_runs;
	int fd; /* -1 until something is spilled */
	uint64_t file_bytes;
};

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	if (a->tag.a != b->tag.a) /* so that equal input gives equal output */
		return a->tag.a < b->tag.a;
	return a->tag.b < b->tag.b;
}

static int compare(const void *pa, const void *pb)
{
	const struct waiting *a = pa, *b = pb;

	return is_before(a, b) ? -1 : is_before(b, a);
}

static void heap_push(struct time_order *t, struct waiting w)
{
	size_t i = t->n_heap++;

	while (i > 0 && is_before(&w, &t->heap[(i - 1) / 2])) {
		t->heap[i] = t->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	t->heap[i] = w;
}

static struct waiting heap_pop(struct time_order *t)
{
	struct waiting first = t->heap[0];
	struct waiting last = t->heap[--t->n_heap];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= t->n_heap)
			break;
		if (child + 1 < t->n_heap && is_before(&t->heap[child + 1], &t->heap[child]))
			child++;
		if (!is_before(&t->heap[child], &last))
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	if (t->n_heap > 0)
		t->heap[i] = last;
	return first;
}

static const struct waiting *run_head(const struct run *r)
{
	return &r->buffer[r->at];
}

static int run_fill(struct time_order *t, struct run *r)
{
	size_t n = r->n_left < RUN_BUFFER ? (size_t)r->n_left : RUN_BUFFER;
	int e = temp_file_read(t->fd, r->next_byte, r->buffer, n * sizeof(*r->buffer), t->err);

	r->at = 0;
	r->n = e < 0 ? 0 : n;
	r->n_left -= n;
	r->next_byte += n * sizeof(*r->buffer);
	return e;
}

/* Moves the run at i down the heap until the heap is in order. */
static void runs_sift(struct time_order *t, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < t->n_runs; child++) {
			if (is_before(run_head(&t->run[child]), run_head(&t->run[least])))
				least = child;
		}
		if (least == i)
			return;
		struct run swap = t->run[i];

		t->run[i] = t->run[least];
		t->run[least] = swap;
		i = least;
	}
}

static int runs_pop(struct time_order *t, struct waiting *ret)
{
	struct run *r = &t->run[0];
	int e = 0;

	*ret = *run_head(r);
	r->at++;
	if (r->at == r->n && r->n_left > 0)
		e = run_fill(t, r);
	if (r->at == r->n) {
		free(r->buffer);
		*r = t->run[--t->n_runs];
	}
	runs_sift(t, 0);
	return e;
}

/* Moves the later half of the heap to the file, as a run. */
static int spill(struct time_order *t)
{
	size_t n_keep = t->n_heap / 2;
	size_t n_bytes = (t->n_heap - n_keep) * sizeof(*t->heap);
	struct run r = {.next_byte = t->file_bytes, .n_left = t->n_heap - n_keep};
	int e = 0;

	if (t->fd < 0)
		e = temp_file_create(t->calls->temp_folder, &t->fd, t->err);
	if (e == 0)
		e = vec_reserve(&t->run, &t->cap_runs, t->n_runs + 1, sizeof(*t->run), t->err);
	if (e < 0)
		return e;
	qsort(t->heap, t->n_heap, sizeof(*t->heap), compare); /* a sorted array is a heap, too */
	e = temp_file_write(t->fd, t->file_bytes, t->heap + n_keep, n_bytes, t->err);
	if (e < 0)
		return e;
	r.buffer = malloc(RUN_BUFFER * sizeof(*r.buffer));
	if (!r.buffer)
		return err_set_memory(t->err, RUN_BUFFER * sizeof(*r.buffer));
	e = run_fill(t, &r);
	if (e < 0) {
		free(r.buffer);
		return e;
	}
	t->file_bytes += n_bytes;
	t->n_heap = n_keep;
	t->run[t->n_runs++] = r;
	for (size_t i = t->n_runs; i-- > 0;) /* few runs, and seldom a new one */
		runs_sift(t, i);
	return 0;
}

/* Reports all frees at until_ns or before. */
static int free_until(struct time_order *t, uint64_t until_ns)
{
	for (;;) {
		const struct waiting *head = t->n_heap ? &t->heap[0] : NULL;
		bool from_run = t->n_runs && (!head || is_before(run_head(&t->run[0]), head));
		struct waiting w;
		int e;

		if (from_run)
			head = run_head(&t->run[0]);
		if (!head || head->at_ns > until_ns)
			return 0;
		e = 0;
		if (from_run)
			e = runs_pop(t, &w);
		else
			w = heap_pop(t);
		if (e < 0)
			return e;
		e = t->calls->freed(t->calls->user, w.at_ns, &w.tag);
		if (e < 0)
			return e;
	}
}

static bool take_row(void *user, const struct query_row *row)
{
	struct time_order *t = user;
	struct waiting w = {.at_ns = row->free_ns};

	t->n_rows++;
	t->result = free_until(t, row->alloc_ns);
	if (t->result < 0)
		return false;
	t->result = t->calls->allocated(t->calls->user, row, &w.tag);
	if (t->result < 0)
		return false;
	if (row->free_ns == UINT64_MAX)
		return true;
	if (t->n_heap >= t->max_heap)
		t->result = spill(t);
	if (t->result == 0)
		t->result = vec_reserve(&t->heap, &t->cap_heap, t->n_heap + 1, sizeof(*t->heap),
					t->err);
	if (t->result < 0)
		return false;
	heap_push(t, w);
	return true;
}

int time_order_each(struct query *q, size_t max_waiting, const struct time_order_calls *calls,
		    uint64_t *n_rows, struct err *err)
{
	const struct query_page page = {.sort = QUERY_BY_TIME, .count = UINT64_MAX};
	struct time_order t = {.calls = calls,
			       .err = err,
			       .fd = -1,
			       .max_heap = max_waiting < 2 ? 2 : max_waiting};
	int r = query_rows(q, &page, take_row, &t, NULL, err);

	if (t.result < 0)
		r = t.result;
	if (r == 0)
		r = free_until(&t, UINT64_MAX);
	if (r == 0 && n_rows)
		*n_rows = t.n_rows;
	for (size_t i = 0; i < t.n_runs; i++)
		free(t.run[i].buffer);
	free(t.run);
	free(t.heap);
	if (t.fd >= 0)
		close(t.fd);
	return r;
}
