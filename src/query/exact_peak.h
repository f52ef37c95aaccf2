/* query/exact_peak.h - what was alive over time, exactly, in bounded memory. Private to query/.
 *
 * A store holds rows in the order of allocation. The releases are in no order, so a running sum
 * would need a list of all live blocks. Instead:
 *  1. Time is cut into many thin slices. A first pass adds up what each slice allocated and
 *     released. So the level at the start of each slice is known exactly. Within a slice the level
 *     cannot exceed start + allocated, so most slices cannot hold the maximum of their bucket.
 *  2. A second pass collects the single events of the slices that can hold a maximum. The events
 *     are sorted and summed up.
 *  3. If there are too many events for one pass, the slices with the highest upper bounds come
 *     first (of many buckets: those next in time). Their maxima usually rule out the rest. A slice with more events than fit is cut into
 *     slices itself.
 *
 * All events of one nanosecond count together: the level of a moment is the level after them all.
 *
 * Example, one bucket of three slices: levels at the start 0, 50, 20; allocated 60, 5, 10. The
 * upper bounds are 60, 55, 30. Slice 1 is looked at first; if its maximum is 56, no other slice
 * can be higher.
 */
#ifndef QUERY_EXACT_PEAK_H
#define QUERY_EXACT_PEAK_H

#include "query/query_i.h"

/* The buckets: n_buckets of width_ns each, from from_ns on. */
struct exact_peak_span {
	uint64_t from_ns;
	uint64_t width_ns; /* not 0 */
	size_t n_buckets; /* not 0 */
	bool wants_first; /* max_at_ns must be the first moment of the maximum */
	bool wants_count; /* figures.max_count must be exact */
	bool is_everything; /* all rows match, so the maxima of whole store_buckets are known. Not
			     * with wants_first: the moments of these maxima are not known */
};

struct exact_peak_bucket {
	struct store_bucket figures;
	uint64_t max_at_ns; /* without is_everything: a moment with max_bytes alive */
	uint64_t max_at_count; /* blocks alive at max_at_ns */
};

#define EXACT_PEAK_MAX_BUCKETS 65536u

/* since_ns / width_ns without a division. inverse_width is 1.0 / width_ns. The result must be at
 * most EXACT_PEAK_MAX_BUCKETS. */
static inline uint64_t exact_peak_bucket_of(uint64_t since_ns, uint64_t width_ns,
					    double inverse_width)
{
	uint64_t bucket = (uint64_t)((double)since_ns * inverse_width);

	/* Rounding makes the quotient wrong by at most one. */
	if (bucket * width_ns > since_ns)
		bucket--;
	else if ((bucket + 1) * width_ns <= since_ns)
		bucket++;
	return bucket;
}

/* ERR_USAGE: too many buckets, or the span is too long. */
int exact_peak_check(const struct exact_peak_span *span, struct err *err);

int exact_peak_run(struct query *q, const struct exact_peak_span *span,
		   struct exact_peak_bucket *ret, struct err *err);

#endif
