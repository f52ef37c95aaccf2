/* ingest/site_stats.c - see site_stats.h. */
#include "ingest/site_stats.h"

#include <stdlib.h>

#include "util/memory_budget.h"
#include "util/vec.h"

#define BUDGET_SIXTEENTHS 2u

int site_stats_init(struct site_stats *s, const char *folder, struct err *err)
{
	*s = (struct site_stats){.n_peaks = 1};
	s->memory.folder = folder;
	s->memory.budget_bytes = memory_budget_share(BUDGET_SIXTEENTHS);
	return site_stats_add(s, 0, err);
}

void site_stats_fini(struct site_stats *s)
{
	spill_vec_fini(&s->memory);
	free(s->changed);
	*s = (struct site_stats){0};
}

int site_stats_add(struct site_stats *s, uint32_t stack, struct err *err)
{
	int r = spill_vec_reserve(&s->memory, &s->site, (size_t)stack + 1, sizeof(*s->site), err);

	if (r == 0) /* a site is listed at most once, so there is always room */
		r = vec_reserve(&s->changed, &s->cap_changed, s->memory.cap, sizeof(*s->changed),
				err);
	if (r == 0 && s->n <= stack)
		s->n = (size_t)stack + 1;
	return r;
}

void site_stats_keep_peak(struct site_stats *s)
{
	for (size_t i = 0; i < s->n_changed; i++) {
		struct site_stat *site = &s->site[s->changed[i]];

		site->peak_bytes = site->live_bytes;
		site->peak_count = site->live_count;
	}
	s->n_changed = 0;
	s->n_peaks++;
	s->is_at_peak = false;
}

void site_stats_count_leak(struct site_stats *s, const struct live_block *block,
			   uint64_t duration_ns)
{
	struct site_stat *site = &s->site[block->stack];

	site->n_leaked++;
	site->leaked_bytes += block->size_bytes;
	site->leaked_extra_bytes += block->extra_bytes;
	if (store_is_early(duration_ns, block->at_ns))
		site->leaked_early_bytes += block->size_bytes;
	if (store_is_late(duration_ns, block->at_ns))
		site->leaked_late_bytes += block->size_bytes;
}

struct store_stack site_stats_row(const struct site_stat *site, const struct alloc_sum *sums,
				  uint32_t node)
{
	return (struct store_stack){
		.node = node,
		.n_allocs = sums->n_allocs,
		.n_bytes = sums->n_bytes,
		.n_leaked = site->n_leaked,
		.leaked_bytes = site->leaked_bytes,
		.n_temporary = site->n_temporary,
		.temporary_bytes = site->temporary_bytes,
		.extra_bytes = sums->extra_bytes,
		.leaked_extra_bytes = site->leaked_extra_bytes,
		.leaked_early_bytes = site->leaked_early_bytes,
		.leaked_late_bytes = site->leaked_late_bytes,
		.peak_bytes = site->peak_bytes,
		.peak_count = site->peak_count,
		.max_bytes = site->max_bytes,
		.max_at_ns = site->max_at_ns,
		.first_ns = sums->first_ns,
		.last_ns = sums->last_ns,
		.min_size_bytes = sums->min_size_bytes,
		.max_size_bytes = sums->max_size_bytes,
		.n_releases = site->n_releases,
		.lifetime_sum_ns = site->lifetime_sum_ns,
		.n_culled = sums->n_culled,
	};
}
