/* query/peak_cache.h - when the matches of a filter took most memory, kept between queries of a store.
 *
 * Finding a peak is a pass over all rows. A page of the GUI asks several questions with the same filter at
 * once, and each needs the same peak: the first question looks for the peak, the others wait for it.
 *
 * The key is the compiled plan of a query, with its sets of stacks and threads: all that the peak depends
 * on, compared byte by byte. At most PEAK_CACHE_ENTRIES peaks are kept, the longest unused one goes first.
 * Plans of more than PEAK_CACHE_MAX_KEY bytes (a million stacks) are not kept.
 * Threads: any, at once. A cache belongs to one store and must not outlive it.
 */
#ifndef QUERY_PEAK_CACHE_H
#define QUERY_PEAK_CACHE_H

#include "query/query.h"

#define PEAK_CACHE_ENTRIES 64u
#define PEAK_CACHE_MAX_KEY ((size_t)256 << 10)

struct peak_cache; /* opaque: defined in peak_cache.c */

/* NULL: no memory. Queries of another store pass by the cache. */
struct peak_cache *peak_cache_create(const struct store *store);
void peak_cache_destroy(struct peak_cache *c); /* NULL does nothing; nobody may use it */

/* The peak of q's matches: a kept one, or what find() gives. An error of find() is returned and not kept: whoever
 * waited then looks for the peak itself. ERR_CANCELLED also while waiting. */
int peak_cache_get(struct peak_cache *c, struct query *q,
		   int (*find)(struct query *q, struct query_peak *ret, struct err *err),
		   struct query_peak *ret, struct err *err);

#endif
