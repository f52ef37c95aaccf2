/* serve/v1_findings.c - /api/v1: what deserves to be looked at first. */
#include "report/findings.h"
#include "serve/handlers.h"
#include "serve/v1_json.h"

#define N_POINTS 120u /* of the graphs */

static void put_points(struct json *j, const char *name, const uint64_t *value, size_t n)
{
	json_array(j, name);
	for (size_t i = 0; value && i < n; i++)
		json_u64(j, NULL, value[i]);
	json_end_array(j);
}

static void put_finding(struct request *rq, const struct finding *f)
{
	char name[FRAME_NAME_BYTES];
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_text(j, "kind", finding_kind_name(f->kind));
	json_text(j, "title", f->title);
	json_text(j, "name", finding_name(f, name));
	json_text(j, "text", f->text);
	json_text(j, "cost", finding_cost_name(f->cost));
	json_u64(j, "value", f->value);
	json_double(j, "share", f->share, 6);
	if (f->blame)
		v1_json_frame_text(rq, "blame", f->blame);
	else
		json_null(j, "blame");
	json_object(j, "filter");
	for (size_t i = 0; i < f->n_conditions; i++)
		json_text(j, f->condition[i].name, f->condition[i].value);
	json_end_object(j);
	json_text(j, "page", f->page);
	put_points(j, "timeline", f->timeline, f->n_points);
	put_points(j, "leaked_timeline", f->leaked_timeline, f->n_points);
	json_end_object(j);
}

/* Remarks are for people who read a report: where nothing is found the GUI says so. */
int v1_findings(struct request *rq, struct err *err)
{
	struct report report = {.context = rq->context, .filter = &rq->filter};
	struct findings findings = {0};
	struct json *j = &rq->json;
	int r = request_query(rq, err);

	report.query = rq->query;
	if (r == 0)
		r = report_make(&report, err);
	if (r == 0)
		r = findings_make(&report, N_POINTS, &findings, err);
	if (r == 0)
		query_used_others(rq->query); /* rules narrow the filter */
	if (r == 0) {
		json_object(j, NULL);
		json_array(j, "findings");
		for (size_t i = 0; i < findings.n; i++) {
			if (findings.finding[i].kind != FINDING_REMARK)
				put_finding(rq, &findings.finding[i]);
		}
		json_end_array(j);
		json_end_object(j);
	}
	findings_fini(&findings);
	report_fini(&report);
	return r;
}
