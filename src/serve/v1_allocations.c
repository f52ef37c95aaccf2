/* serve/v1_allocations.c - /api/v1: a page of allocations for a table, and the allocations of one
 * realloc chain.
 *
 * Rows name their stacks by number; each stack of the page is described once, by the frame to blame. The
 * full backtraces are at /data/{id}/backtrace/{n}.
 */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>

#include "query/chains.h"
#include "query/filter_value.h"
#include "util/map.h"

#define N_ROWS 200u
#define MAX_ROWS 100000u

struct row_page {
	struct request *rq;
	struct map seen; /* stacks of the page */
	struct err *err;
	int r;
};

static void put_chain(struct request *rq, const struct query_row *row)
{
	size_t n;
	const struct store_chain *c = store_table(rq->store, STORE_CHAINS, &n);
	bool has_chain = row->chain < n;

	uint64_t lifetime = row->free_ns == UINT64_MAX ? 0 : row->free_ns - row->alloc_ns + 1;

	if (has_chain)
		lifetime = c[row->chain].lifetime_ns;
	json_u64(&rq->json, "position_in_chain", has_chain ? row->chain_position : 0);
	json_u64(&rq->json, "chain_length", has_chain ? c[row->chain].length : 1);
	if (store_is_released(lifetime))
		json_u64(&rq->json, "chain_lifetime_ns", lifetime - 1);
	else
		json_null(&rq->json, "chain_lifetime_ns"); /* never freed */
}

static void put_row(struct request *rq, const struct query_row *row)
{
	struct json *j = &rq->json;
	bool is_released = row->free_ns != UINT64_MAX;

	json_object(j, NULL);
	json_u64(j, "id", row->row);
	json_u64(j, "at_ns", row->alloc_ns);
	if (is_released) {
		json_u64(j, "released_ns", row->free_ns);
		json_u64(j, "free_thread", row->free_thread);
		json_u64(j, "free_stack", row->free_stack);
	}
	json_u64(j, "size", row->size_bytes);
	json_u64(j, "usable", row->size_bytes + row->extra_bytes);
	json_hex(j, "address", row->addr);
	json_u64(j, "thread", row->thread);
	json_u64(j, "stack", row->stack);
	json_text(j, "kind", store_kind_name(row->flags));
	put_chain(rq, row);
	json_u64(j, "marker", row->marker);
	json_bool(j, "is_temporary", row->flags & STORE_FLAG_TEMPORARY);
	json_bool(j, "is_mmaped", row->flags & STORE_FLAG_MMAPED);
	json_bool(j, "in_main_arena", row->flags & STORE_FLAG_MAIN_ARENA);
	json_text(j, "allocator", store_allocator_name(rq->store, row->flags));
	json_bool(j, "is_crossed", row->flags & STORE_FLAG_CROSSED);
	json_end_object(j);
}

static bool list_row(void *user, const struct query_row *row)
{
	struct row_page *p = user;
	uint64_t *value;

	put_row(p->rq, row);
	p->r = map_add(&p->seen, row->stack, &value, NULL, p->err);
	if (p->r == 0 && row->free_stack)
		p->r = map_add(&p->seen, row->free_stack, &value, NULL, p->err);
	return p->r == 0 && !request_is_over(p->rq);
}

static void put_stacks(struct row_page *p)
{
	struct json *j = &p->rq->json;

	json_object(j, "stacks");
	for (size_t i = 0; i < p->seen.n_slots; i++) {
		const struct map_slot *s = &p->seen.slot[i];
		const struct frame *f;
		char name[24];

		if (!s->used)
			continue;
		f = v1_json_blame(p->rq, (uint32_t)s->key, p->err);
		if (!f)
			continue;
		snprintf(name, sizeof(name), "%u", (unsigned)s->key);
		v1_json_frame_text(p->rq, name, f);
	}
	json_end_object(j);
}

/* Ends the list of rows and the answer. */
static void end_rows(struct row_page *p, uint64_t n_rows)
{
	struct json *j = &p->rq->json;

	json_end_array(j);
	put_stacks(p);
	json_u64(j, "total_count", n_rows);
	json_end_object(j);
	map_fini(&p->seen);
}

int v1_allocations(struct request *rq, struct err *err)
{
	struct row_page p = {.rq = rq, .err = err};
	struct query_page page = {0};
	uint64_t n_matching = 0;
	int r = request_row_page(rq, N_ROWS, MAX_ROWS, &page, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	json_object(&rq->json, NULL);
	json_array(&rq->json, "allocations");
	r = query_rows(rq->query, &page, list_row, &p, &n_matching, err);
	end_rows(&p, n_matching);
	return r == 0 ? p.r : r;
}

/* ---- one realloc chain ---- */

int v1_chain(struct request *rq, struct err *err)
{
	struct row_page p = {.rq = rq, .err = err};
	struct chains_list list = {.fn = list_row, .user = &p};
	uint64_t row, n_rows = store_n_rows(rq->store);
	char valid[64];
	int r;

	if (!filter_value_count(rq->value[1], &row) || row >= n_rows) {
		snprintf(valid, sizeof(valid), "the id of an allocation: 0 to %llu",
			 (unsigned long long)(n_rows ? n_rows - 1 : 0));
		request_refuse(rq, 404, "row", rq->value[1], valid);
		return err_set(err, ERR_USAGE, "there is no allocation '%.100s'", rq->value[1]);
	}
	r = request_u64(rq, "skip", 0, UINT64_MAX, &list.skip, err);
	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, MAX_ROWS, &list.count, err);
	if (r == 0)
		r = request_make_query(rq, err);
	if (r < 0)
		return r;
	json_object(&rq->json, NULL);
	json_array(&rq->json, "allocations");
	r = chains_of_row(rq->query, row, &list, err);
	end_rows(&p, list.n_rows);
	return r == 0 ? p.r : r;
}
