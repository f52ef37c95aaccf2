/* ingest/site_stats.h - what is known of each stack that calls name, kept while a recording is read; what is
 * known without its releases is in alloc_sums.h.
 *
 * By the number of the stack (stacks.h), which the rows of a store hold as well. Live bytes are kept
 * per stack, and what they were at the highest peak so far: a stack that changed since then is on a
 * list, and a new peak copies only those; while one peak follows the other nothing is copied. So
 * each step costs a constant, and the contributions to the peak sum up to it exactly.
 */
#ifndef INGEST_SITE_STATS_H
#define INGEST_SITE_STATS_H

#include "ingest/alloc_sums.h"
#include "ingest/replay.h"
#include "store/columns.h"

/* Two cache lines: every step needs the first, few the second. */
struct site_stat {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t max_bytes; /* greatest live_bytes ... */
	uint64_t max_at_ns; /* ... and when it was first reached */
	uint64_t lifetime_sum_ns;
	uint64_t n_releases; /* calls that released something from this stack */
	uint64_t n_temporary;
	uint32_t changed_since; /* number of the last peak it is listed for */
	uint32_t unused;

	uint64_t temporary_bytes;
	uint64_t peak_bytes;
	uint64_t peak_count;
	uint64_t n_leaked;
	uint64_t leaked_bytes;
	uint64_t leaked_extra_bytes;
	uint64_t leaked_early_bytes; /* as in struct store_stack */
	uint64_t leaked_late_bytes;
};

_Static_assert(sizeof(struct site_stat) == 128, "cache lines");

struct site_stats {
	struct site_stat *site; /* by number of the stack */
	size_t n, cap;
	uint32_t *changed; /* stacks that changed since the last peak */
	size_t n_changed, cap_changed;
	uint32_t n_peaks;
	bool is_at_peak; /* what is live now is the most so far, and not copied yet */
};

int site_stats_init(struct site_stats *s, struct err *err);
void site_stats_fini(struct site_stats *s);

/* Makes sure that a stack has a place. */
int site_stats_add(struct site_stats *s, uint32_t stack, struct err *err);

/* What is live now is the most so far: it is copied. */
void site_stats_keep_peak(struct site_stats *s);

/* What a store tells of a stack; node: its innermost frame. */
struct store_stack site_stats_row(const struct site_stat *site, const struct alloc_sum *sums,
				  uint32_t node);

/* The step comes soon. */
static ALWAYS_INLINE void site_stats_prefetch(const struct site_stats *s,
					      const struct replay_step *step)
{
	__builtin_prefetch(&s->site[step->stack], 1);
	__builtin_prefetch(&s->site[step->release_stack], 1);
}

static inline void site_stats_mark_changed(struct site_stats *s, struct site_stat *site)
{
	if (site->changed_since == s->n_peaks)
		return;
	site->changed_since = s->n_peaks;
	s->changed[s->n_changed++] = (uint32_t)(site - s->site);
}

/* The stack has a place. Inline, as site_stats_release(): one of them is in every step. */
static inline void site_stats_alloc(struct site_stats *s, const struct replay_step *step)
{
	struct site_stat *site = &s->site[step->stack];

	site_stats_mark_changed(s, site);
	site->live_bytes += step->size_bytes;
	site->live_count++;
	if (site->live_bytes > site->max_bytes) {
		site->max_bytes = site->live_bytes;
		site->max_at_ns = step->at_ns;
	}
}

/* Both stacks have a place. */
static inline void site_stats_release(struct site_stats *s, const struct replay_step *step)
{
	struct site_stat *site = &s->site[step->stack];

	site_stats_mark_changed(s, site);
	site->live_bytes -= step->size_bytes;
	site->live_count--;
	site->lifetime_sum_ns += step->lifetime_ns;
	if (step->flags & REPLAY_STEP_TEMPORARY) {
		site->n_temporary++;
		site->temporary_bytes += step->size_bytes;
	}
	s->site[step->release_stack].n_releases++;
}

#endif
