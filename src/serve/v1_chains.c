/* serve/v1_chains.c - /api/v1: realloc chains by the call site of their first allocation
 * (query/chains.h explains the figures). The allocations of one chain: v1_allocations.c.
 */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <stdlib.h>

#include "query/chains.h"

#define N_ROWS 200u

struct chain_order {
	unsigned sort; /* index of V1_CHAINS_SORT */
	bool is_ascending;
};

static uint64_t rank_of(const struct chains_site *s, unsigned sort)
{
	const uint64_t value[] = {s->copied_bytes, s->n_chains, s->longest,
				  s->n_reallocs,   s->n_moved,  s->max_last_bytes};

	return value[sort];
}

static int compare(const void *a, const void *b, void *user)
{
	const struct chains_site *x = a, *y = b;
	const struct chain_order *o = user;
	uint64_t n = rank_of(x, o->sort), m = rank_of(y, o->sort);

	if (n != m)
		return (n < m) == o->is_ascending ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static uint64_t mean_of(uint64_t sum, uint64_t n)
{
	return n ? sum / n + (sum % n >= n - sum % n) : 0;
}

static int put_site(struct request *rq, const struct chains_site *s, struct err *err)
{
	struct json *j = &rq->json;
	int r = 0;

	json_object(j, NULL);
	json_u64(j, "stack", s->stack);
	if (v1_json_blame(rq, s->stack, err)) {
		r = v1_json_site(rq, s->stack, err);
	} else {
		json_null(j, "blame");
		json_array(j, "callers");
		json_end_array(j);
	}
	json_u64(j, "chains", s->n_chains);
	json_u64(j, "reallocations", s->n_reallocs);
	json_u64(j, "longest", s->longest);
	json_u64(j, "first_bytes", mean_of(s->first_bytes, s->n_chains));
	json_u64(j, "last_bytes", mean_of(s->last_bytes, s->n_chains));
	json_u64(j, "max_last_bytes", s->max_last_bytes);
	json_u64(j, "copied_bytes", s->copied_bytes);
	json_u64(j, "moved", s->n_moved);
	json_u64(j, "remapped", s->n_remapped);
	json_u64(j, "reserve_bytes", s->reserve_bytes);
	json_u64(j, "saved_bytes", s->saved_bytes);
	json_double(j, "saved_share",
		    s->copied_bytes ? (double)s->saved_bytes / (double)s->copied_bytes : 0, 6);
	json_end_object(j);
	return r;
}

int v1_chains(struct request *rq, struct err *err)
{
	struct chain_order order = {0};
	struct json *j = &rq->json;
	struct chains c = {0};
	uint64_t skip, count;
	unsigned direction = 1;
	int r = request_u64(rq, "skip", 0, UINT64_MAX, &skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_ROWS, UINT64_MAX, &count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 1, &direction, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", V1_CHAINS_SORT, 0, &order.sort, err);
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0)
		r = chains_by_site(rq->query, CHAINS_WINDOW_ROWS, &c, err);
	if (r < 0)
		return r;
	order.is_ascending = direction == 0;
	if (c.n_sites)
		qsort_r(c.site, c.n_sites, sizeof(*c.site), compare, &order);
	json_object(j, NULL);
	json_array(j, "rows");
	for (uint64_t i = skip; r == 0 && i < c.n_sites && i - skip < count; i++) {
		if (request_is_over(rq))
			break;
		r = put_site(rq, &c.site[i], err);
	}
	json_end_array(j);
	json_u64(j, "total_count", c.n_sites);
	json_u64(j, "total_chains", c.total.n_chains);
	json_u64(j, "total_reallocations", c.total.n_reallocs);
	json_u64(j, "total_copied_bytes", c.total.copied_bytes);
	json_end_object(j);
	chains_fini(&c);
	return r;
}
