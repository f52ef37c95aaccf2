/* query/query_regex.h - a regular expression, compiled once and matched against many names.
 *
 * PCRE2 with its just-in-time compiler where there is one, and with limits on what a single match
 * may cost: an expression that runs into them does not hang a server, it gives an error. Texts and
 * expressions are UTF-8; bytes of a text that are not match nothing.
 * Threads: one at a time.
 */
#ifndef QUERY_QUERY_REGEX_H
#define QUERY_QUERY_REGEX_H

#include "util/err.h"

struct query_regex; /* opaque: defined in query_regex.c */

/* parameter: for the error, which names it, the place and what is wrong there (ERR_USAGE). Borrowed. */
int query_regex_create(const char *parameter, const char *pattern, struct query_regex **ret,
		       struct err *err);
/* The same for a text that is found as it stands, in upper or lower case. */
int query_regex_create_text(const char *parameter, const char *text, struct query_regex **ret,
			    struct err *err);
void query_regex_destroy(struct query_regex *x); /* NULL does nothing */

/* 1: found somewhere in the text. 0: not. -ERR_LIMIT: it costs too much to find out. */
int query_regex_match(struct query_regex *x, const char *text, struct err *err);

#endif
