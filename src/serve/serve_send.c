/* serve/serve_send.c - see serve_i.h: responses of libmicrohttpd from answers, errors and the cache. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "serve/serve_i.h"
#include "store/suppressed.h"

/* ---- responses ---- */

void serve_add_header(struct MHD_Response *r, const char *name, const char *value)
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
#define SANDBOX "; sandbox allow-scripts" /* its scripts have no origin */

/* What every answer carries. */
void serve_add_headers(const struct exchange *x, struct MHD_Response *r, const char *type)
{
	serve_add_header(r, "Content-Type", type);
	serve_add_header(r, "X-Content-Type-Options", "nosniff");
	serve_add_header(r, "Referrer-Policy", "no-referrer");
	serve_add_header(r, "X-Frame-Options", "DENY");
	serve_add_header(r, "Cross-Origin-Resource-Policy",
			 x->origin ? "cross-origin" : "same-origin");
	serve_add_header(r, "Content-Security-Policy",
			 x->is_gui       ? GUI_POLICY
			 : x->is_sandbox ? EXPORT_POLICY SANDBOX
					 : EXPORT_POLICY);
	serve_add_header(r, "Vary", "Accept-Encoding, Origin");
	if (x->origin) {
		serve_add_header(r, "Access-Control-Allow-Origin", x->origin);
		serve_add_header(r, "Access-Control-Expose-Headers", "ETag");
	}
}

enum MHD_Result serve_send_and_drop(struct exchange *x, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	serve_add_header(r, "Cache-Control", x->etag[0] ? "no-cache" : "no-store");
	if (x->etag[0] && (status == 200 || status == 304))
		serve_add_header(r, "ETag", x->etag);
	ok = MHD_queue_response(x->connection, status, r);
	MHD_destroy_response(r);
	return ok;
}

/* An error, with one header more where name is given. */
/* refusal: what the error is about, or NULL; name and value: a header, or NULL. */
enum MHD_Result serve_send_refusal(struct exchange *x, unsigned status, const char *text,
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
	serve_add_headers(x, r, "application/json");
	serve_add_header(r, name ? name : "X-Content-Type-Options", name ? value : NULL);
	return serve_send_and_drop(x, status, r);
}

enum MHD_Result serve_send_error(struct exchange *x, unsigned status, const char *text,
				 const char *name, const char *value)
{
	return serve_send_refusal(x, status, text, NULL, name, value);
}

/* MHD starts the time again only if there was no limit before. */
void serve_forget_silence(struct exchange *x)
{
	MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, SERVE_SILENCE_S);
}

static ssize_t take(void *user, uint64_t at, char *buf, size_t max)
{
	struct exchange *x = user;
	ssize_t n = answer_take(x->answer, x->fd, buf, max);

	(void)at;
	serve_forget_silence(x);
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
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, SERVE_BLOCK_BYTES, take,
							 x, NULL);
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

enum MHD_Result serve_send_answer(struct exchange *x)
{
	struct answer *a = x->answer;
	struct MHD_Response *r;
	char disposition[160];

	if (!answer_wait(a, x->fd))
		return MHD_NO;
	serve_forget_silence(x);
	r = response_of_answer(x);
	if (!r)
		return MHD_NO;
	serve_add_headers(x, r, answer_type(a));
	serve_add_header(r, "Content-Encoding", encoding_name(answer_encoding(a)));
	if (answer_file_name(a)) {
		snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			 answer_file_name(a));
		serve_add_header(r, "Content-Disposition", disposition);
	}
	if (answer_status(a) == 503)
		serve_add_header(r, "Retry-After", "1");
	return serve_send_and_drop(x, answer_status(a), r);
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
enum MHD_Result serve_send_cached(struct exchange *x, bool *is_sent)
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
	serve_add_headers(x, r, u->what->content_type);
	serve_add_header(r, "Content-Encoding", encoding_name((enum encoding)u->what->encoding));
	return serve_send_and_drop(x, 200, r);
}

/* Which leaks count is said at the start of the server. */
static void put_suppressions(FILE *out, const struct store *s)
{
	size_t n;
	const struct store_suppression *by = store_suppressions(s, &n);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "\nleak:%s", by[i].pattern);
}

/* Everything that the answer depends on, but for the encoding. */
char *serve_make_key(const struct request *rq)
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
	if (id)
		put_suppressions(out, rq->store);
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

void serve_make_etag(struct exchange *x, const char *key)
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
void serve_finish_key(struct exchange *x, char *key, enum encoding e)
{
	size_t len = strlen(key) + 16;

	x->key = malloc(len);
	if (x->key)
		snprintf(x->key, len, "%d\n%s", (int)e, key);
	free(key);
}

bool serve_is_known_to_client(const struct exchange *x)
{
	const char *tags =
		MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "If-None-Match");

	/* W/ does not matter here, and proxies drop it: the quoted part decides. */
	return tags && (strcmp(tags, "*") == 0 || strstr(tags, x->etag + 2));
}
