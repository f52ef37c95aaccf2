/* report/report.c - see report.h. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_name[REPORT_N_KINDS] = {"peak", "leaked", "allocations", "temporary",
						      "bytes"};

const char *report_kind_name(enum report_kind kind)
{
	return kind_name[kind];
}

bool report_kind_parse(const char *text, enum report_kind *ret)
{
	for (unsigned i = 0; i < REPORT_N_KINDS; i++) {
		if (strcmp(text, kind_name[i]) == 0) {
			*ret = (enum report_kind)i;
			return true;
		}
	}
	return false;
}

uint64_t report_bytes(enum report_kind kind, const struct query_group *g)
{
	switch (kind) {
	case REPORT_PEAK:
		return g->peak_bytes;
	case REPORT_LEAKED:
		return g->leaked_bytes;
	case REPORT_TEMPORARY:
		return g->temporary_bytes;
	default:
		return g->n_bytes;
	}
}

uint64_t report_count(enum report_kind kind, const struct query_group *g)
{
	switch (kind) {
	case REPORT_PEAK:
		return g->peak_count;
	case REPORT_LEAKED:
		return g->n_leaked;
	case REPORT_TEMPORARY:
		return g->n_temporary;
	default:
		return g->n_allocs;
	}
}

uint64_t report_weight(enum report_kind kind, const struct query_group *g)
{
	return kind == REPORT_ALLOCATIONS || kind == REPORT_TEMPORARY ? report_count(kind, g)
								      : report_bytes(kind, g);
}

/* A site of weight 0 may still have blocks of 0 bytes: such sites come last in the list. */
static bool is_in_list(enum report_kind kind, const struct query_group *g)
{
	return report_weight(kind, g) > 0 || report_count(kind, g) > 0;
}

int report_compare(enum report_kind k, const struct query_group *x, const struct query_group *y)
{
	uint64_t wx = report_weight(k, x), wy = report_weight(k, y);

	if (wx == wy) {
		wx = report_count(k, x) + report_bytes(k, x);
		wy = report_count(k, y) + report_bytes(k, y);
	}
	if (wx != wy)
		return wx > wy ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int compare_sites(const void *a, const void *b, void *kind)
{
	return report_compare(*(const enum report_kind *)kind,
			      *(const struct query_group *const *)a,
			      *(const struct query_group *const *)b);
}

static int make_list(struct report *r, enum report_kind kind, struct err *err)
{
	struct report_list *l = &r->list[kind];

	if (!r->is_wanted[kind] || r->groups.n == 0)
		return 0;
	l->site = calloc(r->groups.n, sizeof(*l->site));
	if (!l->site)
		return err_set_memory(err, r->groups.n * sizeof(*l->site));
	for (size_t i = 0; i < r->groups.n; i++) {
		if (is_in_list(kind, &r->groups.group[i]))
			l->site[l->n_sites++] = &r->groups.group[i];
	}
	qsort_r(l->site, l->n_sites, sizeof(*l->site), compare_sites, &kind);
	l->n_shown = r->limit[kind] < l->n_sites ? (size_t)r->limit[kind] : l->n_sites;
	return 0;
}

int report_make(struct report *r, struct err *err)
{
	int n = 0;

	r->facts = store_facts(r->context.store);
	if (!r->query) {
		n = query_create(&r->context, r->filter, &r->query, err);
		r->owns_query = true;
	}
	if (n == 0)
		n = query_groups(r->query, QUERY_BY_STACK, &r->groups, err);
	if (n == 0)
		n = query_peak(r->query, &r->peak, err);
	for (unsigned k = 0; k < REPORT_N_KINDS && n == 0; k++)
		n = make_list(r, (enum report_kind)k, err);
	return n == 0 ? frames_need_all(r->context.frames, err) : n;
}

void report_fini(struct report *r)
{
	for (unsigned k = 0; k < REPORT_N_KINDS; k++)
		free(r->list[k].site);
	query_groups_fini(&r->groups);
	if (r->owns_query)
		query_destroy(r->query);
}

const struct frame *report_site_frame(struct report *r, uint32_t stack)
{
	return frame_class_blame(query_rules(r->query), r->context.frames, stack, NULL);
}
