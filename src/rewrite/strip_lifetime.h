/* rewrite/strip_lifetime.h - the first pass of strip: which allocations are left out.
 *
 * An allocation and the blocks that realloc() made of it are one chain, which lives from the first
 * malloc() to the last free(). A chain is left out or kept as a whole. A chain is left out if it
 * ended and lived shorter than the threshold (if there is no threshold: if it ended). An allocation
 * whose address was allocated again without a release, which happens in damaged recordings only, is
 * left out as well.
 *
 * Keeps one bit for each allocation and one for each release, in a struct spill. Other memory
 * depends on what is live at a time, and on the number of stacks. Threads: one.
 */
#ifndef REWRITE_STRIP_LIFETIME_H
#define REWRITE_STRIP_LIFETIME_H

#include "ingest/replay.h"
#include "recording/dropped_chunk.h"

struct strip_lifetime; /* opaque: defined in strip_lifetime.c */

struct strip_rule {
	bool has_threshold;
	uint64_t threshold_ns;
	const char *scratch_folder; /* for struct spill */
};

/* The allocations of one stack that are left out. */
struct strip_group {
	struct dropped_group sums; /* sums.node is not set */
	uint32_t stack; /* number in strip_lifetime_stacks() */
};

/* Runs through the recording. Errors are those of replay_run(). */
int strip_lifetime_create(struct recording *r, const struct strip_rule *rule,
			  struct strip_lifetime **ret, struct err *err);
void strip_lifetime_destroy(struct strip_lifetime *s); /* NULL does nothing */

/* Is an allocation, or a release, left out? thread is the number in the recording; ordinal as in
 * live_block and replay_release. */
bool strip_lifetime_drops_alloc(const struct strip_lifetime *s, uint32_t thread, uint64_t ordinal);
bool strip_lifetime_drops_release(const struct strip_lifetime *s, uint32_t thread,
				  uint64_t ordinal);

/* The sums of what is left out, and the stacks; borrowed until strip_lifetime_destroy(). */
const struct strip_group *strip_lifetime_groups(const struct strip_lifetime *s, size_t *n);
const struct stacks *strip_lifetime_stacks(const struct strip_lifetime *s);
const struct dropped_summary *strip_lifetime_summary(const struct strip_lifetime *s);

#endif
