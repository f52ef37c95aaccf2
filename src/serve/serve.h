/* serve/serve.h - recordings over HTTP: the REST API.
 *
 * docs/REST.md describes the questions; serve/routes.c has the table of them. The server only
 * reads. It answers GET and HEAD from the recordings on its command line. It opens no other files
 * but the sources that a recording names (serve/source_file.h).
 *
 * Threads: one per connection (of libmicrohttpd), one per answer in the making, one per recording
 * in loading. All are bounded. The caller must ignore SIGPIPE.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdio.h>

#include "serve/registry.h"

#define SERVE_MAX_NAMES 64

struct serve_options {
	const char *interface; /* address or name to listen on; NULL: 127.0.0.1 */
	unsigned port; /* if taken, the next free port is used; 0: any */
	const char *token; /* NULL: none */
	const char *const *allow_host; /* borrowed, as all texts */
	size_t n_allow_hosts;
	const char *const *allow_origin;
	size_t n_allow_origins;
	const char *const *source_rule; /* where source files are: serve/source_file.h */
	size_t n_source_rules;
	const char *const *path; /* recordings */
	size_t n_paths;
	struct registry_source source;
};

struct server; /* opaque: defined in serve.c */

/* Listens and starts to load; does not wait for the loading. Copies the options, but not the
 * texts. */
int serve_start(const struct serve_options *o, struct server **ret, struct err *err);
void serve_stop(struct server *s); /* ends all requests; NULL does nothing */

const char *serve_url(const struct server *s); /* "http://127.0.0.1:8080/" */
unsigned serve_port(const struct server *s);
bool serve_is_loopback(const struct server *s);

/* Writes the OpenAPI document, the same as /api/v1/openapi.json. */
void serve_write_openapi(FILE *out);

#endif
