/* cli/report.c - see report.h. */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/human.h"
#include "util/vec.h"

#define LIMIT_SORTED 20 /* sites of the one list that was asked for */
#define LIMIT_FIRST 10 /* of the first list, when all are shown */
#define LIMIT_OTHERS 5
#define LIMIT_JSON 20

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

/* A site of weight 0 may still have blocks of 0 bytes: they are listed, last. */
static bool is_in_list(enum report_kind kind, const struct query_group *g)
{
	return report_weight(kind, g) > 0 || report_count(kind, g) > 0;
}

/* Greatest first; equal ones always in the same order. */
static int compare_sites(const void *a, const void *b, void *kind)
{
	const struct query_group *x = *(const struct query_group *const *)a;
	const struct query_group *y = *(const struct query_group *const *)b;
	enum report_kind k = *(const enum report_kind *)kind;
	uint64_t wx = report_weight(k, x), wy = report_weight(k, y);

	if (wx == wy) {
		wx = report_count(k, x) + report_bytes(k, x);
		wy = report_count(k, y) + report_bytes(k, y);
	}
	if (wx != wy)
		return wx > wy ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static size_t limit_of(const struct report_options *o, enum report_kind kind, size_t n_sites)
{
	uint64_t limit = o->has_limit          ? o->limit
			 : o->is_json          ? LIMIT_JSON
			 : o->has_sort         ? LIMIT_SORTED
			 : kind == REPORT_PEAK ? LIMIT_FIRST
					       : LIMIT_OTHERS;

	if (o->has_limit && limit == 0)
		return n_sites;
	return limit < n_sites ? (size_t)limit : n_sites;
}

static int make_list(struct report *r, enum report_kind kind, struct err *err)
{
	struct report_list *l = &r->list[kind];

	l->is_wanted = !r->options->has_sort || r->options->sort == kind;
	if (!l->is_wanted || r->groups.n == 0)
		return 0;
	l->site = calloc(r->groups.n, sizeof(*l->site));
	if (!l->site)
		return err_set_memory(err, r->groups.n * sizeof(*l->site));
	for (size_t i = 0; i < r->groups.n; i++) {
		if (is_in_list(kind, &r->groups.group[i]))
			l->site[l->n_sites++] = &r->groups.group[i];
	}
	qsort_r(l->site, l->n_sites, sizeof(*l->site), compare_sites, &kind);
	l->n_shown = limit_of(r->options, kind, l->n_sites);
	return 0;
}

/* The codes of all stacks that will be shown, in one go: modules are then read in parallel. */
struct codes {
	uint32_t *code;
	size_t n, cap;
};

static int add_codes(struct report *r, uint32_t stack, struct codes *c, struct err *err)
{
	uint32_t node = store_stack(r->store, stack)->node;

	while (node != 0) {
		const struct store_node *at = store_node(r->store, node);
		int n = vec_reserve(&c->code, &c->cap, c->n + 1, sizeof(*c->code), err);

		if (n < 0)
			return n;
		if (at->code != 0)
			c->code[c->n++] = at->code;
		node = at->parent;
	}
	return 0;
}

static void add_nameless(struct report *r, const char *module)
{
	for (size_t i = 0; i < r->n_nameless; i++) {
		if (strcmp(r->nameless[i], module) == 0)
			return;
	}
	if (r->n_nameless < REPORT_MAX_NAMELESS)
		r->nameless[r->n_nameless++] = module;
}

/* Code of the program that has no name: somebody should be told how to get one. */
static void find_nameless(struct report *r, const struct codes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t n;
		const struct frame *f = frames_of_code(r->frames, c->code[i], &n);

		if (n > 0 && !f[0].function && f[0].module &&
		    frame_class_of(&f[0], r->executable) == FRAME_CLASS_OWN)
			add_nameless(r, f[0].module);
	}
}

static int need_names(struct report *r, struct err *err)
{
	struct codes c = {0};
	int n = 0;

	for (unsigned k = 0; k < REPORT_N_KINDS && n == 0; k++) {
		for (size_t i = 0; i < r->list[k].n_shown && n == 0; i++)
			n = add_codes(r, (uint32_t)r->list[k].site[i]->key, &c, err);
	}
	if (n == 0 && c.n > 0)
		n = frames_need(r->frames, c.code, c.n, err);
	if (n == 0)
		find_nameless(r, &c);
	free(c.code);
	return n;
}

int report_make(struct report *r, struct err *err)
{
	struct query_context context = {
		.store = r->store,
		.frames = r->frames,
		.progress_label = "looking at allocations",
	};
	struct query *q = NULL;
	int n;

	r->facts = store_facts(r->store);
	r->executable = store_string(r->store, r->facts->executable, NULL);
	n = query_create(&context, &r->options->filter->filter, &q, err);
	if (n == 0)
		n = query_groups(q, QUERY_BY_STACK, &r->groups, err);
	if (n == 0)
		n = query_peak(q, &r->peak, err);
	query_destroy(q);
	for (unsigned k = 0; k < REPORT_N_KINDS && n == 0; k++)
		n = make_list(r, (enum report_kind)k, err);
	return n == 0 ? need_names(r, err) : n;
}

void report_fini(struct report *r)
{
	for (unsigned k = 0; k < REPORT_N_KINDS; k++)
		free(r->list[k].site);
	query_groups_fini(&r->groups);
}

const struct frame *report_site_frame(struct report *r, uint32_t stack)
{
	return frame_class_blame(r->frames, stack, r->executable, NULL);
}

static bool is_ended(const struct report *r)
{
	return strncmp(store_string(r->store, r->facts->ended, NULL), "killed", 6) != 0;
}

size_t report_caveats(const struct report *r, char ret[][REPORT_CAVEAT_BYTES])
{
	const struct store_facts *f = r->facts;
	char a[HUMAN_BYTES];
	size_t n = 0;

	if (!is_ended(r))
		snprintf(
			ret[n++], REPORT_CAVEAT_BYTES,
			"The recording has no end: the program was killed, or it is still running. "
			"All figures are those up to its last event; \"leaked\" is what was "
			"allocated then.");
	if (f->lost_events)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "%s events were lost while recording: figures are too small, and some "
			 "releases may be missing.",
			 human_count(f->lost_events, a));
	if (f->lost_blocks)
		snprintf(
			ret[n++], REPORT_CAVEAT_BYTES,
			"%s blocks of events are missing: figures are too small, and some releases "
			"may be missing.",
			human_count(f->lost_blocks, a));
	if (f->damaged_bytes)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "%s bytes of the file are damaged or cut off and were skipped; "
			 "'memory-profiler-cli info' lists the places.",
			 human_count(f->damaged_bytes, a));
	if (f->unknown_frees)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "%s releases are of blocks whose allocation is not in the recording.",
			 human_count(f->unknown_frees, a));
	if (f->duplicate_allocations)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "%s blocks were allocated at an address that was in use: their releases "
			 "are missing.",
			 human_count(f->duplicate_allocations, a));
	if (f->untracked_frees)
		snprintf(
			ret[n++], REPORT_CAVEAT_BYTES,
			"%s releases are of blocks from before the recording, or from while it was "
			"paused.",
			human_count(f->untracked_frees, a));
	if (f->truncated_stacks)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "%s events have a call stack that could not be followed to its start.",
			 human_count(f->truncated_stacks, a));
	for (size_t i = 0; i < r->n_nameless; i++)
		snprintf(ret[n++], REPORT_CAVEAT_BYTES,
			 "There are no symbols for %.200s: its functions are shown as addresses. "
			 "-d FILE names a file with its debug information.",
			 r->nameless[i]);
	return n;
}
