/* query/peak_cache.h - the peaks of filters, kept between queries of a store.
 *
 * Finding a peak takes a pass over all rows. A page of the GUI asks several questions with the
 * same filter at once, and each needs the same peak. The first question computes the peak, the
 * others wait for it.
 *
 * The key is the compiled plan of a query with its sets of stacks and threads. The peak depends on
 * nothing else. Keys are compared byte by byte. At most PEAK_CACHE_ENTRIES peaks are kept; the
 * least recently used one goes first. A plan of more than PEAK_CACHE_MAX_KEY bytes (a million
 * stacks) is not kept.
 *
 * Threads: any number at once. A cache belongs to one store and must not outlive the store.
 */
#ifndef QUERY_PEAK_CACHE_H
#define QUERY_PEAK_CACHE_H

#include "query/query.h"

#define PEAK_CACHE_ENTRIES 64u
#define PEAK_CACHE_MAX_KEY ((size_t)256 << 10)

struct peak_cache; /* opaque: defined in peak_cache.c */

/* NULL: no memory. A query of another store does not use the cache. */
struct peak_cache *peak_cache_create(const struct store *store);
void peak_cache_destroy(struct peak_cache *c); /* NULL does nothing; no other thread may use the
					        * cache */

/* The peak of the rows that match q: a kept one, or what find() computes. An error of find() is
 * returned and not kept; a waiting caller then calls its own find(). ERR_CANCELLED also ends the
 * waiting. */
int peak_cache_get(struct peak_cache *c, struct query *q,
		   int (*find)(struct query *q, struct query_peak *ret, struct err *err),
		   struct query_peak *ret, struct err *err);

#endif
