/* serve/data_stacks.c - /backtrace/{n} and /backtraces. */
#include "serve/data_json.h"
#include "serve/handlers.h"

#include "query/filter_value.h"

int data_backtrace(struct request *rq, struct err *err)
{
	uint64_t stack;
	char valid[64];
	int r;

	if (!filter_value_count(rq->value[1], &stack) || !request_has_stack(rq, stack)) {
		snprintf(valid, sizeof(valid), "a number from 0 to %zu",
			 store_n_stacks(rq->store) - 1);
		request_refuse(rq, 404, "n", rq->value[1], valid);
		return err_set(err, ERR_USAGE, "there is no backtrace '%.100s'", rq->value[1]);
	}
	json_object(&rq->json, NULL);
	r = data_json_backtrace(rq, "frames", (uint32_t)stack, err);
	json_end_object(&rq->json);
	return r;
}

/* The stacks of allocations that match; bytehound's has the conditions on stacks only. */
int data_backtraces(struct request *rq, struct err *err)
{
	struct query_groups g = {0};
	struct json *j = &rq->json;
	int r = request_query(rq, err);

	if (r == 0) {
		query_want(rq->query, 0);
		r = query_groups(rq->query, QUERY_BY_STACK, &g, err);
	}
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "backtraces");
	for (size_t i = 0; r == 0 && i < g.n && !request_is_over(rq); i++)
		r = data_json_backtrace(rq, NULL, (uint32_t)g.group[i].key, err);
	json_end_array(j);
	json_u64(j, "total_count", g.n);
	json_end_object(j);
	query_groups_fini(&g);
	return r;
}
