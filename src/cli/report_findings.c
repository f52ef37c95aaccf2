/* cli/report_findings.c - see report_findings.h.
 *
 * A finding names a place in the program and what could be done about it. The limits are such
 * that a sound program gets one or two sentences.
 */
#include "cli/report_findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/report_stack.h"
#include "util/human.h"

#define SHARE_OF_ONE 25.0 /* percent of one site that is worth a sentence */
#define SHARE_OF_FEW 40.0 /* percent of the first three */
#define SHARE_TEMPORARY 10.0 /* percent of all allocations ... */
#define MIN_TEMPORARY 1000u /* ... and at least so many */
#define MIN_LEAKED_BYTES 4096u
#define SHARE_LEAKED 5.0 /* percent of the peak */

/* A site's place, to free(); NULL when it is not known. */
static char *site_text(struct report *r, const struct query_group *g)
{
	const struct frame *f = report_site_frame(r, (uint32_t)g->key);
	char *text = NULL;
	size_t len;
	FILE *out;

	if (!f)
		return NULL;
	out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	report_stack_print_frame(r, f, out);
	fclose(out);
	return text;
}

static double share(struct report *r, enum report_kind kind, size_t n_sites)
{
	const struct report_list *l = &r->list[kind];
	uint64_t total = report_weight(kind, &r->groups.total), sum = 0;

	for (size_t i = 0; i < n_sites && i < l->n_sites; i++)
		sum += report_weight(kind, l->site[i]);
	return total ? 100.0 * (double)sum / (double)total : 0.0;
}

static void add(struct report_findings *f, char *text)
{
	if (text && f->n < REPORT_MAX_FINDINGS)
		f->text[f->n++] = text;
	else
		free(text);
}

/* printf into fresh memory; NULL when there is none. */
PRINTF_LIKE(1, 2) static char *sentence(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return text;
}

static void find_peak(struct report *r, struct report_findings *f)
{
	const struct report_list *l = &r->list[REPORT_PEAK];
	char *site, a[HUMAN_BYTES];

	if (l->n_sites == 0)
		return;
	if (share(r, REPORT_PEAK, 1) < SHARE_OF_ONE) {
		if (l->n_sites > 3 && share(r, REPORT_PEAK, 3) >= SHARE_OF_FEW)
			add(f, sentence("Three call sites make up %.0f%% of the peak.",
					share(r, REPORT_PEAK, 3)));
		return;
	}
	site = site_text(r, l->site[0]);
	if (site)
		add(f, sentence("%.0f%% of the peak (%s) comes from one call site: %s.",
				share(r, REPORT_PEAK, 1), human_size(l->site[0]->peak_bytes, a),
				site));
	free(site);
}

static void find_leaks(struct report *r, struct report_findings *f)
{
	const struct report_list *l = &r->list[REPORT_LEAKED];
	const struct query_group *t = &r->groups.total;
	char *site, a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (l->n_sites == 0 || t->leaked_bytes < MIN_LEAKED_BYTES ||
	    (double)t->leaked_bytes * 100 < SHARE_LEAKED * (double)r->peak.n_bytes)
		return;
	site = site_text(r, l->site[0]);
	if (site)
		add(f, sentence("%s were not released at the end; %.0f%% of that (%s block%s) were "
				"allocated in %s.",
				human_size(t->leaked_bytes, a), share(r, REPORT_LEAKED, 1),
				human_count(l->site[0]->n_leaked, b),
				l->site[0]->n_leaked == 1 ? "" : "s", site));
	free(site);
}

static void find_temporary(struct report *r, struct report_findings *f)
{
	const struct report_list *l = &r->list[REPORT_TEMPORARY];
	const struct query_group *t = &r->groups.total;
	char *site, a[HUMAN_BYTES];

	if (l->n_sites == 0 || t->n_temporary < MIN_TEMPORARY ||
	    (double)t->n_temporary * 100 < SHARE_TEMPORARY * (double)t->n_allocs)
		return;
	if (share(r, REPORT_TEMPORARY, 1) < SHARE_OF_ONE) {
		add(f,
		    sentence("%.0f%% of all allocations are temporary, spread over %s call sites.",
			     100.0 * (double)t->n_temporary / (double)t->n_allocs,
			     human_count(l->n_sites, a)));
		return;
	}
	site = site_text(r, l->site[0]);
	if (site)
		add(f, sentence("%.0f%% of all allocations are temporary, %.0f%% of these in %s: "
				"memory that is kept and used again would save them.",
				100.0 * (double)t->n_temporary / (double)t->n_allocs,
				share(r, REPORT_TEMPORARY, 1), site));
	free(site);
}

static void find_allocations(struct report *r, struct report_findings *f)
{
	const struct report_list *l = &r->list[REPORT_ALLOCATIONS];
	char *site, a[HUMAN_BYTES];

	if (l->n_sites == 0 || r->groups.total.n_allocs < MIN_TEMPORARY ||
	    share(r, REPORT_ALLOCATIONS, 1) < SHARE_OF_ONE)
		return;
	site = site_text(r, l->site[0]);
	if (site)
		add(f, sentence("%.0f%% of all allocations (%s) are made in %s.",
				share(r, REPORT_ALLOCATIONS, 1),
				human_count(l->site[0]->n_allocs, a), site));
	free(site);
}

void report_findings_make(struct report *r, struct report_findings *ret)
{
	find_peak(r, ret);
	find_leaks(r, ret);
	find_allocations(r, ret);
	find_temporary(r, ret);
}

void report_findings_fini(struct report_findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->text[i]);
	*f = (struct report_findings){0};
}
