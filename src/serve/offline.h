/* serve/offline.h - answers of the API without a server, for HTML pages that carry their answers.
 *
 * The same handlers make these answers as behind a socket. No thread and no descriptor is needed.
 */
#ifndef SERVE_OFFLINE_H
#define SERVE_OFFLINE_H

#include <stdio.h>

#include "query/query.h"
#include "serve/url.h"

#define OFFLINE_ID "exported" /* the id of the only recording */

struct offline {
	const struct query_context *context; /* store and frames; borrowed, as all members */
	const char *file_name; /* of the recording, without folders */
	const struct url_pair *filter; /* parameters of the filter, as in a URL */
	size_t n_filter;
};

/* Writes the JSON answer to a question. A question is the part of a URL after /api/v1/{id}/, such
 * as "tree?fold=runtime", or "recordings". The filter is added if the route takes one. ERR_USAGE:
 * the question is not known, or the filter is not valid. user: a struct offline, so that this
 * function can be an export_options.answer. */
int offline_answer(void *user, const char *question, FILE *out, struct err *err);

#endif
