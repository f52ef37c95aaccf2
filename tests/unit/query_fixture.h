/* query_fixture.h - a world, its store and one query for tests that compare answers with naive counts.
 *
 * One of each at a time. A failed step fails the test.
 */
#ifndef QUERY_FIXTURE_H
#define QUERY_FIXTURE_H

#include "query/query.h"
#include "query_naive.h"

extern struct world world;
extern struct store *store;
extern struct frames *frames;
extern struct filter filter;
extern struct query *q;
extern bool *chosen; /* rows that match, as the naive evaluation says */

/* The store of the world, which the test made before. fixture_close() frees the world, too. */
void fixture_open(void);
void fixture_close(void);

/* The query with these conditions, by three threads where there is work for them; sets chosen. */
void fixture_ask(const struct naive *n);
void fixture_end(void);

/* All in one: a world of rows that the test chose, in one chain if it says so, and the query that lets all
 * pass. A row without times is allocated at 10 + its number and never freed. */
void fixture_rows(const struct world_row *row, size_t n, bool is_chain);

/* A random number. */
uint64_t below(uint64_t n);

#endif
