/* serve/v1_requests.c - /api/v1/requests: what is being computed. */
#include <stdlib.h>

#include "serve/handlers.h"

int v1_requests(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	struct running_fact *fact;
	size_t n;
	int r = running_list(rq->running, &fact, &n, err);

	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "requests");
	for (size_t i = 0; i < n; i++) {
		const struct running_fact *f = &fact[i];

		json_object(j, NULL);
		json_u64(j, "number", f->number);
		json_text(j, "path", f->path);
		json_double(j, "seconds", (double)f->age_ns / 1e9, 3);
		json_u64(j, "passes", f->n_passes);
		if (f->n_all)
			json_double(j, "percent", 100.0 * (double)f->n_done / (double)f->n_all, 1);
		else
			json_null(j, "percent");
		json_u64(j, "waiting", f->n_waiting);
		json_bool(j, "is_estimate", f->is_estimate);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	free(fact);
	return 0;
}
