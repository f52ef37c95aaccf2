/* serve/serve.c - the HTTP side: from a request's headers to a response (see serve.h).
 *
 * libmicrohttpd gives a thread to each connection. That thread judges the request, starts a maker
 * (request.h) in another thread, and then sends what the maker writes. It may block, so it can also
 * look at its socket while it waits, which is how a client's hanging up reaches a long query.
 */
#include "serve/serve.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/comparison.h"
#include "serve/serve_i.h"
#include "util/memory_budget.h"

#define MAX_CONNECTIONS 256u
#define MAX_CONNECTIONS_PER_ADDRESS 192u
#define MAX_MHD_CONNECTIONS 1024u /* more than ours: connections.h decides which one must go */
#define REQUEST_S 20u /* a request must arrive within so long */
#define MAX_HEADER_BYTES (32u << 10) /* of a request, and MHD's buffer for a connection */
#define OWN_MEMORY_SIXTEENTHS 8u /* of the budget: with more, no answer begins beside others */
#define CACHE_BYTES (48u << 20)
#define LOADING_WAIT_MS 60000u /* ROUTE_WAITS */
#define FRESH_WAIT_MS                                                                              \
	500u /* for what a recording that grows has more; else it is in the next answer */

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
		return serve_send_error(x, 403,
					"the Host header does not name this server; start it with "
					"--allow-host NAME to allow a name",
					NULL, NULL);
	case ACCESS_BAD_ORIGIN:
	case ACCESS_CROSS_SITE:
		return serve_send_error(x, 403,
					"requests from other web pages are not answered; start the "
					"server with --allow-origin ORIGIN to allow one",
					NULL, NULL);
	case ACCESS_NO_TOKEN:
		if (is_open)
			break;
		return serve_send_error(
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
	serve_add_headers(x, r, NULL);
	serve_add_header(r, "Access-Control-Allow-Methods", "GET, HEAD, POST");
	serve_add_header(r, "Access-Control-Allow-Headers",
			 "Authorization, Content-Type, If-None-Match");
	serve_add_header(r, "Access-Control-Max-Age", "600");
	return serve_send_and_drop(x, 204, r);
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
	serve_add_headers(x, r, "application/json");
	serve_add_header(r, "Retry-After", "1");
	return serve_send_and_drop(x, 503, r);
}

/* Finds the recording that the route names. */
static enum MHD_Result find_item(struct exchange *x, struct request *rq, bool *is_over)
{
	struct registry_entry *i;

	*is_over = true;
	rq->registry = x->server->registry;
	rq->running = x->server->running;
	rq->sources = &x->server->sources;
	rq->script_files = x->server->script_files;
	if (strstr(rq->route->path, "{id}") == NULL) {
		*is_over = false;
		return MHD_YES;
	}
	i = registry_find(rq->registry, rq->value[0]);
	if (!i)
		return serve_send_error(x, 404, "there is no recording with this id; see /list",
					NULL, NULL);
	if (rq->route->flags & ROUTE_WAITS)
		registry_wait(i, LOADING_WAIT_MS, client_is_gone, &x->fd);
	if (registry_state(i) == REGISTRY_LOADING)
		return send_loading(x, i);
	if (registry_state(i) == REGISTRY_FAILED)
		return serve_send_error(x, 404, registry_error(i), NULL, NULL);
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
	return serve_send_refusal(x, rq->refusal.status, err.text, &rq->refusal,
				  rq->refusal.status == 503 ? "Retry-After" : NULL, "1");
}

/* Takes the parameter first out of the question: the exact answer does not depend on it. */
static enum MHD_Result read_first(struct exchange *x, struct job *job, bool *is_over)
{
	struct request *rq = &job->request;
	uint64_t first_ms = 0;
	struct err err = {0};
	int r = 0;

	if (rq->route->flags & ROUTE_FIRST)
		r = request_u64(rq, ROUTE_FIRST_PARAMETER, 0, ROUTE_MAX_FIRST_MS, &first_ms, &err);
	*is_over = r < 0;
	if (r < 0)
		return serve_send_refusal(x, 400, err.text, &rq->refusal, NULL, NULL);
	job->first_ms = (unsigned)first_ms;
	if (rq->route->flags & ROUTE_FIRST)
		url_remove(&rq->url, ROUTE_FIRST_PARAMETER);
	return MHD_YES;
}

static enum MHD_Result answer_route(struct exchange *x, struct job *job)
{
	struct request *rq = &job->request;
	enum encoding e = encoding_choose(header(x, "Accept-Encoding"));
	enum MHD_Result ok;
	bool is_over;
	char *key;

	ok = read_first(x, job, &is_over);
	if (!is_over)
		ok = find_item(x, rq, &is_over);
	if (!is_over)
		ok = find_base(x, rq, &is_over);
	if (is_over)
		goto out;
	key = rq->route->flags & ROUTE_VOLATILE ? NULL : serve_make_key(rq);
	if (key) {
		serve_make_etag(x, key);
		if (serve_is_known_to_client(x)) {
			struct MHD_Response *r =
				MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

			free(key);
			serve_add_headers(x, r, NULL);
			ok = serve_send_and_drop(x, 304, r);
			goto out;
		}
		if (rq->route->flags & ROUTE_LARGE)
			free(key);
		else
			serve_finish_key(x, key, e);
	}
	if (x->key) {
		ok = serve_send_cached(x, &is_over);
		if (is_over)
			goto out;
	}
	return serve_run(x, job, e);
out:
	serve_discard_job(job);
	return ok;
}

static bool is_get(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
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
	if (route && route->flags & ROUTE_POST && strcmp(method, "POST") != 0)
		return serve_send_error(x, 405, "only POST is answered here", "Allow", "POST");
	if (!(route && route->flags & ROUTE_POST) && !is_get(method))
		return serve_send_error(x, 405, "only GET and HEAD are answered", "Allow",
					"GET, HEAD");
	if (!route)
		return serve_send_error(x, 404,
					"there is nothing at this address; see docs/REST.md or "
					"/api/v1/openapi.json",
					NULL, NULL);
	job = calloc(1, sizeof(*job));
	if (!job)
		return serve_send_error(x, 503, "out of memory", "Retry-After", "1");
	x->is_gui = route->flags & ROUTE_GUI;
	x->is_sandbox = route->flags & ROUTE_SANDBOX;
	job->server = x->server;
	request_init(&job->request, route, u);
	memcpy(job->request.value, value, sizeof(value));
	job->request.is_trusted = x->is_trusted;
	job->request.body = x->body;
	job->request.body_len = x->body_len;
	x->body = NULL;
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

/* Does a route take the body of this request? */
static bool takes_body(const struct exchange *x, const char *method)
{
	const char *value[ROUTE_MAX_VALUES];
	const struct route *route = NULL;
	struct url u = URL_NONE;

	if (strcmp(method, "POST") != 0 || url_parse(x->target, &u, NULL) < 0)
		return false;
	route = route_find(&u, value);
	url_fini(&u);
	return route && route->flags & ROUTE_POST;
}

/* Makes room for the body, whose length the client has to say. MHD_YES and *is_over: answered. */
static enum MHD_Result expect_body(struct exchange *x, bool *is_over)
{
	const char *length = header(x, "Content-Length");
	unsigned long long n = length ? strtoull(length, NULL, 10) : 0;

	*is_over = true;
	if (!length || header(x, "Transfer-Encoding"))
		return serve_send_error(x, 411, "the length of the body is missing", NULL, NULL);
	if (n > ROUTE_MAX_BODY_BYTES)
		return serve_send_error(x, 413, "the body has more than 256 KiB", NULL, NULL);
	x->body = malloc(ROUTE_MAX_BODY_BYTES + 1);
	if (!x->body)
		return serve_send_error(x, 503, "out of memory", "Retry-After", "1");
	x->body[0] = '\0';
	*is_over = false;
	return MHD_YES;
}

/* A part of the body; one that nobody asked for is dropped. */
static enum MHD_Result take_body(struct exchange *x, const char *upload, size_t *upload_len)
{
	if (x->body) {
		if (*upload_len > ROUTE_MAX_BODY_BYTES - x->body_len)
			return MHD_NO; /* longer than its client said */
		memcpy(x->body + x->body_len, upload, *upload_len);
		x->body_len += *upload_len;
		x->body[x->body_len] = '\0';
	}
	*upload_len = 0;
	return MHD_YES;
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
		return serve_send_error(x, 431, "the headers of the request are longer than 32 KiB",
					NULL, NULL);
	/* Which of two Host headers counts is a matter of taste, and so a way around the rules. */
	MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_host, &n_hosts);
	if (n_hosts > 1)
		return serve_send_error(x, 400, "the request has more than one Host header", NULL,
					NULL);
	if (is_answered && has_body(x))
		return serve_send_error(x, 413, "the request has a body; send it without", NULL,
					NULL);
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

	(void)user, (void)path, (void)version;
	if (!x || !x->target)
		return MHD_NO;
	if (!x->was_seen) {
		bool has_wanted_body = takes_body(x, method);

		x->was_seen = true;
		ok = judge_headers(x, is_get(method), &is_over);
		if (!is_over && has_wanted_body)
			ok = expect_body(x, &is_over);
		if (is_over || is_get(method) || has_wanted_body)
			return ok;
	}
	if (*upload_len)
		return take_body(x, upload, upload_len);
	connections_set_busy(x->server->connections, x->client, true);
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	x->fd = info ? info->connect_fd : -1;
	r = url_parse(x->target, &u, &err);
	if (r == -ERR_LIMIT)
		return serve_send_error(x, 414, err.text, NULL, NULL);
	if (r < 0)
		return serve_send_error(x, 400, err.text, NULL, NULL);
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
	free(x->body);
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
		note_connection, s, MHD_OPTION_CONNECTION_TIMEOUT, SERVE_SILENCE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_HEADER_BYTES + SERVE_BLOCK_BYTES,
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
	pthread_mutex_init(&s->start_lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->listening.fd = -1;
	r = listen_open(o->interface ? o->interface : "127.0.0.1", o->port, &s->listening, err);
	if (r == 0)
		r = compute_slots_create(n_compute_slots(),
					 memory_budget_share(OWN_MEMORY_SIXTEENTHS), &s->slots,
					 err);
	if (r == 0)
		r = route_costs_create(&s->costs, err);
	if (r == 0)
		r = script_files_create(&s->script_files, err);
	if (r == 0)
		r = running_create(&s->running, err);
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
	if (s->running)
		running_cancel_unwanted(s->running);
	pthread_mutex_lock(&s->lock);
	while (s->n_makers)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	registry_destroy(s->registry);
	answer_cache_destroy(s->cache);
	connections_destroy(s->connections);
	route_costs_destroy(s->costs);
	running_destroy(s->running);
	script_files_destroy(s->script_files);
	compute_slots_destroy(s->slots);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->start_lock);
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
