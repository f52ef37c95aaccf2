/* ingest/site_stats.h - what is known of each stack that calls name, while a recording is read.
 *
 * A call site is a stack; sites are kept by the number of the stack (stacks.h), which the rows of a
 * store hold as well. Figures that need no releases are in alloc_sums.h.
 *
 * What each site contributes to the peak. The live bytes of each site change with every step, and
 * at a new peak all of them would have to be copied. Instead, a site that changed since the last
 * peak is on a list, and a new peak copies only the sites of the list. While one peak directly
 * follows another, nothing is copied: is_at_peak says that the copy is due before the next step
 * that is no peak. So each step costs a constant, and the contributions add up to the peak exactly.
 *
 * Errors: ERR_MEMORY. Threads: one.
 */
#ifndef INGEST_SITE_STATS_H
#define INGEST_SITE_STATS_H

#include "ingest/alloc_sums.h"
#include "ingest/replay_events.h"
#include "store/columns.h"
#include "util/spill_vec.h"

/* Two cache lines: every step needs the first, few steps need the second. */
struct site_stat {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t max_bytes; /* greatest live_bytes ... */
	uint64_t max_at_ns; /* ... and when it was first reached */
	uint64_t lifetime_sum_ns;
	uint64_t n_releases; /* calls that released a block and had this stack */
	uint64_t n_temporary;
	uint32_t changed_since; /* number of the last peak for which the site is listed */
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
	size_t n;
	struct spill_vec memory; /* of site */
	uint32_t *changed; /* the list: sites that changed since the last copy */
	size_t n_changed, cap_changed;
	uint32_t n_peaks; /* copies so far, + 1 */
	bool is_at_peak; /* what is live now is the peak, and not copied yet */
};

/* Makes stats with the empty stack only. folder, for a temporary file, is borrowed; NULL:
 * temp_file_folder(). */
int site_stats_init(struct site_stats *s, const char *folder, struct err *err);
void site_stats_fini(struct site_stats *s);

/* Makes room for a stack, and for all with lower numbers. */
int site_stats_add(struct site_stats *s, uint32_t stack, struct err *err);

/* What is live now is the peak: copies it. */
void site_stats_keep_peak(struct site_stats *s);

/* Counts a block that is live at the end of the recording, duration_ns after its start: the block was
 * leaked, as far as the recording says. */
void site_stats_count_leak(struct site_stats *s, const struct live_block *block,
			   uint64_t duration_ns);

/* The row of a stack in the table STORE_STACKS; node: the store's node of its innermost frame. */
struct store_stack site_stats_row(const struct site_stat *site, const struct alloc_sum *sums,
				  uint32_t node);

/* Prefetches the sites of a step that comes some steps later. */
static ALWAYS_INLINE void site_stats_prefetch(const struct site_stats *s,
					      const struct replay_step *step)
{
	__builtin_prefetch(&s->site[step->stack], 1);
	__builtin_prefetch(&s->site[step->release_stack], 1);
}

/* Puts a site on the list, if it is not there. */
static inline void site_stats_mark_changed(struct site_stats *s, struct site_stat *site)
{
	if (site->changed_since == s->n_peaks)
		return;
	site->changed_since = s->n_peaks;
	s->changed[s->n_changed++] = (uint32_t)(site - s->site);
}

/* Counts an allocation. There is room for its stack. Inline, as site_stats_release(): one of them
 * runs in every step. */
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

/* Counts a temporary allocation (replay_events.h). */
static inline void site_stats_temporary(struct site_stat *site, uint64_t size_bytes)
{
	site->n_temporary++;
	site->temporary_bytes += size_bytes;
}

/* Counts a release. There is room for both of its stacks. */
static inline void site_stats_release(struct site_stats *s, const struct replay_step *step)
{
	struct site_stat *site = &s->site[step->stack];

	site_stats_mark_changed(s, site);
	site->live_bytes -= step->size_bytes;
	site->live_count--;
	site->lifetime_sum_ns += step->lifetime_ns;
	if (step->flags & REPLAY_STEP_TEMPORARY)
		site_stats_temporary(site, step->size_bytes);
	s->site[step->release_stack].n_releases++;
}

#endif
