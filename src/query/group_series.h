/* query/group_series.h - groups over time: the value of each group in each bucket.
 *
 * Values are exact. In a pass over the matching rows each thread adds up the changes per bucket
 * and group. The running sum over the buckets then gives what is alive.
 *
 * Memory: 8 bytes for each bucket of each group that a pass counts, at most GROUP_SERIES_CELLS of
 * them, for each thread.
 *
 * The buckets are those of query_timeline(): query_timeline_width() wide, from from_ns on. Calls
 * can be cancelled, as all calls of query.h.
 */
#ifndef QUERY_GROUP_SERIES_H
#define QUERY_GROUP_SERIES_H

#include "query/query.h"

enum group_series_kind {
	GROUP_SERIES_BYTES, /* alive at the end of the bucket */
	GROUP_SERIES_COUNT, /* blocks alive at the end of the bucket */
	GROUP_SERIES_ALLOCATIONS, /* in the bucket */
	GROUP_SERIES_TEMPORARY, /* temporary allocations in the bucket */
	GROUP_SERIES_LEAKED_BYTES, /* alive at the end of the bucket, and never freed */
};

struct group_series {
	enum query_group_by by; /* anything but SIZE_CLASS */
	enum group_series_kind kind;
	uint64_t from_ns, to_ns;
	size_t n_buckets; /* 1 to 65536: ERR_USAGE otherwise */
};

#define GROUP_SERIES_CELLS ((size_t)1 << 21)

/* The values of all matching rows together. ret has room for n_buckets. The member `by` is not
 * used. */
int group_series_total(struct query *q, const struct group_series *s, uint64_t *ret,
		       struct err *err);

/* The values of some groups, with keys as in query_groups(): ret[i * n_buckets + bucket] is the
 * value of key[i]. ERR_LIMIT: n_keys * n_buckets is more than GROUP_SERIES_CELLS. */
int group_series_of(struct query *q, const struct group_series *s, const uint64_t *key,
		    size_t n_keys, uint64_t *ret, struct err *err);

/* The same for BYTES, and in the same pass LEAKED_BYTES, whose values are behind all others: ret has room
 * for twice as many, and so has GROUP_SERIES_CELLS. */
int group_series_with_leaked(struct query *q, const struct group_series *s, const uint64_t *key,
			     size_t n_keys, uint64_t *ret, struct err *err);

/* The groups with the greatest values. */
struct group_series_top {
	struct group_series_group {
		uint64_t key;
		uint32_t stack; /* by CODE to PACKAGE: the stack with most of the series' cost */
		uint64_t *value; /* n_buckets, owned */
	} * group; /* owned; greatest value first, then smaller key; each has a value above 0 */
	size_t n;
	uint64_t *other; /* n_buckets, owned: the values of all other matching rows */
};

/* The n groups with the greatest value in any one bucket. One pass over the rows. More passes only
 * if there are more groups than fit into GROUP_SERIES_CELLS and the first groups do not rule out
 * the others. */
int group_series_top(struct query *q, const struct group_series *s, size_t n,
		     struct group_series_top *ret, struct err *err);
void group_series_top_fini(struct group_series_top *t); /* a zeroed struct is empty */

#endif
