/* serve/comparison.h - requests that compare their recording with another one: the parameter base.
 *
 * Rows are matched by names (query/compare.h). The filter applies to both recordings, so it must
 * be meaningful in both. Times count from the start of each recording. Conditions that use a
 * number of one recording (a stack, a thread, a mapping) are refused.
 */
#ifndef SERVE_COMPARISON_H
#define SERVE_COMPARISON_H

#include "query/compare.h"
#include "serve/request.h"

/* Finds the recording that the parameter base names, and fills in rq->base. Does nothing without
 * the parameter. On failure rq->refusal has the status: 400 if the route compares nothing, 404 if
 * there is no such recording or it could not be loaded, 503 while it is loading. Waits at most
 * max_ms for a recording that grows. */
int comparison_find(struct request *rq, unsigned max_ms, struct err *err);

/* Makes rq->query and rq->base.query from the parameters, sets `wants` for both (query_want()),
 * and puts both into q. */
int comparison_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
		     struct err *err);

/* The same, with rq->filter as the caller set it. */
int comparison_make_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
			  struct err *err);

/* Refuses a parameter that has no meaning in a comparison. 0: the parameter is not given. */
int comparison_refuse(struct request *rq, const char *parameter, const char *remedy,
		      struct err *err);

/* ---- answers ---- */

/* A field with after - before, which may be negative. */
void comparison_put_change(struct json *j, const char *name, uint64_t before, uint64_t after);

/* An object of type "Change" (schema.c). */
void comparison_put_costs(struct json *j, const char *name, const struct query_group *before,
			  const struct query_group *after);

/* comparison_put_row(): the fields "cost", "before" and "after" of a row. comparison_put_total():
 * the fields "total", "total_before" and "total_after" of an answer. */
void comparison_put_row(struct json *j, const struct query_group cost[COMPARE_N_SIDES]);
int comparison_put_total(struct request *rq, struct query *const q[COMPARE_N_SIDES],
			 struct err *err);

/* The fields self_bytes and so on. */
void comparison_put_self(struct json *j, const uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS]);

/* An object of type "FrameText", with the class that the frame has in its own recording. */
void comparison_put_frame(struct request *rq, const char *name, const struct frame *f,
			  enum compare_side side);

/* v1_compare.c and v1_compare_tree.c: how the routes of handlers.h answer a comparison. */
int comparison_groups(struct request *rq, struct err *err);
int comparison_functions(struct request *rq, struct err *err);
int comparison_callers(struct request *rq, struct err *err);
int comparison_tree(struct request *rq, const struct query_tree_options *o, struct err *err);

#endif
