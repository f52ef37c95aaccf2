/* serve/buckets.h - usage over time of the whole recording, from the table that the store has of it.
 *
 * A store keeps up to STORE_MAX_BUCKETS buckets of the whole recording, so the chart that is asked
 * for first needs no pass over the rows. Joined buckets are as exact as the single ones.
 */
#ifndef SERVE_BUCKETS_H
#define SERVE_BUCKETS_H

#include "serve/request.h"

struct buckets {
	struct store_bucket *bucket; /* owned */
	size_t n; /* 0: the store has no table */
	uint64_t width_ns;
};

/* As many as possible, but at most max. */
int buckets_join(const struct store *s, size_t max, struct buckets *ret, struct err *err);
void buckets_fini(struct buckets *b);

/* Does the request ask for everything, with no condition and no window? Parameters in the list
 * "a|b" do not count. */
bool buckets_fit(const struct request *rq, const char *besides);

#endif
