/* serve/comparison.h - requests that compare their recording with another one: the parameter base.
 *
 * Rows are matched by names (query/compare.h). The filter holds for both recordings, so it must mean something
 * in both: times count from the start of each recording, and conditions that name things by a number of one
 * recording (stacks, threads, mappings) are refused.
 */
#ifndef SERVE_COMPARISON_H
#define SERVE_COMPARISON_H

#include "query/compare.h"
#include "serve/request.h"

/* Finds the recording that the parameter base names and fills in rq->base; nothing is done without the
 * parameter. On failure rq->refusal has the status: 400 when the route compares nothing, 404 when there is
 * no such recording or it could not be loaded, 503 while it is loading. Waits at most max_ms for news of
 * a recording that grows. */
int comparison_find(struct request *rq, unsigned max_ms, struct err *err);

/* Makes rq->query and rq->base.query from the parameters, both with what `wants` says (query_want()), and
 * puts the two into q. */
int comparison_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
		     struct err *err);

/* The same for a filter that is set already. */
int comparison_make_query(struct request *rq, unsigned wants, struct query *q[COMPARE_N_SIDES],
			  struct err *err);

/* Refuses a parameter that has no meaning in a comparison, if it is given. */
int comparison_refuse(struct request *rq, const char *parameter, const char *remedy,
		      struct err *err);

/* ---- answers ---- */

/* after - before, which may be negative. */
void comparison_put_change(struct json *j, const char *name, uint64_t before, uint64_t after);

/* "Change" of schema.c. */
void comparison_put_costs(struct json *j, const char *name, const struct query_group *before,
			  const struct query_group *after);

/* "cost", "before" and "after" of a row; and "total", "total_before" and "total_after" of an answer. */
void comparison_put_row(struct json *j, const struct query_group cost[COMPARE_N_SIDES]);
int comparison_put_total(struct request *rq, struct query *const q[COMPARE_N_SIDES],
			 struct err *err);

/* self_bytes and so on. */
void comparison_put_self(struct json *j, const uint64_t self[COMPARE_N_SIDES][QUERY_N_MAIN_COSTS]);

/* "FrameText" with the class that the frame has in its own recording. */
void comparison_put_frame(struct request *rq, const char *name, const struct frame *f,
			  enum compare_side side);

/* v1_compare.c and v1_compare_tree.c: the routes of handlers.h as comparisons. */
int comparison_groups(struct request *rq, struct err *err);
int comparison_functions(struct request *rq, struct err *err);
int comparison_callers(struct request *rq, struct err *err);
int comparison_tree(struct request *rq, const struct query_tree_options *o, struct err *err);

#endif
