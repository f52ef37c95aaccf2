/* serve/access.h - who may ask: the rules against other web pages and other machines.
 *
 * A recording holds the environment of a program. Any page that a browser shows can send requests
 * to 127.0.0.1, and a name that an attacker owns can be made to point there (DNS rebinding), so
 * being bound to loopback is not enough:
 *  - Host must name us: localhost, a loopback address, the address we are bound to, or a name that
 *    the user allowed. Bound to all addresses, any IP address will do: rebinding needs a name.
 *  - Origin, where a browser sends it, must be the server itself or an allowed one.
 *  - Sec-Fetch-Site tells what Origin does not (images, scripts): only navigation may come from
 *    elsewhere.
 *  - With a token, every request must carry it.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include "base/compiler.h"

struct access_rules {
	const char *interface; /* what we are bound to, as an address */
	const char *name; /* what the user calls it; may be NULL */
	bool is_any_address; /* bound to 0.0.0.0 or :: */
	const char *const *host; /* allowed names, without port */
	size_t n_hosts;
	const char *const *origin; /* allowed origins, such as http://localhost:5173 */
	size_t n_origins;
	const char *token; /* NULL: none needed */
};

/* The headers that count; NULL where the request has none. */
struct access_request {
	const char *host;
	const char *origin;
	const char *fetch_site;
	const char *fetch_mode;
	const char *authorization;
	const char *token; /* from the query */
};

enum access_verdict {
	ACCESS_OK,
	ACCESS_BAD_HOST,
	ACCESS_BAD_ORIGIN,
	ACCESS_CROSS_SITE,
	ACCESS_NO_TOKEN,
};

/* *is_foreign_origin: it is an allowed one but not our own, so the answer needs CORS headers. */
enum access_verdict access_judge(const struct access_rules *r, const struct access_request *q,
				 bool *is_foreign_origin);

/* Equal? Takes the same time whatever the difference is; only the length of ours shows. */
bool access_token_equals(const char *ours, const char *given);

#endif
