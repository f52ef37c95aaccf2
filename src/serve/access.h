/* serve/access.h - who may ask: the rules against other web pages and other machines.
 *
 * A recording holds the environment of a program, so it is confidential. A server that listens on
 * loopback only is not safe: any page that a browser shows can send requests to 127.0.0.1, and an
 * attacker can make a name point to 127.0.0.1 (DNS rebinding). So:
 *  - Host must name this server: localhost, a loopback address, the address that the server
 *    listens on, or a name that the user allowed. A server that listens on all addresses accepts
 *    any IP address, because rebinding needs a name.
 *  - Origin, where a browser sends it, must be the server itself or an allowed origin.
 *  - Sec-Fetch-Site covers requests without Origin (images, scripts): only a navigation may come
 *    from another site.
 *  - If the server has a token, every request must carry the token.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include "base/compiler.h"

struct access_rules {
	const char *interface; /* the address that the server listens on */
	const char *name; /* the name that the user gave for this address; may be NULL */
	bool is_any_address; /* the server listens on 0.0.0.0 or :: */
	const char *const *host; /* allowed names, without port */
	size_t n_hosts;
	const char *const *origin; /* allowed origins, such as http://localhost:5173 */
	size_t n_origins;
	const char *token; /* NULL: no token is needed */
};

/* The headers that the rules use; NULL: the request has no such header. */
struct access_request {
	const char *host;
	const char *origin;
	const char *fetch_site;
	const char *fetch_mode;
	const char *authorization;
	const char *token; /* from the query part of the URL */
};

enum access_verdict {
	ACCESS_OK,
	ACCESS_BAD_HOST,
	ACCESS_BAD_ORIGIN,
	ACCESS_CROSS_SITE,
	ACCESS_NO_TOKEN,
};

/* Decides about a request. *is_foreign_origin becomes true if Origin is an allowed one but not the
 * server itself; the answer then needs CORS headers. */
enum access_verdict access_judge(const struct access_rules *r, const struct access_request *q,
				 bool *is_foreign_origin);

/* Are the two equal? The time does not depend on where they differ; it shows only the length of
 * `ours`. */
bool access_token_equals(const char *ours, const char *given);

#endif
