/* serve/offline.h - answers of the API without a server, for pages that carry their answers.
 *
 * The same handlers write them as behind a socket; no thread and no descriptor is needed.
 */
#ifndef SERVE_OFFLINE_H
#define SERVE_OFFLINE_H

#include <stdio.h>

#include "query/query.h"
#include "serve/url.h"

#define OFFLINE_ID "exported" /* the id of the one recording */

struct offline {
	const struct query_context *context; /* store and frames; borrowed, like all below */
	const char *file_name; /* of the recording, without folders */
	const struct url_pair *filter; /* parameters of the filter, as in an address */
	size_t n_filter;
};

/* Writes the JSON answer to a question: what stands behind /api/v1/{id}/ in an address, such as
 * "tree?fold=runtime", or "recordings". The filter is added to what takes one.
 * ERR_USAGE for an unknown question or a bad filter. user: a struct offline, so that this is an
 * export_options.answer. */
int offline_answer(void *user, const char *question, FILE *out, struct err *err);

#endif
