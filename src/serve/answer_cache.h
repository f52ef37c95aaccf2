/* serve/answer_cache.h - the last answers, ready to be sent again.
 *
 * Bounded in bytes; the one that was not asked for longest goes first. The key says everything
 * that the answer depends on (recording with its identity, path, parameters, encoding).
 * Threads: any.
 */
#ifndef SERVE_ANSWER_CACHE_H
#define SERVE_ANSWER_CACHE_H

#include "util/err.h"

struct answer_cache; /* opaque: defined in answer_cache.c */

/* An answer that is kept; shared and never changed. */
struct cached {
	uint8_t *body;
	size_t len;
	const char *content_type; /* static text */
	int encoding; /* enum encoding */
};

int answer_cache_create(size_t max_bytes, struct answer_cache **ret, struct err *err);
void answer_cache_destroy(struct answer_cache *c); /* NULL does nothing; all must be released */

/* Takes body over, also when it is not kept. */
void answer_cache_add(struct answer_cache *c, const char *key, const struct cached *what);

/* NULL: not there. The caller releases what it gets. */
const struct cached *answer_cache_find(struct answer_cache *c, const char *key);
void answer_cache_release(struct answer_cache *c, const struct cached *what);

#endif
