/* serve/url.h - taking a request's target apart: path segments and name=value pairs.
 *
 * Decoding forgives what people type: a '%' that is not followed by two hexadecimal digits stands
 * for itself ("50%&count=3"), as in the examples that users of the old API know. '+' in a query is a
 * space, as in every HTML form. What is not forgiven: an encoded zero byte, and more than the limits
 * below. Bytes are not checked to be UTF-8; who shows them does that.
 *
 * Segments are split before they are decoded, so an encoded '/' is part of its segment and never a
 * border. Nothing here touches the file system: ".." is a name like any other.
 */
#ifndef SERVE_URL_H
#define SERVE_URL_H

#include <stdio.h>

#include "util/err.h"

#define URL_MAX_BYTES 16384u
#define URL_MAX_SEGMENTS 8u
#define URL_MAX_PAIRS 256u

struct url_pair {
	const char *name;
	const char *value; /* "" when there is no '=' */
};

struct url {
	char *text; /* owned: all texts below lie in it */
	const char *segment[URL_MAX_SEGMENTS];
	size_t n_segments; /* "/" has none; "/a/" has two, the second is empty */
	struct url_pair *pair; /* owned; in the order given */
	size_t n_pairs;
};

#define URL_NONE ((struct url){.text = NULL})

/* target: path and query as the client sent them, a fragment is cut off. ERR_USAGE with what is
 * wrong, ERR_LIMIT when it is too long or has too many parts. */
int url_parse(const char *target, struct url *ret, struct err *err);
void url_fini(struct url *u); /* also of URL_NONE */

/* The last value of a name, or NULL. */
const char *url_find(const struct url *u, const char *name);

/* Decodes len bytes at from into to (which has room for len + 1; may be the same place) and ends
 * them with a zero byte. Returns the length, or SIZE_MAX for an encoded zero byte. */
size_t url_decode(const char *from, size_t len, bool plus_is_space, char *to);

/* Writes a value so that url_parse() reads it back. */
void url_encode(FILE *out, const char *text);

#endif
