/* serve/v1_fragmentation.c - /api/v1: how blocks lie in pages at one moment, and who keeps pages
 * that are nearly empty.
 *
 * Blocks that have a mapping of their own are left out: their pages go when they go. A page is
 * sparse when less than a quarter of it is in use; what holds it are the blocks on it.
 */
#include "serve/handlers.h"
#include "serve/wire.h"

#include <stdlib.h>

#include "util/map.h"

#define N_TENTHS 10u
#define SPARSE_DIVISOR 4u
#define N_HOLDERS 50u
#define MAX_PAGES ((uint64_t)1 << 22) /* 16 GiB of heap; some 200 MiB here */

struct heap {
	struct request *rq;
	struct err *err;
	int r;
	uint64_t page_bytes;
	struct map used; /* page -> bytes in use on it */
	struct map holder; /* stack -> index in site + 1 */
	struct site *site;
	size_t n_sites;
	uint64_t n_blocks, used_bytes, usable_bytes, low, high;
};

struct site {
	uint32_t stack;
	uint64_t n_blocks, n_bytes, n_pages;
};

/* The part of a block on a page. */
static uint64_t bytes_on(const struct heap *h, uint64_t page, uint64_t addr, uint64_t end)
{
	uint64_t page_start = page * h->page_bytes, page_end = page_start + h->page_bytes;

	return (end < page_end ? end : page_end) - (addr > page_start ? addr : page_start);
}

static bool add_block(void *user, const struct query_row *row)
{
	struct heap *h = user;
	uint64_t usable = row->size_bytes + row->extra_bytes;
	uint64_t end = row->addr + usable;

	if (usable == 0 || end < row->addr ||
	    end / h->page_bytes - row->addr / h->page_bytes > MAX_PAGES)
		return true;
	h->n_blocks++;
	h->used_bytes += row->size_bytes;
	h->usable_bytes += usable;
	if (row->addr < h->low)
		h->low = row->addr;
	if (end > h->high)
		h->high = end;
	for (uint64_t p = row->addr / h->page_bytes; p * h->page_bytes < end; p++) {
		uint64_t *used;

		if (h->used.n >= MAX_PAGES)
			h->r = err_set(h->err, ERR_LIMIT,
				       "more than %llu pages are in use; ask for fewer by a filter",
				       (unsigned long long)MAX_PAGES);
		else
			h->r = map_add(&h->used, p, &used, NULL, h->err);
		if (h->r < 0)
			return false;
		*used += bytes_on(h, p, row->addr, end);
	}
	return true;
}

static bool is_sparse(const struct heap *h, uint64_t used_bytes)
{
	return used_bytes < h->page_bytes / SPARSE_DIVISOR;
}

/* Second pass: which call sites have blocks on sparse pages. */
static bool add_holder(void *user, const struct query_row *row)
{
	struct heap *h = user;
	uint64_t end = row->addr + row->size_bytes + row->extra_bytes, n_pages = 0;
	uint64_t *index;

	for (uint64_t p = row->addr / h->page_bytes; end > row->addr && p * h->page_bytes < end;
	     p++) {
		const uint64_t *used = map_find(&h->used, p);

		n_pages += used && is_sparse(h, *used);
		if (!used)
			break;
	}
	if (n_pages == 0)
		return true;
	h->r = map_add(&h->holder, row->stack, &index, NULL, h->err);
	if (h->r < 0)
		return false;
	if (*index == 0) {
		*index = ++h->n_sites;
		h->site[h->n_sites - 1].stack = row->stack;
	}
	h->site[*index - 1].n_blocks++;
	h->site[*index - 1].n_bytes += row->size_bytes;
	h->site[*index - 1].n_pages += n_pages;
	return true;
}

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->n_pages != y->n_pages)
		return x->n_pages > y->n_pages ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void put_holders(struct heap *h)
{
	struct json *j = &h->rq->json;

	qsort(h->site, h->n_sites, sizeof(*h->site), compare_sites);
	json_array(j, "held_by");
	for (size_t i = 0; i < h->n_sites && i < N_HOLDERS; i++) {
		const struct frame *f = wire_blame(h->rq, h->site[i].stack, h->err);

		if (!f)
			continue;
		json_object(j, NULL);
		json_u64(j, "backtrace_id", h->site[i].stack);
		json_u64(j, "blocks", h->site[i].n_blocks);
		json_u64(j, "bytes", h->site[i].n_bytes);
		json_u64(j, "pages", h->site[i].n_pages);
		wire_frame_text(h->rq, "blame", f);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_heap(struct heap *h, uint64_t at_ns)
{
	uint64_t tenth[N_TENTHS] = {0}, n_sparse = 0, free_bytes = 0;
	struct json *j = &h->rq->json;

	for (size_t i = 0; i < h->used.n_slots; i++) {
		const struct map_slot *s = &h->used.slot[i];
		uint64_t t = s->value * N_TENTHS / h->page_bytes;

		if (!s->used)
			continue;
		tenth[t < N_TENTHS ? t : N_TENTHS - 1]++;
		if (is_sparse(h, s->value)) {
			n_sparse++;
			free_bytes += h->page_bytes - s->value;
		}
	}
	json_object(j, NULL);
	json_u64(j, "at_ns", at_ns);
	json_u64(j, "page_bytes", h->page_bytes);
	json_u64(j, "blocks", h->n_blocks);
	json_u64(j, "used_bytes", h->used_bytes);
	json_u64(j, "usable_bytes", h->usable_bytes);
	json_u64(j, "pages", h->used.n);
	json_u64(j, "span_bytes", h->high > h->low ? h->high - h->low : 0);
	json_u64(j, "sparse_pages", n_sparse);
	json_u64(j, "sparse_free_bytes", free_bytes);
	json_array(j, "occupancy");
	for (unsigned i = 0; i < N_TENTHS; i++)
		json_u64(j, NULL, tenth[i]);
	json_end_array(j);
	put_holders(h);
	json_end_object(j);
}

int v1_fragmentation(struct request *rq, struct err *err)
{
	struct heap h = {.rq = rq, .err = err, .low = UINT64_MAX};
	struct query_page all = {.count = UINT64_MAX};
	uint64_t at_ns, page = store_facts(rq->store)->page_bytes;
	int r = request_time(rq, "at", false, store_facts(rq->store)->peak_ns, &at_ns, err);

	if (r == 0)
		r = request_filter(rq, err);
	if (r < 0)
		return r;
	h.page_bytes = page >= 512 && page <= 1 << 20 ? page : 4096;
	rq->filter.alive_at = (struct filter_time){.kind = FILTER_TIME_RELATIVE, .ns = at_ns};
	rq->filter.mmaped = FILTER_NO;
	r = request_make_query(rq, err);
	h.site = calloc(store_n_stacks(rq->store) + 1, sizeof(*h.site));
	if (r == 0 && !h.site)
		r = err_set_memory(err, store_n_stacks(rq->store) * sizeof(*h.site));
	if (r == 0)
		r = query_rows(rq->query, &all, add_block, &h, NULL, err);
	if (r == 0 && h.r == 0)
		r = query_rows(rq->query, &all, add_holder, &h, NULL, err);
	if (r == 0)
		r = h.r;
	if (r == 0)
		put_heap(&h, at_ns);
	map_fini(&h.used);
	map_fini(&h.holder);
	free(h.site);
	return r;
}
