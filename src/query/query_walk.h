/* query/query_walk.h - every matching stack, with its cost and its frames. */
#ifndef QUERY_QUERY_WALK_H
#define QUERY_QUERY_WALK_H

#include "query/query_i.h"

struct query_walk_stack {
	const uint32_t *frame; /* indices in query_names.frame, innermost first */
	const uint32_t *function; /* the numbers of the frames' names */
	size_t n;
	uint32_t number; /* from 1, different for each stack of the walk */
	const struct query_group *cost; /* of all its matching rows */
};

/* Calls fn for each stack until fn returns an error, which becomes the result. Call
 * query_need_names() before. */
int query_walk(struct query *q,
	       int (*fn)(void *user, const struct query_walk_stack *s, struct err *err), void *user,
	       struct err *err);

#endif
