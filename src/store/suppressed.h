/* store/suppressed.h - leaks that the reader knows and does not want to see.
 *
 * A suppression names call sites (open/suppressions.h finds them by a pattern). From store_suppress()
 * on, a row of such a call site that was never released does not count as leaked: its value of
 * STORE_LIFETIME_NS becomes a release at STORE_SUPPRESSED_NS, longer after the start than any recording
 * takes. So all other figures (memory over time, the peak, numbers of allocations) stay as they are.
 * The tables STORE_STACKS, STORE_CHAINS, STORE_BUCKETS and STORE_FACTS say the same.
 *
 * Code that asks whether a row was released asks store_is_released() (store/columns.h).
 */
#ifndef STORE_SUPPRESSED_H
#define STORE_SUPPRESSED_H

#include "store/store.h"

struct store_suppression {
	const char *pattern; /* borrowed from the caller of store_suppress() */
	uint64_t n_stacks; /* with leaks that the pattern suppresses */
	uint64_t n_leaked;
	uint64_t leaked_bytes;
};

/* rule: for each stack 0, or 1 + the index of a pattern. The patterns must outlive the store. Call it
 * once, before another thread uses the store. A store without rows keeps its STORE_BUCKETS and
 * STORE_CHAINS. -ERR_MEMORY: nothing has changed. */
int store_suppress(struct store *s, const uint32_t *rule, const char *const *pattern,
		   size_t n_patterns, struct err *err);

/* What each pattern suppressed, in the order of the patterns. *n is 0 without store_suppress(). */
const struct store_suppression *store_suppressions(const struct store *s, size_t *n);

#endif
