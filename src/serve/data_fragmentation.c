/* serve/data_fragmentation.c - /fragmentation_timeline: how far the main heap is spread out.
 *
 * As in 2021: the span from the lowest to the highest address of live blocks in the main arena,
 * less the bytes in use; here at up to 1000 moments.
 */
#include "serve/handlers.h"

#include <stdlib.h>

#include "query/fragmentation.h"

#define MAX_MOMENTS 1000u
#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

static void put_points(struct request *rq, const struct fragmentation_point *p, size_t n,
		       uint64_t unit_ns)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_array(j, "xs");
	for (size_t i = 0; i < n; i++)
		json_u64(j, NULL, request_unix_ns(rq, p[i].at_ns) / unit_ns);
	json_end_array(j);
	json_array(j, "fragmentation");
	for (size_t i = 0; i < n; i++) {
		uint64_t span = p[i].n_blocks ? p[i].end_addr - p[i].lowest_addr : 0;

		json_u64(j, NULL, span > p[i].requested_bytes ? span - p[i].requested_bytes : 0);
	}
	json_end_array(j);
	json_end_object(j);
}

int data_fragmentation(struct request *rq, struct err *err)
{
	uint64_t duration = store_facts(rq->store)->duration_ns;
	struct fragmentation_point *point;
	uint64_t unit_ns, step_ns;
	unsigned unit;
	size_t n;
	int r = request_choice(rq, "resolution", "ms|s", 0, &unit, err);

	if (r == 0)
		r = request_filter(rq, err);
	rq->filter.main_arena = FILTER_YES;
	if (r == 0)
		r = request_make_query(rq, err);
	if (r < 0)
		return r;
	unit_ns = step_ns = unit ? NS_PER_S : NS_PER_MS;
	if (duration / step_ns >= MAX_MOMENTS)
		step_ns = (duration / (MAX_MOMENTS - 1) / unit_ns + 1) * unit_ns;
	n = (size_t)(duration / step_ns) + 1;
	point = calloc(n, sizeof(*point));
	if (!point)
		return err_set_memory(err, n * sizeof(*point));
	r = fragmentation_timeline(rq->query, 0, step_ns, n, point, err);
	if (r == 0)
		put_points(rq, point, n, unit_ns);
	free(point);
	return r;
}
