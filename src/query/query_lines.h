/* query/query_lines.h - making query_lines of a tally by line. */
#ifndef QUERY_QUERY_LINES_H
#define QUERY_QUERY_LINES_H

#include "query/query_tally.h"

/* Largest bytes first. Keys are those of query_names.line. */
int query_lines_take(const struct query_tally *t, const struct query_names *names,
		     struct query_lines *ret, struct err *err);

#endif
