/* report/remarks.c - see findings.h: where most of the memory of a sound program goes.
 *
 * With these limits a sound program gets one or two sentences.
 */
#include <stdio.h>

#include "report/findings_i.h"

#define SHARE_OF_ONE 0.25 /* of a cost: a call site with so much gets a sentence */
#define SHARE_OF_FEW 0.40 /* the first three call sites together */
#define N_FEW 3
#define SHARE_TEMPORARY 0.10 /* of all allocations ... */
#define MIN_ALLOCATIONS 1000u /* ... and at least so many */
#define MIN_LEAKED_BYTES 4096u
#define SHARE_LEAKED 0.05 /* of the peak */

static double share_of_few(const struct report *r, enum report_kind kind, const struct rules_top *f,
			   size_t n)
{
	uint64_t total = report_weight(kind, &r->groups.total), sum = 0;

	for (size_t i = 0; i < n && f->group[i]; i++)
		sum += report_weight(kind, f->group[i]);
	return total ? (double)sum / (double)total : 0.0;
}

/* A remark on the first call site. */
static struct finding remark(struct report *r, enum report_kind kind, const struct rules_top *f)
{
	return (struct finding){
		.kind = FINDING_REMARK,
		.cost = kind,
		.value = report_weight(kind, f->group[0]),
		.share = share_of_few(r, kind, f, 1),
		.blame = report_site_frame(r, (uint32_t)f->group[0]->key),
		.page = "flame",
	};
}

/* The first call site's share of the cost: "98.0 %". */
static const char *first_share(const struct report *r, enum report_kind kind,
			       const struct rules_top *f, char buf[HUMAN_BYTES])
{
	return human_share(report_weight(kind, f->group[0]), report_weight(kind, &r->groups.total),
			   buf);
}

static int remark_peak(struct report *r, const struct rules_top *f, struct finding *ret,
		       struct err *err)
{
	double few = share_of_few(r, REPORT_PEAK, f, N_FEW);
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (share_of_few(r, REPORT_PEAK, f, 1) >= SHARE_OF_ONE)
		return finding_set_title(ret, err, "%s of the peak (%s) comes from one call site",
					 first_share(r, REPORT_PEAK, f, a),
					 human_size(ret->value, b));
	if (f->n_all <= N_FEW || few < SHARE_OF_FEW)
		return 0;
	ret->blame = NULL;
	ret->share = few;
	ret->value = (uint64_t)(few * (double)r->groups.total.peak_bytes);
	return finding_set_title(ret, err, "Three call sites make up %.1f %% of the peak",
				 100.0 * few);
}

static int remark_leaked(struct report *r, const struct rules_top *f, struct finding *ret,
			 struct err *err)
{
	const struct query_group *t = &r->groups.total;
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	uint64_t n = f->group[0]->n_leaked;

	if (t->leaked_bytes < MIN_LEAKED_BYTES ||
	    (double)t->leaked_bytes < SHARE_LEAKED * (double)r->peak.n_bytes)
		return 0;
	return finding_set_title(ret, err,
				 "%s not freed at the end, %s of it (%s block%s) from one call "
				 "site",
				 human_size(t->leaked_bytes, a),
				 first_share(r, REPORT_LEAKED, f, b), human_count(n, c),
				 n == 1 ? "" : "s");
}

static int remark_allocations(struct report *r, const struct rules_top *f, struct finding *ret,
			      struct err *err)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (r->groups.total.n_allocs < MIN_ALLOCATIONS ||
	    share_of_few(r, REPORT_ALLOCATIONS, f, 1) < SHARE_OF_ONE)
		return 0;
	return finding_set_title(ret, err, "%s of all allocations (%s) come from one call site",
				 first_share(r, REPORT_ALLOCATIONS, f, a),
				 human_count(ret->value, b));
}

static int remark_temporary(struct report *r, const struct rules_top *f, struct finding *ret,
			    struct err *err)
{
	const struct query_group *t = &r->groups.total;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (t->n_temporary < MIN_ALLOCATIONS ||
	    (double)t->n_temporary < SHARE_TEMPORARY * (double)t->n_allocs)
		return 0;
	human_share(t->n_temporary, t->n_allocs, a);
	if (share_of_few(r, REPORT_TEMPORARY, f, 1) >= SHARE_OF_ONE)
		return finding_set_title(
			ret, err,
			"%s of all allocations are temporary, %s of these from one "
			"call site, where a buffer that is reused would avoid "
			"them",
			a, first_share(r, REPORT_TEMPORARY, f, b));
	ret->blame = NULL;
	ret->share = 1;
	ret->value = t->n_temporary;
	return finding_set_title(ret, err,
				 "%s of all allocations are temporary, from %s call sites", a,
				 human_count(f->n_all, b));
}

static bool has_finding(const struct findings *f, enum report_kind cost)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->finding[i].cost == cost && f->finding[i].kind != FINDING_OUTSIDE &&
		    f->finding[i].kind != FINDING_UNRECORDED)
			return true;
	}
	return false;
}

int remarks_add(struct rules *rules, struct err *err)
{
	static const struct {
		enum report_kind cost;
		int (*make)(struct report *r, const struct rules_top *f, struct finding *ret,
			    struct err *err);
	} rule[] = {
		{REPORT_PEAK, remark_peak},
		{REPORT_LEAKED, remark_leaked},
		{REPORT_ALLOCATIONS, remark_allocations},
		{REPORT_TEMPORARY, remark_temporary},
	};
	struct report *r = rules->r;
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rule) && n == 0; i++) {
		struct rules_top few = rules_find_top(&r->groups, rule[i].cost, N_FEW, 0);
		struct finding f;

		if (few.n == 0 || has_finding(rules->to, rule[i].cost))
			continue;
		f = remark(r, rule[i].cost, &few);
		n = rule[i].make(r, &few, &f, err);
		if (n == 0 && f.title)
			n = finding_set_text(&f, err, "%s", "");
		if (n == 0 && f.title)
			rules_take(rules, &f, 0, 0);
		else
			finding_fini(&f);
	}
	return n;
}
