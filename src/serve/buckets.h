/* serve/buckets.h - memory over time of the whole recording, from the table in the store.
 *
 * A store keeps up to STORE_MAX_BUCKETS buckets of the whole recording. So the first chart that a
 * user sees needs no pass over the rows. Joined buckets are as exact as the single ones.
 */
#ifndef SERVE_BUCKETS_H
#define SERVE_BUCKETS_H

#include "serve/request.h"

struct buckets {
	struct store_bucket *bucket; /* owned */
	size_t n; /* 0: the store has no table */
	uint64_t width_ns;
};

/* Joins the store's buckets to as many as possible, but at most max. */
int buckets_join(const struct store *s, size_t max, struct buckets *ret, struct err *err);
void buckets_fini(struct buckets *b);

/* Does the request ask for the whole recording, without a condition and without a window?
 * Parameters in the list `besides` ("a|b") do not count as conditions. */
bool buckets_fit(const struct request *rq, const char *besides);

#endif
