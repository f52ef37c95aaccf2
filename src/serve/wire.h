/* serve/wire.h - the pieces that many answers are made of, in the shapes of the old API.
 *
 * Numbers that come from a store's columns (stacks, threads, chains) may be nonsense in a damaged
 * one: these functions check them.
 */
#ifndef SERVE_WIRE_H
#define SERVE_WIRE_H

#include "serve/request.h"

/* {"secs", "fract_nsecs"} */
void wire_timeval(struct json *j, const char *name, uint64_t ns);

/* A moment of the recording in three fields: name (since 1970), name_relative (since the start) and
 * name_relative_p (percent of the run). */
void wire_moment(struct request *rq, const char *name, uint64_t at_ns);
uint64_t wire_unix_ns(const struct request *rq, uint64_t at_ns);

bool wire_has_stack(const struct request *rq, uint64_t stack);

/* Calls fn for the frames of a stack, outermost first. */
int wire_each_frame(struct request *rq, uint32_t stack,
		    void (*fn)(struct request *rq, const struct frame *f), struct err *err);

/* Frames as the old API shows them. rq's parameter strip_template_args is heeded. */
void wire_frame(struct request *rq, const char *name, const struct frame *f);
int wire_backtrace(struct request *rq, const char *name, uint32_t stack, struct err *err);

/* What a route that shows frames takes. */
#define WIRE_STRIP_PARAMETER                                                                       \
	{                                                                                          \
		"strip_template_args", "choice", "false|true",                                     \
			"shorten names of functions: no template arguments"                        \
	}

/* ---- /api/v1 ---- */

/* "FrameText" of schema.c: what a person needs to recognise a frame. */
void wire_frame_text(struct request *rq, const char *name, const struct frame *f);

/* The same of a run of folded frames; f: one of them, for image and package, or NULL. */
void wire_run_text(struct request *rq, const char *name, const struct frame *f, const char *title);

/* frame_class_blame(). NULL also for a wrong number. */
const struct frame *wire_blame(struct request *rq, uint32_t stack, struct err *err);

/* The fields "blame", "callers" and "called" of a call site: the frame to blame, what called it, at most
 * WIRE_MAX_CALLERS frames, and what it called itself, unless it is the innermost. A stack without a frame
 * has none of them. */
#define WIRE_MAX_CALLERS 8u
int wire_site(struct request *rq, uint32_t stack, struct err *err);

/* The name of a group as query_group_name(), and of a thread; NULL: none. */
const char *wire_group_name(struct request *rq, enum query_group_by by, uint64_t key);

/* An array of numbers. */
void wire_numbers(struct json *j, const char *name, const uint64_t *value, size_t n);

/* "Cost" of schema.c. */
void wire_cost(struct json *j, const char *name, const struct query_group *g);

/* The costs without callees, as fields of the object that is open: self_bytes and so on. */
void wire_self(struct json *j, const uint64_t self[QUERY_N_MAIN_COSTS]);

/* An array of "LineCost"; has_source: of several files. */
void wire_lines(struct json *j, const char *name, const struct query_lines *l, bool has_source);

#endif
