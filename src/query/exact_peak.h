/* query/exact_peak.h - what was alive over time, exactly, in bounded memory. Private to query/.
 *
 * A store holds rows in the order of allocation; the frees are in no order, so a running sum would need
 * a list of all live blocks. Instead:
 * 1. Time is cut into many thin slices. A first pass adds up what was allocated and what was freed in
 *    each slice. So the level at the start of each slice is known exactly, and within a slice the
 *    level cannot exceed start + allocated. Most slices cannot hold the maximum of their bucket.
 * 2. A second pass collects the single events of the slices that can. They are sorted and summed up.
 * 3. If there are too many events for one pass, the slices that can be highest come first; their
 *    maxima usually rule out the rest. A slice with more events than fit is cut into slices itself.
 */
#ifndef QUERY_EXACT_PEAK_H
#define QUERY_EXACT_PEAK_H

#include "query/query_i.h"

/* n_buckets buckets of width_ns from from_ns on. */
struct exact_peak_span {
	uint64_t from_ns;
	uint64_t width_ns; /* not 0 */
	size_t n_buckets; /* not 0 */
	bool wants_first; /* max_at_ns must be the first moment of the maximum */
	bool wants_count; /* figures.max_count must be exact */
	bool is_everything; /* all rows match: maxima of whole store_buckets are known (not for
			     * wants_first, because their moments are not) */
};

struct exact_peak_bucket {
	struct store_bucket figures;
	uint64_t max_at_ns; /* without is_everything: a moment at which max_bytes were alive ... */
	uint64_t max_at_count; /* ... in so many blocks */
};

#define EXACT_PEAK_MAX_BUCKETS 65536u

/* since_ns / width_ns without a division; inverse_width is 1.0 / width_ns, the result at most
 * EXACT_PEAK_MAX_BUCKETS. */
static inline uint64_t exact_peak_bucket_of(uint64_t since_ns, uint64_t width_ns,
					    double inverse_width)
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
int exact_peak_check(const struct exact_peak_span *span, struct err *err);

int exact_peak_run(struct query *q, const struct exact_peak_span *span,
		   struct exact_peak_bucket *ret, struct err *err);

#endif
