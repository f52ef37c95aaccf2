/* serve/v1_health.c - /api/v1: how far a recording can be trusted. */
#include "report/health.h"
#include "serve/handlers.h"

int v1_health(struct request *rq, struct err *err)
{
	struct health h = {0};
	struct json *j = &rq->json;
	int r = request_filter(rq, err); /* only to refuse a wrong condition */

	if (r == 0)
		r = health_make(rq->store, rq->frames, rq->context.cancel, &h, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "lines");
	for (size_t i = 0; i < h.n_lines; i++) {
		json_object(j, NULL);
		json_text(j, "state", health_state_name(h.line[i].state));
		json_text(j, "title", h.line[i].title);
		json_text(j, "detail", h.line[i].detail);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "facts");
	for (size_t i = 0; i < h.n_facts; i++) {
		json_object(j, NULL);
		json_text(j, "name", h.fact[i].name);
		json_text(j, "value", h.fact[i].value);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	health_fini(&h);
	return 0;
}
