/* serve/data_json.h - parts of answers in the shapes of the old API (/data/...).
 *
 * Numbers from a store's columns (stacks, threads, chains) may be wrong in a damaged store. These
 * functions check the numbers.
 */
#ifndef SERVE_DATA_JSON_H
#define SERVE_DATA_JSON_H

#include "serve/request.h"

/* {"secs", "fract_nsecs"} */
void data_json_timeval(struct json *j, const char *name, uint64_t ns);

/* A moment of the recording as three fields: name (since 1970), name_relative (since the start)
 * and name_relative_p (percent of the run). */
void data_json_moment(struct request *rq, const char *name, uint64_t at_ns);
/* Calls fn for the frames of a stack, outermost first. */
int data_json_each_frame(struct request *rq, uint32_t stack,
			 void (*fn)(struct request *rq, const struct frame *f), struct err *err);

/* Frames in the shape of the old API. Both apply the request's parameter strip_template_args. */
void data_json_frame(struct request *rq, const char *name, const struct frame *f);
int data_json_backtrace(struct request *rq, const char *name, uint32_t stack, struct err *err);

/* The parameter of each route that shows frames. */
#define DATA_JSON_STRIP_PARAMETER                                                                  \
	{                                                                                          \
		"strip_template_args", "choice", "false|true",                                     \
			"shorten names of functions: no template arguments"                        \
	}

#endif
