/* query_naive_time.h - groups of rows over time, in the simplest way: query_naive.h.
 *
 * Keys of groups that go by names are hashes of the names here, so that they do not depend on the
 * numbers that a query gives them.
 */
#ifndef QUERY_NAIVE_TIME_H
#define QUERY_NAIVE_TIME_H

#include "query/query.h"
#include "query_synth.h"

/* The key of every row, for the caller to free. The store tells the executable. */
uint64_t *naive_keys(const struct world *w, const struct store *store, enum query_group_by by);

/* The same of a group that a query found, with one of its stacks. */
uint64_t naive_group_key(struct query *q, enum query_group_by by, uint64_t key, uint32_t stack);

/* Checks group_series_total(), group_series_of(), group_series_top() and query_growth() of the chosen
 * rows, each for random groups, kinds and times. */
void naive_check_series(struct world *w, const struct store *store, const bool *chosen,
			struct query *q);
void naive_check_growth(struct world *w, const struct store *store, const bool *chosen,
			struct query *q);

#endif
