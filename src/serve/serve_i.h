/* serve/serve_i.h - private to serve.c, serve_send.c and serve_jobs.c: a server, a request while
 * libmicrohttpd has it, and the job that computes the answer.
 *
 *	serve.c        judges a request: who asks, what, of which recording
 *	serve_jobs.c   starts the job, or shares one that runs; estimates
 *	serve_send.c   makes responses, also of answers in the cache
 */
#ifndef SERVE_SERVE_I_H
#define SERVE_SERVE_I_H

#include <microhttpd.h>
#include <pthread.h>

#include "serve/access.h"
#include "serve/answer_cache.h"
#include "serve/connections.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/route_costs.h"
#include "serve/running.h"
#include "serve/script_files.h"
#include "serve/serve.h"

#define SERVE_URL_BYTES 128
#define SERVE_SILENCE_S 60u /* a connection on which nothing moves is closed */
#define SERVE_BLOCK_BYTES 32768u /* of MHD when it sends */

struct server {
	struct MHD_Daemon *daemon;
	struct registry *registry;
	struct compute_slots *slots;
	struct answer_cache *cache;
	struct connections *connections;
	struct route_costs *costs;
	struct running *running;
	struct script_files *script_files;
	pthread_mutex_t start_lock; /* held from looking for a job with a key until it runs */
	struct access_rules rules;
	struct source_rules sources;
	struct listening listening;
	char url[SERVE_URL_BYTES];
	pthread_mutex_t lock; /* guards n_makers */
	pthread_cond_t changed;
	unsigned n_makers;
};

/* A request while MHD has it. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct connection *client; /* NULL: no memory for it */
	char *target; /* path and query as sent; NULL: no memory */
	bool was_seen; /* MHD calls twice: headers, then end of the body */
	int fd;
	char *body; /* of a POST, as far as it has come; NULL: none */
	size_t body_len;
	char *key; /* of the cache; NULL: not kept */
	char etag[40]; /* "": none */
	bool is_gui; /* the answer is a file of the GUI */
	bool is_sandbox; /* ROUTE_SANDBOX */
	bool is_trusted; /* has the token where one is needed */
	const char *origin; /* CORS: the foreign origin that is allowed; NULL: none */
	struct answer *answer; /* the sender's reference */
};

struct job {
	struct server *server;
	struct request request;
	char *key; /* NULL: not for the cache */
	uint64_t kind; /* route_costs.h */
	unsigned first_ms; /* the client takes an estimate after so long; 0: it does not */
	struct running_job running;
	struct query_turn turn; /* of the answer */
};

/* ---- serve_send.c ---- */

/* What every answer carries. type: NULL: no body. */
void serve_add_headers(const struct exchange *x, struct MHD_Response *r, const char *type);
void serve_add_header(struct MHD_Response *r, const char *name, const char *value); /* or NULL */
enum MHD_Result serve_send_and_drop(struct exchange *x, unsigned status, struct MHD_Response *r);

/* An error. refusal: what the error is about, or NULL; name and value: a header, or NULL. */
enum MHD_Result serve_send_refusal(struct exchange *x, unsigned status, const char *text,
				   const struct refusal *refusal, const char *name,
				   const char *value);
enum MHD_Result serve_send_error(struct exchange *x, unsigned status, const char *text,
				 const char *name, const char *value);

/* Waiting for our own computing is not the client's silence: the time of silence begins anew. */
void serve_forget_silence(struct exchange *x);

/* Sends what the job of x->answer makes. */
enum MHD_Result serve_send_answer(struct exchange *x);

/* MHD_NO and *is_sent false: it is not in the cache. */
enum MHD_Result serve_send_cached(struct exchange *x, bool *is_sent);

/* Everything that the answer depends on, but for the encoding: owned; NULL: no memory. */
char *serve_make_key(const struct request *rq);
void serve_make_etag(struct exchange *x, const char *key);
void serve_finish_key(struct exchange *x, char *key, enum encoding e); /* takes key over */
bool serve_is_known_to_client(const struct exchange *x);

/* ---- serve_jobs.c ---- */

/* Answers from a job. Takes job over. */
enum MHD_Result serve_run(struct exchange *x, struct job *job, enum encoding encoding);
void serve_discard_job(struct job *job); /* one that was never started */

#endif
