/* query/query_json.h - frames and figures as JSON, in the one shape that reports, exports and the
 * server's /api/v1 share. (The old API has shapes of its own: serve/wire.h.)
 */
#ifndef QUERY_QUERY_JSON_H
#define QUERY_QUERY_JSON_H

#include "query/frame_class.h"
#include "query/query.h"
#include "util/json_write.h"

/* An object: function, source, line, module, address, is_inline, class (frame_class_name()) and package;
 * in full also raw_function, column and module_offset. What is not known is null. */
void query_json_frame(struct json *j, const char *name, const struct frame *f,
		      enum frame_class class, bool in_full);

/* The same, not in full, of a run of frames of which f is one: the title stands for function, source
 * and line. */
void query_json_run(struct json *j, const char *name, const struct frame *f, enum frame_class class,
		    const char *title);

/* The sums of a group, as fields of the object that is open. */
void query_json_cost(struct json *j, const struct query_group *g);

/* The same fields of a comparison: after - before, which may be negative. */
void query_json_cost_change(struct json *j, const struct query_group *before,
			    const struct query_group *after);

#endif
