/* query/query_json.h - frames and figures as JSON, in the one shape that reports, exports and the
 * server's /api/v1 share. (The old API has shapes of its own: serve/wire.h.)
 */
#ifndef QUERY_QUERY_JSON_H
#define QUERY_QUERY_JSON_H

#include "query/query.h"
#include "util/json_write.h"

/* An object: function, source, line, module, address, is_inline and class (frame_class_name()); in
 * full also raw_function, column and module_offset. What is not known is null. executable as for
 * frame_class_of(). */
void query_json_frame(struct json *j, const char *name, const struct frame *f,
		      const char *executable, bool in_full);

/* The sums of a group, as fields of the object that is open. */
void query_json_cost(struct json *j, const struct query_group *g);

#endif
