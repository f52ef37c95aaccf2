/* query/sweep.h - what was alive over time, exactly, in bounded memory. Private to query/.
 *
 * Births are sorted in a store, releases are not, so a running sum would need all that is alive.
 * Instead time is cut into many thin slices. A first pass adds up what was born and what died in
 * each; from that the level at the start of every slice is known exactly, and within a slice the
 * level can not exceed start + born. Most slices can therefore not hold the maximum of their
 * bucket. For those that can, a second pass collects the single events, which are sorted and
 * summed up. If they are too many for one pass, those that can be highest come first: what they turn
 * out to be usually rules out the rest. A slice with more events than fit is swept by itself.
 */
#ifndef QUERY_SWEEP_H
#define QUERY_SWEEP_H

#include "query/query_i.h"

/* n_buckets buckets of width_ns from from_ns on. */
struct sweep_span {
	uint64_t from_ns;
	uint64_t width_ns; /* not 0 */
	size_t n_buckets; /* not 0 */
	bool wants_first; /* max_at_ns must be the first moment of the maximum */
	bool wants_count; /* figures.max_count must be exact */
	bool is_everything; /* all rows match: maxima of whole store_buckets are known (not for
			     * wants_first, because their moments are not) */
};

struct sweep_bucket {
	struct store_bucket figures;
	uint64_t max_at_ns; /* without is_everything: a moment at which max_bytes were alive ... */
	uint64_t max_at_count; /* ... in so many blocks */
};

#define SWEEP_MAX_BUCKETS 65536u

/* since_ns / width_ns without a division; inverse_width is 1.0 / width_ns, the result at most
 * SWEEP_MAX_BUCKETS. */
static inline uint64_t sweep_bucket_of(uint64_t since_ns, uint64_t width_ns, double inverse_width)
{
	uint64_t bucket = (uint64_t)((double)since_ns * inverse_width);

	/* Rounding puts it at most one beside the right one. */
	if (bucket * width_ns > since_ns)
		bucket--;
	else if ((bucket + 1) * width_ns <= since_ns)
		bucket++;
	return bucket;
}

/* ERR_USAGE: too many buckets, or too long. */
int sweep_check(const struct sweep_span *span, struct err *err);

int sweep_run(struct query *q, const struct sweep_span *span, struct sweep_bucket *ret,
	      struct err *err);

#endif
