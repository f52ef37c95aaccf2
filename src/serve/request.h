/* serve/request.h - what a handler gets: the parameters, the recording, and the place to write to.
 *
 * A handler runs in a thread of its own. It writes through rq->json or rq->out and returns 0, or an
 * error; as long as little has been written the client gets a status for it:
 *	ERR_USAGE 400 (or what request_refuse() says), ERR_MEMORY 503, others 500.
 * A client that hangs up makes queries return ERR_CANCELLED and writes fail.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "query/query.h"
#include "serve/answer.h"
#include "serve/registry.h"
#include "serve/route.h"
#include "serve/source_file.h"
#include "util/json_write.h"

/* For the JSON of an error. Texts are borrowed until the request ends. */
struct refusal {
	unsigned status; /* 0: by the kind of error */
	const char *parameter;
	const char *value;
	char valid[512];
};

/* A backtrace as JSON, kept for the next time: see data_json_backtrace(). */
#define REQUEST_N_BACKTRACES 64u
#define REQUEST_BACKTRACE_BYTES 16384u /* at most; longer ones are not kept */
struct request_text {
	char *text; /* NULL: none */
	size_t len;
	uint32_t stack;
};

/* The recording before, of a comparison; comparison.h. Ours until request_fini(). */
struct request_base {
	struct registry_snapshot *snapshot;
	const char *id;
	const char *file_name;
	struct query_context context; /* store NULL: this is no comparison */
	struct frame_rules rules;
	struct query *query; /* made by comparison_query() */
};

struct request {
	const struct route *route;
	struct url url;
	const char *value[ROUTE_MAX_VALUES]; /* for {id} and so on */
	bool is_trusted; /* carries the token, or none is needed; routes that are open may lack it */
	struct registry *registry; /* NULL: an answer without a server, see offline.h */
	const struct source_rules *sources; /* where source files are; NULL: none is read */
	struct registry_entry *item; /* NULL when the route has no {id} */
	const char *id; /* of the recording, and ... */
	const char *file_name; /* ... its file, without folders; NULL when there is none */
	struct registry_snapshot *snapshot; /* of the item, ours until request_fini() ... */
	const struct store *store; /* ... and so are these */
	struct frames *frames;
	struct query_context context;
	struct frame_rules rules; /* of the recording and own_regex; what frames are shown with */
	struct filter filter;
	struct query *query; /* made by request_query() */
	struct request_base base;
	struct answer *answer;
	FILE *out;
	struct json json;
	struct refusal refusal;
	struct request_text backtrace[REQUEST_N_BACKTRACES]; /* stack % their number */
};

/* Does the request compare its recording with another? */
static inline bool request_is_comparison(const struct request *rq)
{
	return rq->base.context.store != NULL;
}

/* Both ends of a request's life. The url is moved in. */
void request_init(struct request *rq, const struct route *route, struct url *url);
void request_fini(struct request *rq);

/* Runs the handler, with the rules that the parameters ask for. */
int request_handle(struct request *rq, struct err *err);

/* The same, and finishes the answer; writes the error if there is one. */
void request_run(struct request *rq);

/* Sets rq->filter from the parameters, and the query. Conditions that the handler itself wants go
 * into the filter between the two. */
int request_filter(struct request *rq, struct err *err);
int request_make_query(struct request *rq, struct err *err);
int request_query(struct request *rq, struct err *err); /* both */

/* The value of a parameter, or the default where it is not given. */
int request_u64(struct request *rq, const char *name, uint64_t preset, uint64_t max, uint64_t *ret,
		struct err *err);
int request_flag(struct request *rq, const char *name, bool preset, bool *ret, struct err *err);

/* choices: "a|b|c"; *ret is the index of the one given. */
int request_choice(struct request *rq, const char *name, const char *choices, unsigned preset,
		   unsigned *ret, struct err *err);

/* skip, count, order. */
int request_page(struct request *rq, struct query_page *ret, struct err *err);

/* The same of allocations, and sort_by; so many if count is not given, and at most. */
#define REQUEST_ROW_SORT                                                                           \
	"timestamp|address|size|lifetime|usable|released|kind|chain_length|thread|stack"
int request_row_page(struct request *rq, uint64_t n_preset, uint64_t n_max, struct query_page *ret,
		     struct err *err);

/* A moment, as filters take it, in nanoseconds since the start; preset when it is not given. */
int request_time(struct request *rq, const char *name, bool is_upper, uint64_t preset,
		 uint64_t *ret, struct err *err);

/* Says what the error is about: status (0: by the kind of error), the parameter, its value and what
 * would be right; any may be NULL. Returns -ERR_USAGE; the caller sets the text. */
int request_refuse(struct request *rq, unsigned status, const char *parameter, const char *value,
		   const char *valid);

/* Did the client go, or the stream fail? For handlers that write much. */
bool request_is_over(const struct request *rq);

/* Writes {"error", "parameter", "value", "valid"} to out. r may be NULL. */
void request_write_error(FILE *out, const char *text, const struct refusal *r);

/* A moment of the recording in nanoseconds since 1970. */
uint64_t request_unix_ns(const struct request *rq, uint64_t at_ns);

/* Is it the number of a stack of the store? */
bool request_has_stack(const struct request *rq, uint64_t stack);

#endif
