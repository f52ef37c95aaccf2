/* serve/data_allocations.c - rows: /allocations and /raw_allocations. */
#include "serve/data_json.h"
#include "serve/handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	struct request *rq;
	struct err *err;
	int r;
	uint64_t n;
};

static int put_deallocation(struct request *rq, const char *name, uint64_t at_ns, uint64_t thread,
			    uint32_t stack, struct err *err)
{
	struct json *j = &rq->json;
	int r = 0;

	json_object(j, name);
	data_json_timeval(j, "timestamp", request_unix_ns(rq, at_ns));
	json_u64(j, "thread", store_tid(rq->store, thread));
	if (stack) { /* 0: not known */
		json_u64(j, "backtrace_id", stack);
		r = data_json_backtrace(rq, "backtrace", stack, err);
	}
	json_end_object(j);
	return r;
}

/* How the last of a realloc chain was released. */
static int put_chain_deallocation(struct request *rq, const struct store_chain *c, struct err *err)
{
	uint64_t lifetime;

	if (!store_is_released(c->lifetime_ns) || c->last_row >= store_n_rows(rq->store))
		return 0;
	lifetime = store_value(rq->store, STORE_LIFETIME_NS, c->last_row);
	if (lifetime == 0)
		return 0;
	return put_deallocation(rq, "chain_deallocation",
				store_value(rq->store, STORE_ALLOC_NS, c->last_row) + lifetime - 1,
				store_value(rq->store, STORE_FREE_THREAD, c->last_row),
				(uint32_t)store_value(rq->store, STORE_FREE_STACK, c->last_row),
				err);
}

static int put_chain(struct request *rq, const struct query_row *row, struct err *err)
{
	struct json *j = &rq->json;
	size_t n_chains;
	const struct store_chain *c = store_table(rq->store, STORE_CHAINS, &n_chains);
	bool has_chain = row->chain < n_chains;
	int r = 0;

	if (has_chain) {
		c += row->chain;
		r = put_chain_deallocation(rq, c, err);
		if (store_is_released(c->lifetime_ns))
			data_json_timeval(j, "chain_lifetime", c->lifetime_ns - 1);
	} else if (row->free_ns != UINT64_MAX) {
		r = put_deallocation(rq, "chain_deallocation", row->free_ns, row->free_thread,
				     row->free_stack, err);
		data_json_timeval(j, "chain_lifetime", row->free_ns - row->alloc_ns);
	}
	json_u64(j, "position_in_chain", has_chain ? row->chain_position : 0);
	json_u64(j, "chain_length", has_chain ? c->length : 1);
	return r;
}

static int put_allocation(struct request *rq, const struct query_row *row, struct err *err)
{
	struct json *j = &rq->json;
	char address[20];
	int r;

	snprintf(address, sizeof(address), "%016" PRIX64, row->addr);
	json_object(j, NULL);
	json_u64(j, "id", row->row);
	json_u64(j, "address", row->addr);
	json_text(j, "address_s", address);
	data_json_moment(rq, "timestamp", row->alloc_ns);
	json_u64(j, "thread", store_tid(rq->store, row->thread));
	json_u64(j, "size", row->size_bytes);
	json_u64(j, "backtrace_id", row->stack);
	r = row->free_ns == UINT64_MAX ? 0
				       : put_deallocation(rq, "deallocation", row->free_ns,
							  row->free_thread, row->free_stack, err);
	if (r == 0)
		r = put_chain(rq, row, err);
	if (r == 0)
		r = data_json_backtrace(rq, "backtrace", row->stack, err);
	json_bool(j, "is_mmaped", row->flags & STORE_FLAG_MMAPED);
	json_bool(j, "is_jemalloc",
		  !strcmp(store_allocator_name(rq->store, row->flags), "jemalloc"));
	json_bool(j, "in_main_arena", row->flags & STORE_FLAG_MAIN_ARENA);
	json_u64(j, "extra_space", row->extra_bytes);
	json_u64(j, "marker", row->marker);
	json_bool(j, "is_temporary", row->flags & STORE_FLAG_TEMPORARY);
	json_end_object(j);
	return r;
}

static bool list_row(void *user, const struct query_row *row)
{
	struct listing *l = user;

	l->r = put_allocation(l->rq, row, l->err);
	return l->r == 0 && !request_is_over(l->rq);
}

int data_allocations(struct request *rq, struct err *err)
{
	struct listing l = {.rq = rq, .err = err};
	struct query_page page = {0};
	uint64_t n_matching = 0;
	int r = request_row_page(rq, UINT64_MAX, UINT64_MAX, &page, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	json_object(&rq->json, NULL);
	json_array(&rq->json, "allocations");
	r = query_rows(rq->query, &page, list_row, &l, &n_matching, err);
	json_end_array(&rq->json);
	json_u64(&rq->json, "total_count", n_matching);
	json_end_object(&rq->json);
	return r < 0 ? r : l.r;
}

/* ---- raw_allocations ---- */

static void put_raw_frame(struct request *rq, const struct frame *f)
{
	char address[20];

	if (f->is_inline)
		return; /* it has the address of the frame that holds it */
	snprintf(address, sizeof(address), "%016" PRIx64, f->addr);
	json_text(&rq->json, NULL, address);
}

static bool list_raw(void *user, const struct query_row *row)
{
	struct listing *l = user;

	json_object(&l->rq->json, NULL);
	json_array(&l->rq->json, "backtrace");
	l->r = data_json_each_frame(l->rq, row->stack, put_raw_frame, l->err);
	json_end_array(&l->rq->json);
	json_end_object(&l->rq->json);
	return l->r == 0 && !request_is_over(l->rq);
}

int data_raw_allocations(struct request *rq, struct err *err)
{
	struct listing l = {.rq = rq, .err = err};
	struct query_page page = {.count = UINT64_MAX};
	int r = request_query(rq, err);

	if (r < 0)
		return r;
	json_array(&rq->json, NULL);
	r = query_rows(rq->query, &page, list_raw, &l, NULL, err);
	json_end_array(&rq->json);
	return r < 0 ? r : l.r;
}
