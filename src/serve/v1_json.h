/* serve/v1_json.h - parts of the answers of /api/v1, in the shapes of schema.c.
 *
 * Numbers from a store's columns (stacks, threads) may be wrong in a damaged store. These
 * functions check the numbers.
 */
#ifndef SERVE_V1_JSON_H
#define SERVE_V1_JSON_H

#include "query/by_function.h"
#include "serve/request.h"

/* An object of type "FrameText" (schema.c): what a person needs to recognise a frame. */
void v1_json_frame_text(struct request *rq, const char *name, const struct frame *f);

/* The same for a run of folded frames. f: one of the frames, for module and package, or NULL. */
void v1_json_run_text(struct request *rq, const char *name, const struct frame *f,
		      const char *title);

/* The frame to blame, as frame_class_blame(). NULL also if there is no such stack. */
const struct frame *v1_json_blame(struct request *rq, uint32_t stack, struct err *err);

/* The fields "blame", "callers" and "called" of a call site: the frame to blame, its callers (at
 * most V1_JSON_MAX_CALLERS frames), and the frame that the blame frame called, unless the blame frame
 * is the innermost. A stack without a frame has none of these fields. */
#define V1_JSON_MAX_CALLERS 8u
int v1_json_site(struct request *rq, uint32_t stack, struct err *err);

/* The name of a group: query_group_name(), or the name of a thread. NULL: none. */
const char *v1_json_group_name(struct request *rq, enum query_group_by by, uint64_t key);

/* An array of numbers. */
void v1_json_numbers(struct json *j, const char *name, const uint64_t *value, size_t n);

/* An object of type "Cost" (schema.c). */
void v1_json_cost(struct json *j, const char *name, const struct query_group *g);

/* How long an allocation of the group lived on average. False: that is not known, because none was freed,
 * or because some were culled. */
bool v1_mean_lifetime(const struct query_group *g, uint64_t *ret);

/* How many allocations of the group were culled, and how long one lived. */
void v1_json_lifetime(struct json *j, const struct query_group *g);

/* The costs without callees, as fields of the open object: self_bytes and so on. */
void v1_json_self(struct json *j, const uint64_t self[QUERY_N_MAIN_COSTS]);

/* An array of "LineCost". has_source: the lines are of several files. */
void v1_json_lines(struct json *j, const char *name, const struct query_lines *l, bool has_source);

#endif
