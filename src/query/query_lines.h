/* query/query_lines.h - turns a tally by line into struct query_lines. */
#ifndef QUERY_QUERY_LINES_H
#define QUERY_QUERY_LINES_H

#include "query/by_function.h"
#include "query/query_tally.h"

/* Most bytes first. The keys of the tally are indices of query_names.line. */
int query_lines_take(const struct query_tally *t, const struct query_names *names,
		     struct query_lines *ret, struct err *err);

#endif
