/* serve/v1_fragmentation.c - /api/v1: how blocks lie in pages at one moment, and who keeps pages that
 * are nearly empty (query/fragmentation.h explains the figures).
 */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include "query/fragmentation.h"

#define N_SITES 50u

static void put_site(struct request *rq, const struct fragmentation_site *s, struct err *err)
{
	const struct frame *blame = v1_json_blame(rq, s->stack, err);
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_u64(j, "backtrace_id", s->stack);
	json_u64(j, "blocks", s->n_blocks);
	json_u64(j, "requested_bytes", s->requested_bytes);
	json_u64(j, "usable_bytes", s->usable_bytes);
	json_u64(j, "sparse_pages", s->n_sparse_pages);
	json_u64(j, "held_bytes", s->held_bytes);
	if (s->oldest_alloc_ns == UINT64_MAX)
		json_null(j, "oldest_alloc_ns");
	else
		json_u64(j, "oldest_alloc_ns", s->oldest_alloc_ns);
	if (blame)
		v1_json_frame_text(rq, "blame", blame);
	json_end_object(j);
}

static void put_totals(struct json *j, const struct fragmentation *f)
{
	json_u64(j, "at_ns", f->at_ns);
	json_u64(j, "page_bytes", f->page_bytes);
	json_u64(j, "blocks", f->n_blocks);
	json_u64(j, "requested_bytes", f->requested_bytes);
	json_u64(j, "usable_bytes", f->usable_bytes);
	json_u64(j, "heap_span_bytes", f->heap_end_addr - f->heap_lowest_addr);
	json_u64(j, "heap_usable_bytes", f->heap_usable_bytes);
	json_u64(j, "pages", f->n_pages);
	json_u64(j, "sparse_pages", f->n_sparse_pages);
	json_u64(j, "sparse_used_bytes", f->sparse_used_bytes);
	json_u64(j, "sparse_held_bytes", f->sparse_held_bytes);
	json_array(j, "pages_by_use");
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++)
		json_u64(j, NULL, f->n_pages_by_use[i]);
	json_end_array(j);
}

int v1_fragmentation(struct request *rq, struct err *err)
{
	struct fragmentation f = {0};
	struct json *j = &rq->json;
	uint64_t at_ns, count;
	int r = request_time(rq, "at", false, store_facts(rq->store)->peak_ns, &at_ns, err);

	if (r == 0)
		r = request_u64(rq, "count", N_SITES, UINT64_MAX, &count, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0)
		r = fragmentation_at(rq->query, at_ns, &f, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	put_totals(j, &f);
	json_array(j, "held_by");
	for (size_t i = 0; i < f.n_sites && i < count; i++)
		put_site(rq, &f.site[i], err);
	json_end_array(j);
	json_u64(j, "total_count", f.n_sites);
	json_end_object(j);
	fragmentation_fini(&f);
	return 0;
}
