/* ingest/usage.h - live bytes and calls over time, in at most STORE_MAX_BUCKETS buckets.
 *
 * The length of the recording is not known beforehand: buckets begin narrow, and when they do not
 * reach any more, two become one. Times may go back a little; what is late counts in the newest
 * bucket.
 */
#ifndef INGEST_USAGE_H
#define INGEST_USAGE_H

#include "store/columns.h"

struct usage {
	struct store_bucket bucket[STORE_MAX_BUCKETS];
	uint64_t width_ns;
	uint64_t end_ns; /* of the current bucket */
	uint32_t current;
	uint64_t live_bytes;
	uint64_t live_count;
};

void usage_init(struct usage *u);

void usage_alloc(struct usage *u, uint64_t at_ns, uint64_t size_bytes);
void usage_free(struct usage *u, uint64_t at_ns, uint64_t size_bytes);

/* Time goes on to the end of the recording. */
void usage_finish(struct usage *u, uint64_t duration_ns);

/* Counts a block that was never released where it was born. After usage_finish(). */
void usage_leaked(struct usage *u, uint64_t born_ns, uint64_t size_bytes);

#endif
