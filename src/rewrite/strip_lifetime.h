/* rewrite/strip_lifetime.h - first pass of strip: which allocations are to be left out.
 *
 * An allocation and what realloc() made of it are one chain, which lives from the first malloc() to
 * the last free(). Chains are left out or kept as a whole: those that ended and lived shorter than
 * the threshold (any that ended, when there is none) are left out. An allocation whose address was
 * allocated again without a release (only in damaged recordings) is left out as well.
 *
 * One bit for each allocation and one for each release is kept, in a struct spill; besides that,
 * memory depends on what is live at a time, and on the number of stacks.
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

/* Allocations left out, by stack. */
struct strip_group {
	struct dropped_group sums; /* its node is not set */
	uint32_t stack; /* number in strip_lifetime_stacks() */
};

/* Runs through the recording. */
int strip_lifetime_create(struct recording *r, const struct strip_rule *rule,
			  struct strip_lifetime **ret, struct err *err);
void strip_lifetime_destroy(struct strip_lifetime *s); /* NULL does nothing */

/* Is it left out? thread is the number in the recording, ordinal as in live_block and
 * replay_release. */
bool strip_lifetime_drops_alloc(const struct strip_lifetime *s, uint32_t thread, uint64_t ordinal);
bool strip_lifetime_drops_release(const struct strip_lifetime *s, uint32_t thread,
				  uint64_t ordinal);

const struct strip_group *strip_lifetime_groups(const struct strip_lifetime *s, size_t *n);
const struct stacks *strip_lifetime_stacks(const struct strip_lifetime *s);
const struct dropped_summary *strip_lifetime_summary(const struct strip_lifetime *s);

#endif
