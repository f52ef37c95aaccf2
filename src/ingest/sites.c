/* ingest/sites.c - see sites.h. */
#include "ingest/sites.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "util/huge_pages.h"
#include "util/vec.h"

#define FIRST_SITES 256u

int sites_init(struct sites *s, struct err *err)
{
	*s = (struct sites){.n_peaks = 1};
	return sites_add(s, 0, err);
}

void sites_fini(struct sites *s)
{
	if (s->site)
		munmap(s->site, s->cap * sizeof(*s->site));
	free(s->changed);
	*s = (struct sites){0};
}

/* Pages of their own, which move without a copy: there may be hundreds of megabytes. */
static int grow(struct sites *s, size_t n, struct err *err)
{
	size_t cap = s->cap ? s->cap * 2 : FIRST_SITES;
	void *bigger;

	while (cap < n)
		cap *= 2;
	if (s->site)
		bigger = mremap(s->site, s->cap * sizeof(*s->site), cap * sizeof(*s->site),
				MREMAP_MAYMOVE);
	else
		bigger = mmap(NULL, cap * sizeof(*s->site), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bigger == MAP_FAILED)
		return err_set_memory(err, cap * sizeof(*s->site));
	huge_pages_advise(bigger, cap * sizeof(*s->site));
	s->site = bigger;
	s->cap = cap;
	return 0;
}

_Static_assert(FIRST_SITES * sizeof(struct site) % 4096 == 0, "whole pages");

int sites_add(struct sites *s, uint32_t stack, struct err *err)
{
	int r = 0;

	if (stack >= s->cap)
		r = grow(s, (size_t)stack + 1, err);
	if (r == 0) /* each stack is listed at most once, so there is always room */
		r = vec_reserve(&s->changed, &s->cap_changed, s->cap, sizeof(*s->changed), err);
	if (r < 0)
		return r;
	while (s->n <= stack)
		s->site[s->n++] =
			(struct site){.first_ns = UINT64_MAX, .min_size_bytes = UINT64_MAX};
	return 0;
}

void sites_keep_peak(struct sites *s)
{
	for (size_t i = 0; i < s->n_changed; i++) {
		struct site *site = &s->site[s->changed[i]];

		site->peak_bytes = site->live_bytes;
		site->peak_count = site->live_count;
	}
	s->n_changed = 0;
	s->n_peaks++;
	s->is_at_peak = false;
}

struct store_stack sites_stats(const struct site *site, uint32_t node)
{
	return (struct store_stack){
		.node = node,
		.n_allocs = site->n_allocs,
		.n_bytes = site->n_bytes,
		.n_leaked = site->n_leaked,
		.leaked_bytes = site->leaked_bytes,
		.n_temporary = site->n_temporary,
		.temporary_bytes = site->temporary_bytes,
		.extra_bytes = site->extra_bytes,
		.leaked_extra_bytes = site->leaked_extra_bytes,
		.peak_bytes = site->peak_bytes,
		.peak_count = site->peak_count,
		.max_bytes = site->max_bytes,
		.max_at_ns = site->max_at_ns,
		.first_ns = site->n_allocs ? site->first_ns : 0,
		.last_ns = site->last_ns,
		.min_size_bytes = site->n_allocs ? site->min_size_bytes : 0,
		.max_size_bytes = site->max_size_bytes,
		.n_releases = site->n_releases,
		.lifetime_sum_ns = site->lifetime_sum_ns,
	};
}
