/* query/query_regex.h - a regular expression, compiled once and matched against many names.
 *
 * PCRE2, with its just-in-time compiler where there is one. A single match has a cost limit: an
 * expression that exceeds the limit gives an error and does not hang a server. Texts and
 * expressions are UTF-8; bytes of a text that are not UTF-8 match nothing.
 *
 * Threads: one at a time.
 */
#ifndef QUERY_QUERY_REGEX_H
#define QUERY_QUERY_REGEX_H

#include "util/err.h"

struct query_regex; /* opaque: defined in query_regex.c */

/* parameter: the name for the error text, borrowed. ERR_USAGE: the pattern is not valid; the text
 * names the parameter, the offset and the fault. */
int query_regex_create(const char *parameter, const char *pattern, struct query_regex **ret,
		       struct err *err);
/* The same for a literal text, found in upper or lower case. */
int query_regex_create_text(const char *parameter, const char *text, struct query_regex **ret,
			    struct err *err);
void query_regex_destroy(struct query_regex *x); /* NULL does nothing */

/* Returns 1: found somewhere in the text. 0: not found. -ERR_LIMIT: the match costs too much. */
int query_regex_match(struct query_regex *x, const char *text, struct err *err);

#endif
