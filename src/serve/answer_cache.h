/* serve/answer_cache.h - the last answers, ready to be sent again.
 *
 * The cache is bounded in bytes; the least recently used answer goes first. A key holds everything
 * that the answer depends on: the recording with its identity, path, parameters, encoding. serve.c
 * makes the key, and the ETag from the key.
 *
 * Threads: any.
 */
#ifndef SERVE_ANSWER_CACHE_H
#define SERVE_ANSWER_CACHE_H

#include "util/err.h"

struct answer_cache; /* opaque: defined in answer_cache.c */

/* A kept answer; shared and never changed. */
struct cached {
	uint8_t *body;
	size_t len;
	const char *content_type; /* static text */
	int encoding; /* enum encoding */
};

int answer_cache_create(size_t max_bytes, struct answer_cache **ret, struct err *err);
void answer_cache_destroy(struct answer_cache *c); /* NULL does nothing; all answers must have been
						    * released */

/* Takes ownership of what->body, also if the answer is too large to be kept. */
void answer_cache_add(struct answer_cache *c, const char *key, const struct cached *what);

/* NULL: not in the cache. The caller passes the result to answer_cache_release(). */
const struct cached *answer_cache_find(struct answer_cache *c, const char *key);
void answer_cache_release(struct answer_cache *c, const struct cached *what);

#endif
