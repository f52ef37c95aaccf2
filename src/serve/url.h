/* serve/url.h - splits a request's target into path segments and name=value pairs.
 *
 * Decoding accepts what people type: a '%' without two hexadecimal digits after it stands for
 * itself ("50%&count=3"), as in the examples of the old API. '+' in a query is a space, as in HTML
 * forms. Errors are: an encoded zero byte, and more than the limits below. The bytes may be
 * invalid UTF-8; the code that shows them checks.
 *
 * Segments are split before they are decoded. So an encoded '/' is part of its segment and never
 * separates segments. Nothing here touches the file system: ".." is a name like any other.
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
	size_t n_segments; /* "/" has none; "/a/" has two, and the second is empty */
	struct url_pair *pair; /* owned; in the order given */
	size_t n_pairs;
};

#define URL_NONE ((struct url){.text = NULL})

/* target: path and query as the client sent them; a fragment is cut off. ERR_USAGE: a part is not
 * valid. ERR_LIMIT: the target is too long or has too many parts. */
int url_parse(const char *target, struct url *ret, struct err *err);
void url_fini(struct url *u); /* accepts URL_NONE */

/* Removes all pairs with a name. */
void url_remove(struct url *u, const char *name);

/* The last value of a name, or NULL. */
const char *url_find(const struct url *u, const char *name);

/* Decodes len bytes of `from` into `to` and adds a zero byte. `to` has room for len + 1 bytes and
 * may equal `from`. Returns the length; SIZE_MAX: an encoded zero byte. */
size_t url_decode(const char *from, size_t len, bool plus_is_space, char *to);

/* Writes a value, encoded so that url_parse() reads it back. */
void url_encode(FILE *out, const char *text);

#endif
