/* serve/route.h - what can be asked: paths, their parameters and answers.
 *
 * One table (routes.c) says which function answers a path, which parameters it takes, and what the
 * OpenAPI document says. A path is a pattern: "{id}" stands for one segment, "[/{file}]" at the
 * end is optional.
 */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "query/filter.h"
#include "serve/url.h"

struct request;
/* Writes the answer. A failure before much has been written gives an error status (request.h). */
typedef int (*route_handler)(struct request *rq, struct err *err);

#define ROUTE_FILTER 1u /* takes the parameters of filter_parameters() */
#define ROUTE_PAGE 2u /* skip, count, order */
#define ROUTE_EXPORT 4u /* export_parameters() */
#define ROUTE_VOLATILE 8u /* the answer may change: no ETag, not cached */
#define ROUTE_LARGE 16u /* too large for the cache */
#define ROUTE_OPEN 32u /* needs no token: shows nothing of a recording */
#define ROUTE_GUI 128u /* a file of the GUI; its scripts may use the API */
#define ROUTE_WAITS 64u /* waits for a loading recording, as old scripts expect */

#define ROUTE_OWN 256u /* shows frames with their class but takes no filter: takes own_regex */

#define ROUTE_BASE 512u /* compares two recordings: takes base */

#define ROUTE_POST 2048u /* answers POST, not GET, and takes a body */
#define ROUTE_MAX_BODY_BYTES ((size_t)256 << 10)

#define ROUTE_SANDBOX 4096u /* a user's file: browsers keep it apart from the server's origin */

/* Adds up rows into one JSON object: takes first, and then may answer with an estimate. */
#define ROUTE_FIRST 1024u

#define ROUTE_MAX_VALUES 3

struct route {
	const char *path;
	route_handler handler;
	unsigned flags;
	const char *content_type; /* NULL: the handler decides */
	const char *schema; /* JSON only: a type of schema.h; NULL: none */
	const char *summary;
	const struct filter_parameter *parameter; /* the route's own parameters */
	size_t n_parameters;
};

const struct route *route_table(size_t *n);

/* Finds the route of a URL. NULL: none. value: the segments that match {...}, in order; NULL for
 * an optional segment that is absent. */
const struct route *route_find(const struct url *u, const char *value[ROUTE_MAX_VALUES]);

/* Do answers take milliseconds whatever the recording? Tables of the recording do, and files of the
 * GUI; what takes filters or rows may have to look at every allocation. */
static inline bool route_is_instant(const struct route *r)
{
	return !(r->flags & (ROUTE_FILTER | ROUTE_EXPORT | ROUTE_LARGE | ROUTE_PAGE | ROUTE_BASE |
			     ROUTE_POST));
}

/* own_regex: taken where frames are shown, and where a filter may use frame classes. */
#define ROUTE_OWN_PARAMETER "own_regex"
static inline bool route_takes_own(const struct route *r)
{
	return r->flags & (ROUTE_OWN | ROUTE_FILTER);
}

/* The id of the recording to compare with: comparison.h. */
#define ROUTE_BASE_PARAMETER "base"

/* The time in ms after which an estimate will do; not together with base. */
#define ROUTE_FIRST_PARAMETER "first"
#define ROUTE_MAX_FIRST_MS 60000u

/* Calls fn for each parameter that a route takes. */
void route_each_parameter(const struct route *r,
			  void (*fn)(void *user, const struct filter_parameter *p), void *user);

#endif
