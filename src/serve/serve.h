/* serve/serve.h - recordings over HTTP: the REST API.
 *
 * docs/REST.md tells what can be asked; serve/routes.c is the table of it. The server is read-only:
 * it answers GET and HEAD from the recordings it was given, and opens no other file but sources that
 * a recording names (serve/source_file.h).
 *
 * Threads: one per connection (libmicrohttpd's), one more for each answer that is being made, one for
 * each recording that is being loaded. All are bounded. SIGPIPE must be ignored by the caller.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdio.h>

#include "serve/registry.h"

#define SERVE_MAX_NAMES 64

struct serve_options {
	const char *interface; /* address or name to bind to; NULL: 127.0.0.1 */
	unsigned port; /* taken: the next free one is used; 0: any */
	const char *token; /* NULL: none */
	const char *const *allow_host; /* borrowed, like all texts */
	size_t n_allow_hosts;
	const char *const *allow_origin;
	size_t n_allow_origins;
	const char *const *source_rule; /* where sources are: serve/source_file.h */
	size_t n_source_rules;
	const char *const *path; /* recordings */
	size_t n_paths;
	struct registry_source source;
};

struct server; /* opaque: defined in serve.c */

/* Listens and begins to load; returns without waiting for either. Options are copied but for the
 * texts. */
int serve_start(const struct serve_options *o, struct server **ret, struct err *err);
void serve_stop(struct server *s); /* cuts what is under way; NULL does nothing */

const char *serve_url(const struct server *s); /* "http://127.0.0.1:8080/" */
unsigned serve_port(const struct server *s);
bool serve_is_loopback(const struct server *s);

/* Writes the OpenAPI document, the same that /api/v1/openapi.json answers. */
void serve_write_openapi(FILE *out);

#endif
