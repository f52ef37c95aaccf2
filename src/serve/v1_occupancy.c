/* serve/v1_occupancy.c - /api/v1: which cells of the heap's address ranges are in use at a moment
 * (query/occupancy.h).
 */
#include "serve/handlers.h"

#include "query/occupancy.h"

#define N_CELLS 600u
#define SHARE_DECIMALS 6u
#define LEAST_SHARE 0.000001

/* What the last look at the memory map says about an address; "" when nothing. */
static const char *name_of(const struct request *rq, uint64_t addr)
{
	size_t n;
	const struct store_region *m = store_table(rq->store, STORE_REGIONS, &n);

	for (size_t i = 0; i < n; i++) {
		if (addr >= m[i].start && addr < m[i].end)
			return store_string(rq->store, m[i].name, NULL);
	}
	return "";
}

/* Rounded, but 0 only when nothing is used and 1 only when everything is. */
static double share_of(uint64_t used_bytes, uint64_t cell_bytes)
{
	double share = (double)used_bytes / (double)cell_bytes;

	if (used_bytes == 0)
		return 0;
	if (used_bytes >= cell_bytes)
		return 1;
	if (share < LEAST_SHARE)
		return LEAST_SHARE;
	return share > 1 - LEAST_SHARE ? 1 - LEAST_SHARE : share;
}

static void put_range(struct request *rq, const struct occupancy *o,
		      const struct occupancy_range *r)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_hex(j, "start", r->start);
	json_hex(j, "end", r->end);
	json_text(j, "name", name_of(rq, r->start));
	json_u64(j, "blocks", r->n_blocks);
	json_u64(j, "used_bytes", r->used_bytes);
	json_u64(j, "cell_bytes", o->cell_bytes);
	json_array(j, "used");
	for (size_t i = 0; i < r->n_cells; i++)
		json_double(j, NULL,
			    share_of(o->cell[r->first_cell + i], occupancy_cell_bytes(o, r, i)),
			    SHARE_DECIMALS);
	json_end_array(j);
	json_end_object(j);
}

int v1_occupancy(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	struct occupancy o = {0};
	uint64_t at_ns, n_cells;
	int r = request_time(rq, "at", false, store_facts(rq->store)->peak_ns, &at_ns, err);

	if (r == 0)
		r = request_u64(rq, "cells", N_CELLS, OCCUPANCY_MAX_CELLS, &n_cells, err);
	if (r == 0 && n_cells == 0) {
		request_refuse(rq, 400, "cells", "0", "a number from 1 to 65536");
		return err_set(err, ERR_USAGE, "cells: at least one is needed");
	}
	if (r == 0)
		r = request_query(rq, err);
	if (r == 0)
		r = occupancy_at(rq->query, at_ns, (size_t)n_cells, &o, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_u64(j, "at_ns", o.at_ns);
	json_array(j, "regions");
	for (size_t i = 0; i < o.n_ranges; i++)
		put_range(rq, &o, &o.range[i]);
	json_end_array(j);
	json_end_object(j);
	occupancy_fini(&o);
	return 0;
}
