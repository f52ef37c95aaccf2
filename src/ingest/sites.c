/* ingest/sites.c - see sites.h. */
#include "ingest/sites.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

static int add_site(struct sites *s, uint32_t node, struct err *err)
{
	int r = vec_reserve(&s->site, &s->cap, s->n + 1, sizeof(*s->site), err);

	if (r == 0) /* each stack is listed at most once, so sites_peak() needs no more */
		r = vec_reserve(&s->changed, &s->cap_changed, s->n + 1, sizeof(*s->changed), err);
	if (r < 0)
		return r;
	s->site[s->n] = (struct site){
		.stats = {.node = node, .first_ns = UINT64_MAX, .min_size_bytes = UINT64_MAX}};
	s->n++;
	return 0;
}

int sites_init(struct sites *s, struct err *err)
{
	*s = (struct sites){.n_peaks = 1};
	return add_site(s, 0, err);
}

void sites_fini(struct sites *s)
{
	free(s->site);
	free(s->of_node);
	free(s->changed);
	*s = (struct sites){0};
}

static int add_nodes(struct sites *s, size_t n, struct err *err)
{
	int r = vec_reserve(&s->of_node, &s->cap_nodes, n, sizeof(*s->of_node), err);

	if (r < 0)
		return r;
	memset(s->of_node + s->n_nodes, 0, (n - s->n_nodes) * sizeof(*s->of_node));
	s->n_nodes = n;
	return 0;
}

int sites_number(struct sites *s, uint32_t node, uint32_t *ret, struct err *err)
{
	int r = 0;

	if (unlikely(node >= s->n_nodes))
		r = add_nodes(s, (size_t)node + 1, err);
	if (r == 0 && unlikely(s->of_node[node] == 0 && node != 0)) {
		r = add_site(s, node, err);
		if (r == 0)
			s->of_node[node] = (uint32_t)(s->n - 1);
	}
	if (r == 0)
		*ret = s->of_node[node];
	return r;
}

static void mark_changed(struct sites *s, struct site *site)
{
	if (site->changed_since == s->n_peaks)
		return;
	site->changed_since = s->n_peaks;
	s->changed[s->n_changed++] = (uint32_t)(site - s->site);
}

void sites_alloc(struct sites *s, uint32_t stack, uint64_t size_bytes, uint64_t at_ns)
{
	struct site *site = &s->site[stack];

	mark_changed(s, site);
	site->live_bytes += size_bytes;
	site->live_count++;
	site->stats.n_allocs++;
	site->stats.n_bytes += size_bytes;
	if (site->live_bytes > site->stats.max_bytes) {
		site->stats.max_bytes = site->live_bytes;
		site->stats.max_at_ns = at_ns;
	}
	if (at_ns < site->stats.first_ns)
		site->stats.first_ns = at_ns;
	if (at_ns > site->stats.last_ns)
		site->stats.last_ns = at_ns;
	if (size_bytes < site->stats.min_size_bytes)
		site->stats.min_size_bytes = size_bytes;
	if (size_bytes > site->stats.max_size_bytes)
		site->stats.max_size_bytes = size_bytes;
}

void sites_free(struct sites *s, uint32_t stack, uint64_t size_bytes)
{
	struct site *site = &s->site[stack];

	mark_changed(s, site);
	site->live_bytes -= size_bytes;
	site->live_count--;
}

void sites_peak(struct sites *s)
{
	for (size_t i = 0; i < s->n_changed; i++) {
		struct site *site = &s->site[s->changed[i]];

		site->stats.peak_bytes = site->live_bytes;
		site->stats.peak_count = site->live_count;
	}
	s->n_changed = 0;
	s->n_peaks++;
}
