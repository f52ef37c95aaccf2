/* serve/request.h - what a handler gets: the parameters, the recording, and the stream for the
 * answer.
 *
 * A handler runs in its own thread. It writes through rq->json or rq->out and returns 0 or -ERR_x.
 * As long as little has been written, the client gets a status for the error:
 *	ERR_USAGE 400 (or the status of request_refuse()), ERR_MEMORY 503, others 500.
 * If the client hangs up, queries return ERR_CANCELLED and writes fail.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "query/query.h"
#include "serve/answer.h"
#include "serve/registry.h"
#include "serve/route.h"
#include "serve/running.h"
#include "serve/source_file.h"
#include "util/json_write.h"

/* Details for the JSON of an error. The texts are borrowed until the request ends. */
struct refusal {
	unsigned status; /* 0: by the kind of error */
	const char *parameter;
	const char *value;
	char valid[512];
};

/* A backtrace as JSON, kept for the next use: data_json_backtrace(). */
#define REQUEST_N_BACKTRACES 64u
#define REQUEST_BACKTRACE_BYTES 16384u /* a longer text is not kept */
struct request_text {
	char *text; /* NULL: none */
	size_t len;
	uint32_t stack;
};

/* The base of a comparison: comparison.h. The request holds the snapshot until request_fini(). */
struct request_base {
	struct registry_snapshot *snapshot;
	const char *id;
	const char *file_name;
	struct query_context context; /* store is NULL: no comparison */
	struct frame_rules rules;
	struct query *query; /* made by comparison_query() */
};

struct request {
	const struct route *route;
	struct url url;
	const char *value[ROUTE_MAX_VALUES]; /* the values of {id} and so on */
	bool is_trusted; /* has the token, or needs none; only open routes run without */
	struct registry *registry; /* NULL: no server, see offline.h */
	struct running *running; /* the server's; NULL: no server */
	const struct source_rules *sources; /* where source files are; NULL: no source file is
					     * read */
	struct registry_entry *item; /* NULL: the route has no {id} */
	const char *id; /* of the recording */
	const char *file_name; /* the recording's file without folders; NULL: none */
	struct registry_snapshot *snapshot; /* of the item; held until request_fini(), as store and
					     * frames */
	const struct store *store;
	struct frames *frames;
	struct query_context context;
	struct frame_rules rules; /* of the recording, with own_regex */
	struct filter filter;
	struct query *query; /* made by request_query() */
	struct request_base base;
	struct script_files *script_files; /* of the server; NULL: no server */
	char *body; /* of a POST, with a zero byte behind it; owned; NULL: none */
	size_t body_len;
	struct answer *answer;
	FILE *out;
	struct json json;
	struct refusal refusal;
	struct request_text backtrace[REQUEST_N_BACKTRACES]; /* slot: stack %
							      * REQUEST_N_BACKTRACES */
};

/* Does the request compare its recording with another one? */
static inline bool request_is_comparison(const struct request *rq)
{
	return rq->base.context.store != NULL;
}

/* request_init() takes ownership of *url. */
void request_init(struct request *rq, const struct route *route, struct url *url);
void request_fini(struct request *rq);

/* Runs the handler, with the frame rules that the parameters ask for. */
int request_handle(struct request *rq, struct err *err);

/* Runs the handler and finishes the answer. Writes the error if there is one. Returns how many
 * nanoseconds of processor time its thread took. */
uint64_t request_run(struct request *rq);

/* request_filter() sets rq->filter from the parameters. request_make_query() makes rq->query from
 * rq->filter. A handler may add its own conditions to the filter between the two. */
int request_filter(struct request *rq, struct err *err);
int request_make_query(struct request *rq, struct err *err);
int request_query(struct request *rq, struct err *err); /* both */

/* The value of a parameter; preset if it is not given. ERR_USAGE: the value is not valid. */
int request_u64(struct request *rq, const char *name, uint64_t preset, uint64_t max, uint64_t *ret,
		struct err *err);
int request_flag(struct request *rq, const char *name, bool preset, bool *ret, struct err *err);

/* choices: "a|b|c". *ret becomes the index of the given choice. */
int request_choice(struct request *rq, const char *name, const char *choices, unsigned preset,
		   unsigned *ret, struct err *err);

/* Reads skip, count and order. */
int request_page(struct request *rq, struct query_page *ret, struct err *err);

/* The same for allocations, with sort_by. n_preset: the count if none is given. n_max: the largest
 * count. */
#define REQUEST_ROW_SORT                                                                           \
	"timestamp|address|size|lifetime|usable|released|kind|chain_length|thread|stack"
int request_row_page(struct request *rq, uint64_t n_preset, uint64_t n_max, struct query_page *ret,
		     struct err *err);

/* A moment, in the grammar of filters, in nanoseconds since the start; preset if it is not
 * given. */
int request_time(struct request *rq, const char *name, bool is_upper, uint64_t preset,
		 uint64_t *ret, struct err *err);

/* Sets the details of an error: the status (0: by the kind of error), the parameter, its value and
 * the valid values. Texts may be NULL. Returns -ERR_USAGE; the caller sets the error text. */
int request_refuse(struct request *rq, unsigned status, const char *parameter, const char *value,
		   const char *valid);

/* Has the client gone, or did the stream fail? For handlers that write much. */
bool request_is_over(const struct request *rq);

/* Writes {"error", "parameter", "value", "valid"} to out. r may be NULL. */
void request_write_error(FILE *out, const char *text, const struct refusal *r);

/* A moment of the recording in nanoseconds since 1970. */
uint64_t request_unix_ns(const struct request *rq, uint64_t at_ns);

/* Is this the number of a stack of the store? */
bool request_has_stack(const struct request *rq, uint64_t stack);

#endif
