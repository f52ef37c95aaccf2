/* query/query_json.h - frames and figures as JSON, in the shape that reports, exports and the
 * server's /api/v1 share. (The old API has its own shapes: serve/data_json.h.)
 */
#ifndef QUERY_QUERY_JSON_H
#define QUERY_QUERY_JSON_H

#include "query/frame_class.h"
#include "query/query.h"
#include "util/json_write.h"

/* An object: function, source, line, module, address, is_inline, class (frame_class_name()) and
 * package; in_full adds raw_function, column and module_offset. A value that is not known is
 * null. */
void query_json_frame(struct json *j, const char *name, const struct frame *f,
		      enum frame_class class, bool in_full);

/* The same, not in full, for a run of frames. f is one of the frames. The title replaces function,
 * source and line. */
void query_json_run(struct json *j, const char *name, const struct frame *f, enum frame_class class,
		    const char *title);

/* Adds the sums of a group as fields of the open object. */
void query_json_cost(struct json *j, const struct query_group *g);

/* The same fields for a comparison: after - before, which may be negative. */
void query_json_cost_change(struct json *j, const struct query_group *before,
			    const struct query_group *after);

#endif
