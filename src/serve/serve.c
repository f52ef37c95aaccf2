/* serve/serve.c - the HTTP side: from a request's headers to a response (see serve.h).
 *
 * libmicrohttpd gives a thread to each connection. That thread judges the request, starts a maker
 * (request.h) in another thread, and then sends what the maker writes. It may block, so it can also
 * look at its socket while it waits, which is how a client's hanging up reaches a long query.
 */
#include "serve/serve.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "serve/access.h"
#include "serve/answer_cache.h"
#include "serve/comparison.h"
#include "serve/connections.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/route_costs.h"

#define MAX_CONNECTIONS 256u
#define MAX_CONNECTIONS_PER_ADDRESS 192u
#define MAX_MHD_CONNECTIONS 1024u /* more than ours: connections.h decides which one must go */
#define REQUEST_S 20u /* a request must arrive within so long */
#define MAX_HEADER_BYTES (32u << 10) /* of a request, and MHD's buffer for a connection */
#define SILENCE_S 60u /* a connection on which nothing moves is closed */
#define CACHE_BYTES (48u << 20)
#define LOADING_WAIT_MS 60000u /* ROUTE_WAITS */
#define FRESH_WAIT_MS                                                                              \
	500u /* for what a recording that grows has more; else it is in the next answer */
#define BLOCK_BYTES 32768u /* of MHD when it sends */
#define URL_BYTES 128

struct server {
	struct MHD_Daemon *daemon;
	struct registry *registry;
	struct compute_slots *slots;
	struct answer_cache *cache;
	struct connections *connections;
	struct route_costs *costs;
	struct access_rules rules;
	struct source_rules sources;
	struct listening listening;
	char url[URL_BYTES];
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
	char *key; /* of the cache; NULL: not kept */
	char etag[40]; /* "": none */
	bool is_gui; /* the answer is a file of the GUI */
	bool is_trusted; /* has the token where one is needed */
	const char *origin; /* CORS: the foreign origin that is allowed; NULL: none */
	struct answer *answer; /* the sender's reference */
};

/* ---- responses ---- */

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
	if (value)
		MHD_add_response_header(r, name, value);
}

/* Exported flame graphs and reports have inline scripts and need no network: a script that a name
 * smuggled in could not read the API. The GUI is the reverse: its own files only, which may ask. */
#define EXPORT_POLICY                                                                              \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "              \
	"img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
#define GUI_POLICY                                                                                 \
	"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "            \
	"img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; "           \
	"frame-ancestors 'none'"

/* What every answer carries. */
static void add_common_headers(const struct exchange *x, struct MHD_Response *r, const char *type)
{
	add_header(r, "Content-Type", type);
	add_header(r, "X-Content-Type-Options", "nosniff");
	add_header(r, "Referrer-Policy", "no-referrer");
	add_header(r, "X-Frame-Options", "DENY");
	add_header(r, "Cross-Origin-Resource-Policy", x->origin ? "cross-origin" : "same-origin");
	add_header(r, "Content-Security-Policy", x->is_gui ? GUI_POLICY : EXPORT_POLICY);
	add_header(r, "Vary", "Accept-Encoding, Origin");
	if (x->origin) {
		add_header(r, "Access-Control-Allow-Origin", x->origin);
		add_header(r, "Access-Control-Expose-Headers", "ETag");
	}
}

static enum MHD_Result send_and_drop(struct exchange *x, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	add_header(r, "Cache-Control", x->etag[0] ? "no-cache" : "no-store");
	if (x->etag[0] && (status == 200 || status == 304))
		add_header(r, "ETag", x->etag);
	ok = MHD_queue_response(x->connection, status, r);
	MHD_destroy_response(r);
	return ok;
}

/* An error, with one header more where name is given. */
/* refusal: what the error is about, or NULL; name and value: a header, or NULL. */
static enum MHD_Result send_refusal(struct exchange *x, unsigned status, const char *text,
				    const struct refusal *refusal, const char *name,
				    const char *value)
{
	struct MHD_Response *r;
	char *body = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&body, &len);

	x->etag[0] = '\0';
	if (!out)
		return MHD_NO;
	request_write_error(out, text, refusal);
	if (fclose(out) != 0) {
		free(body);
		return MHD_NO;
	}
	r = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(body);
		return MHD_NO;
	}
	add_common_headers(x, r, "application/json");
	add_header(r, name ? name : "X-Content-Type-Options", name ? value : NULL);
	return send_and_drop(x, status, r);
}

static enum MHD_Result send_error(struct exchange *x, unsigned status, const char *text,
				  const char *name, const char *value)
{
	return send_refusal(x, status, text, NULL, name, value);
}

/* Waiting for our own computing is not the client's silence: the time of silence begins anew. MHD
 * starts the time again only if there was no limit before. */
static void forget_silence(struct exchange *x)
{
	MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, SILENCE_S);
}

static ssize_t take(void *user, uint64_t at, char *buf, size_t max)
{
	struct exchange *x = user;
	ssize_t n = answer_take(x->answer, x->fd, buf, max);

	(void)at;
	forget_silence(x);
	return n > 0    ? n
	       : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
			: MHD_CONTENT_READER_END_WITH_ERROR;
}

static struct MHD_Response *response_of_answer(struct exchange *x)
{
	struct MHD_Response *r;
	size_t len, at = 0;
	char *body;

	if (!answer_is_whole(x->answer, &len))
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, take, x,
							 NULL);
	body = malloc(len + 1);
	if (!body)
		return NULL;
	while (at < len) {
		ssize_t n = answer_take(x->answer, -1, body + at, len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	r = MHD_create_response_from_buffer(at, body, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(body);
	return r;
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct answer *a = x->answer;
	struct MHD_Response *r;
	char disposition[160];

	if (!answer_wait(a, x->fd))
		return MHD_NO;
	forget_silence(x);
	r = response_of_answer(x);
	if (!r)
		return MHD_NO;
	add_common_headers(x, r, answer_type(a));
	add_header(r, "Content-Encoding", encoding_name(answer_encoding(a)));
	if (answer_file_name(a)) {
		snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			 answer_file_name(a));
		add_header(r, "Content-Disposition", disposition);
	}
	if (answer_status(a) == 503)
		add_header(r, "Retry-After", "1");
	return send_and_drop(x, answer_status(a), r);
}

/* ---- cache ---- */

struct cache_use {
	struct answer_cache *cache;
	const struct cached *what;
};

static void release_cached(void *user)
{
	struct cache_use *u = user;

	answer_cache_release(u->cache, u->what);
	free(u);
}

/* MHD_NO and *is_sent false: it is not there. */
static enum MHD_Result send_cached(struct exchange *x, bool *is_sent)
{
	struct cache_use *u = malloc(sizeof(*u));
	struct MHD_Response *r;

	*is_sent = false;
	if (!u)
		return MHD_NO;
	u->cache = x->server->cache;
	u->what = answer_cache_find(u->cache, x->key);
	if (!u->what) {
		free(u);
		return MHD_NO;
	}
	r = MHD_create_response_from_buffer_with_free_callback_cls(u->what->len, u->what->body,
								   release_cached, u);
	if (!r) {
		release_cached(u);
		return MHD_NO;
	}
	*is_sent = true;
	add_common_headers(x, r, u->what->content_type);
	add_header(r, "Content-Encoding", encoding_name((enum encoding)u->what->encoding));
	return send_and_drop(x, 200, r);
}

/* Everything that the answer depends on, but for the encoding. */
static char *make_key(const struct request *rq)
{
	const struct store_identity *id = rq->store ? store_identity(rq->store) : NULL;
	const struct store *before = rq->base.context.store;
	const struct store_identity *base = before ? store_identity(before) : NULL;
	char *key = NULL;
	size_t len;
	FILE *out = open_memstream(&key, &len);

	if (!out)
		return NULL;
	fputs(MEMORY_PROFILER_VERSION, out);
	if (id)
		fprintf(out, "\n%s %llx %llx", registry_id(rq->item),
			(unsigned long long)id->size_bytes, (unsigned long long)id->changed_ns);
	if (base)
		fprintf(out, "\n%s %llx %llx", rq->base.id, (unsigned long long)base->size_bytes,
			(unsigned long long)base->changed_ns);
	for (size_t i = 0; i < rq->url.n_segments; i++) {
		if (rq->url.segment[i] != rq->value[0] || !id) /* "last" is the same as its id */
			fprintf(out, "\n%s", rq->url.segment[i]);
	}
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		if (strcmp(rq->url.pair[i].name, "token") != 0)
			fprintf(out, "\n%s=%s", rq->url.pair[i].name, rq->url.pair[i].value);
	}
	if (fclose(out) != 0) {
		free(key);
		return NULL;
	}
	return key;
}

static void make_etag(struct exchange *x, const char *key)
{
	uint64_t h[2] = {3, 5};

	for (; *key; key++) {
		h[0] = hash_pair64(h[0], (unsigned char)*key);
		h[1] = hash_pair64((unsigned char)*key, h[1]);
	}
	snprintf(x->etag, sizeof(x->etag), "W/\"%016llx%08llx\"", (unsigned long long)h[0],
		 (unsigned long long)(h[1] & UINT32_MAX));
}

/* Once more with the encoding in it. */
static void finish_key(struct exchange *x, char *key, enum encoding e)
{
	size_t len = strlen(key) + 16;

	x->key = malloc(len);
	if (x->key)
		snprintf(x->key, len, "%d\n%s", (int)e, key);
	free(key);
}

static bool is_known_to_client(const struct exchange *x)
{
	const char *tags =
		MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "If-None-Match");

	/* W/ does not matter here, and proxies drop it: the quoted part decides. */
	return tags && (strcmp(tags, "*") == 0 || strstr(tags, x->etag + 2));
}

/* ---- making ---- */

struct job {
	struct server *server;
	struct request request;
	char *key; /* NULL: not for the cache */
	uint64_t kind; /* route_costs.h */
};

static void keep_answer(void *user, struct answer *a, uint8_t *copy, size_t len)
{
	struct job *job = user;
	struct cached what = {.body = copy,
			      .len = len,
			      .content_type = answer_type(a),
			      .encoding = (int)answer_encoding(a)};

	if (job->key && copy && !answer_file_name(a))
		answer_cache_add(job->server->cache, job->key, &what);
	else
		free(copy);
}

static void job_end(struct job *job)
{
	struct server *s = job->server;

	request_fini(&job->request);
	free(job->key);
	free(job);
	pthread_mutex_lock(&s->lock);
	s->n_makers--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void *run_job(void *user)
{
	struct job *job = user;

	route_costs_learn(job->server->costs, job->kind, request_run(&job->request));
	job_end(job);
	return NULL;
}

/* Takes job over. */
static enum MHD_Result start_job(struct exchange *x, struct job *job, enum encoding encoding)
{
	struct request *rq = &job->request;
	pthread_attr_t attr;
	pthread_t thread;
	struct err err;
	int e;

	pthread_mutex_lock(&x->server->lock);
	x->server->n_makers++;
	pthread_mutex_unlock(&x->server->lock);
	if (answer_create(x->server->slots, encoding, &x->answer, &err) < 0) {
		x->answer = NULL;
		job_end(job);
		return send_error(x, 503, err.text, "Retry-After", "1");
	}
	job->kind = route_costs_kind(rq->route, &rq->url, rq->id);
	answer_set_turn(x->answer, connection_address(x->client), route_is_instant(rq->route),
			route_costs_is_long(x->server->costs, job->kind, rq->route));
	rq->answer = x->answer;
	rq->context.cancel = answer_cancel_flag(x->answer);
	if (x->key) {
		job->key = strdup(x->key);
		answer_set_done(x->answer, keep_answer, job);
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	e = pthread_create(&thread, &attr, run_job, job);
	pthread_attr_destroy(&attr);
	if (e) {
		answer_unref(x->answer); /* the maker's */
		job_end(job);
		return send_error(x, 503, "no thread for this request", "Retry-After", "1");
	}
	return send_answer(x);
}

/* ---- judging ---- */

static const char *header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* MHD_YES and *is_over: answered. */
static enum MHD_Result judge(struct exchange *x, const struct url *u, bool is_open, bool *is_over)
{
	const struct access_request q = {
		.host = header(x, "Host"),
		.origin = header(x, "Origin"),
		.fetch_site = header(x, "Sec-Fetch-Site"),
		.fetch_mode = header(x, "Sec-Fetch-Mode"),
		.authorization = header(x, "Authorization"),
		.token = url_find(u, "token"),
	};
	bool is_foreign;
	enum access_verdict v = access_judge(&x->server->rules, &q, &is_foreign);

	*is_over = true;
	x->origin = is_foreign ? q.origin : NULL;
	x->is_trusted = v == ACCESS_OK;
	switch (v) {
	case ACCESS_BAD_HOST:
		return send_error(x, 403,
				  "the Host header does not name this server; start it with "
				  "--allow-host NAME to allow a name",
				  NULL, NULL);
	case ACCESS_BAD_ORIGIN:
	case ACCESS_CROSS_SITE:
		return send_error(x, 403,
				  "requests from other web pages are not answered; start the "
				  "server with --allow-origin ORIGIN to allow one",
				  NULL, NULL);
	case ACCESS_NO_TOKEN:
		if (is_open)
			break;
		return send_error(
			x, 401, "a token is needed: 'Authorization: Bearer TOKEN' or ?token=TOKEN",
			"WWW-Authenticate", "Bearer");
	case ACCESS_OK:
		break;
	}
	*is_over = false;
	return MHD_YES;
}

/* A browser asks before it sends our headers from an allowed page. */
static enum MHD_Result send_preflight(struct exchange *x)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

	if (!r)
		return MHD_NO;
	add_common_headers(x, r, NULL);
	add_header(r, "Access-Control-Allow-Methods", "GET, HEAD");
	add_header(r, "Access-Control-Allow-Headers", "Authorization, If-None-Match");
	add_header(r, "Access-Control-Max-Age", "600");
	return send_and_drop(x, 204, r);
}

static bool client_is_gone(void *user)
{
	struct pollfd p = {.fd = *(int *)user, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static enum MHD_Result send_loading(struct exchange *x, struct registry_entry *i)
{
	struct MHD_Response *r;
	char body[160];
	int len = snprintf(body, sizeof(body),
			   "{\"error\":\"the recording is still being loaded\","
			   "\"state\":\"loading\",\"percent\":%.1f}\n",
			   registry_percent(i));

	r = MHD_create_response_from_buffer((size_t)len, body, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	add_common_headers(x, r, "application/json");
	add_header(r, "Retry-After", "1");
	return send_and_drop(x, 503, r);
}

/* Finds the recording that the route names. */
static enum MHD_Result find_item(struct exchange *x, struct request *rq, bool *is_over)
{
	struct registry_entry *i;

	*is_over = true;
	rq->registry = x->server->registry;
	rq->sources = &x->server->sources;
	if (strstr(rq->route->path, "{id}") == NULL) {
		*is_over = false;
		return MHD_YES;
	}
	i = registry_find(rq->registry, rq->value[0]);
	if (!i)
		return send_error(x, 404, "there is no recording with this id; see /list", NULL,
				  NULL);
	if (rq->route->flags & ROUTE_WAITS)
		registry_wait(i, LOADING_WAIT_MS, client_is_gone, &x->fd);
	if (registry_state(i) == REGISTRY_LOADING)
		return send_loading(x, i);
	if (registry_state(i) == REGISTRY_FAILED)
		return send_error(x, 404, registry_error(i), NULL, NULL);
	*is_over = false;
	registry_freshen(i, FRESH_WAIT_MS);
	rq->item = i;
	rq->id = registry_id(i);
	rq->file_name = text_basename(registry_path(i));
	rq->snapshot = registry_take(i);
	rq->store = rq->context.store = registry_store(rq->snapshot);
	rq->frames = rq->context.frames = registry_frames(rq->snapshot);
	rq->context.shared = registry_shared(rq->snapshot);
	return MHD_YES;
}

/* The recording that a comparison names, if the request is one. */
static enum MHD_Result find_base(struct exchange *x, struct request *rq, bool *is_over)
{
	struct err err = {0};

	*is_over = comparison_find(rq, FRESH_WAIT_MS, &err) < 0;
	if (!*is_over)
		return MHD_YES;
	return send_refusal(x, rq->refusal.status, err.text, &rq->refusal,
			    rq->refusal.status == 503 ? "Retry-After" : NULL, "1");
}

static enum MHD_Result answer_route(struct exchange *x, struct job *job)
{
	struct request *rq = &job->request;
	enum encoding e = encoding_choose(header(x, "Accept-Encoding"));
	enum MHD_Result ok;
	bool is_over;
	char *key;

	ok = find_item(x, rq, &is_over);
	if (!is_over)
		ok = find_base(x, rq, &is_over);
	if (is_over)
		goto out;
	key = rq->route->flags & ROUTE_VOLATILE ? NULL : make_key(rq);
	if (key) {
		make_etag(x, key);
		if (is_known_to_client(x)) {
			struct MHD_Response *r =
				MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

			free(key);
			add_common_headers(x, r, NULL);
			ok = send_and_drop(x, 304, r);
			goto out;
		}
		if (rq->route->flags & ROUTE_LARGE)
			free(key);
		else
			finish_key(x, key, e);
	}
	if (x->key) {
		ok = send_cached(x, &is_over);
		if (is_over)
			goto out;
	}
	return start_job(x, job, e);
out:
	request_fini(rq);
	free(job);
	return ok;
}

/* The method, the path and who asks are right: u is moved into the job. */
static enum MHD_Result answer_url(struct exchange *x, const char *method, struct url *u)
{
	const char *value[ROUTE_MAX_VALUES];
	const struct route *route = route_find(u, value);
	enum MHD_Result ok;
	struct job *job;
	bool is_over;

	ok = judge(x, u, route && route->flags & ROUTE_OPEN, &is_over);
	if (is_over)
		return ok;
	if (x->origin && strcmp(method, "OPTIONS") == 0)
		return send_preflight(x);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_error(x, 405, "only GET and HEAD are answered", "Allow", "GET, HEAD");
	if (!route)
		return send_error(x, 404,
				  "there is nothing at this address; see docs/REST.md or "
				  "/api/v1/openapi.json",
				  NULL, NULL);
	job = calloc(1, sizeof(*job));
	if (!job)
		return send_error(x, 503, "out of memory", "Retry-After", "1");
	x->is_gui = route->flags & ROUTE_GUI;
	job->server = x->server;
	request_init(&job->request, route, u);
	memcpy(job->request.value, value, sizeof(value));
	job->request.is_trusted = x->is_trusted;
	return answer_route(x, job);
}

/* What libmicrohttpd hands to its access handler; the number of them is not ours to choose. */
#define HANDLE_PARAMETERS                                                                          \
	void *user, struct MHD_Connection *connection, const char *path, const char *method,       \
		const char *version, const char *upload, size_t *upload_len, void **context

static enum MHD_Result count_host(void *user, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	(void)kind, (void)value;
	*(unsigned *)user += strcasecmp(name, "Host") == 0;
	return MHD_YES;
}

static bool has_body(const struct exchange *x)
{
	const char *length = header(x, "Content-Length");

	return header(x, "Transfer-Encoding") || (length && length[strspn(length, "0")]);
}

/* What the headers alone decide. is_answered: requests with this method are answered. MHD_YES and
 * *is_over: answered. */
static enum MHD_Result judge_headers(struct exchange *x, bool is_answered, bool *is_over)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	unsigned n_hosts = 0;

	*is_over = true;
	if (info && info->header_size > MAX_HEADER_BYTES)
		return send_error(x, 431, "the headers of the request are longer than 32 KiB", NULL,
				  NULL);
	/* Which of two Host headers counts is a matter of taste, and so a way around the rules. */
	MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_host, &n_hosts);
	if (n_hosts > 1)
		return send_error(x, 400, "the request has more than one Host header", NULL, NULL);
	if (is_answered && has_body(x))
		return send_error(x, 413, "the request has a body; send it without", NULL, NULL);
	*is_over = false;
	return MHD_YES;
}

static enum MHD_Result handle(HANDLE_PARAMETERS)
{
	struct exchange *x = *context;
	const union MHD_ConnectionInfo *info;
	struct url u = URL_NONE;
	enum MHD_Result ok;
	struct err err;
	bool is_over;
	int r;

	(void)user, (void)path, (void)version, (void)upload, (void)upload_len;
	if (!x || !x->target)
		return MHD_NO;
	if (!x->was_seen) {
		bool is_answered = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

		x->was_seen = true;
		ok = judge_headers(x, is_answered, &is_over);
		if (is_over || is_answered)
			return ok;
	}
	if (*upload_len) { /* a body, which nobody asked for */
		*upload_len = 0;
		return MHD_YES;
	}
	connections_set_busy(x->server->connections, x->client, true);
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	x->fd = info ? info->connect_fd : -1;
	r = url_parse(x->target, &u, &err);
	if (r == -ERR_LIMIT)
		return send_error(x, 414, err.text, NULL, NULL);
	if (r < 0)
		return send_error(x, 400, err.text, NULL, NULL);
	ok = answer_url(x, method, &u);
	url_fini(&u);
	return ok;
}

/* ---- life of an exchange ---- */

static void *begin_exchange(void *user, const char *target, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->server = user;
	x->connection = connection;
	x->client = info ? info->socket_context : NULL;
	x->target = strdup(target);
	return x;
}

static void end_exchange(void *user, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *context;

	(void)user, (void)connection, (void)why;
	if (!x)
		return;
	if (x->answer) {
		answer_cancel(x->answer); /* of no effect when it is finished */
		answer_unref(x->answer);
	}
	connections_set_busy(x->server->connections, x->client, false);
	free(x->target);
	free(x->key);
	free(x);
	*context = NULL;
}

/* A connection begins or ends. */
static void note_connection(void *user, struct MHD_Connection *connection, void **socket_context,
			    enum MHD_ConnectionNotificationCode what)
{
	struct server *s = user;
	const union MHD_ConnectionInfo *fd, *from;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		connections_remove(s->connections, *socket_context);
		*socket_context = NULL;
		return;
	}
	fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*socket_context = fd ? connections_add(s->connections, fd->connect_fd,
					       from ? from->client_addr : NULL)
			     : NULL;
}

/* MHD decodes paths and parameters in place; ours are decoded by url.c from the raw target. */
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text)
{
	(void)user, (void)connection;
	return strlen(text);
}

/* ---- life of a server ---- */

static unsigned n_compute_slots(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 2 ? 4 : 2 * (unsigned)n;
}

static void write_server_url(struct server *s)
{
	const struct listening *l = &s->listening;
	bool is_v6 = strchr(l->address, ':') != NULL;

	snprintf(s->url, sizeof(s->url), "http://%s%s%s:%u/",
		 is_v6 && !l->is_any_address ? "[" : "",
		 l->is_any_address ? "localhost" : l->address,
		 is_v6 && !l->is_any_address ? "]" : "", l->port);
}

static int start_daemon(struct server *s, struct err *err)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
			MHD_USE_ITC,
		0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, s->listening.fd,
		MHD_OPTION_CONNECTION_LIMIT, MAX_MHD_CONNECTIONS, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, s, MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_HEADER_BYTES + BLOCK_BYTES,
		MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, s, MHD_OPTION_NOTIFY_COMPLETED,
		end_exchange, s, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, s, MHD_OPTION_END);
	if (!s->daemon)
		return err_set(err, ERR_IO, "cannot start the HTTP server");
	s->listening.fd = -1; /* the daemon closes it */
	return 0;
}

int serve_start(const struct serve_options *o, struct server **ret, struct err *err)
{
	static const struct connection_limits limits = {.n_max = MAX_CONNECTIONS,
							.n_max_of_address =
								MAX_CONNECTIONS_PER_ADDRESS,
							.request_s = REQUEST_S};
	struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->listening.fd = -1;
	r = listen_open(o->interface ? o->interface : "127.0.0.1", o->port, &s->listening, err);
	if (r == 0)
		r = compute_slots_create(n_compute_slots(), &s->slots, err);
	if (r == 0)
		r = route_costs_create(&s->costs, err);
	if (r == 0)
		r = answer_cache_create(CACHE_BYTES, &s->cache, err);
	if (r == 0)
		r = connections_create(&limits, &s->connections, err);
	if (r == 0)
		r = registry_create(&o->source, o->path, o->n_paths, &s->registry, err);
	if (r < 0)
		goto out;
	s->rules = (struct access_rules){
		.interface = s->listening.address,
		.name = o->interface,
		.is_any_address = s->listening.is_any_address,
		.host = o->allow_host,
		.n_hosts = o->n_allow_hosts,
		.origin = o->allow_origin,
		.n_origins = o->n_allow_origins,
		.token = o->token,
	};
	s->sources = (struct source_rules){.rule = o->source_rule, .n = o->n_source_rules};
	write_server_url(s);
	r = start_daemon(s, err);
	if (r < 0)
		goto out;
	*ret = s;
	s = NULL; /* the caller's now */
out:
	serve_stop(s);
	return r;
}

void serve_stop(struct server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon); /* shuts the sockets: senders see it and cancel */
	if (s->listening.fd >= 0)
		close(s->listening.fd);
	pthread_mutex_lock(&s->lock);
	while (s->n_makers)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	registry_destroy(s->registry);
	answer_cache_destroy(s->cache);
	connections_destroy(s->connections);
	route_costs_destroy(s->costs);
	compute_slots_destroy(s->slots);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *serve_url(const struct server *s)
{
	return s->url;
}

unsigned serve_port(const struct server *s)
{
	return s->listening.port;
}

bool serve_is_loopback(const struct server *s)
{
	return s->listening.is_loopback;
}
