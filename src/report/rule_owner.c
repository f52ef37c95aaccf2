/* report/rule_owner.c - the findings about a function through which nearly all leaks pass, or all
 * memory that grows until the end (rule_growth.c).
 *
 * A cache that is never emptied leaks keys, values and nodes, which many functions allocate: none
 * of them is to blame alone. What they have in common is the function that fills the cache. The
 * rule looks for that function among the functions of the program's own code that most of the bytes
 * pass through, whichever function allocates them. Functions through which everything passes (main,
 * a loop, the start of a thread) say nothing and are left out. Of the others, the finding names the
 * one nearest to the allocations.
 */
#include <stdlib.h>
#include <string.h>

#include "query/by_function.h"
#include "query/frame_class.h"
#include "report/findings_i.h"
#include "util/map.h"

#define OWNER_SHARE 0.80 /* of all bytes: so much passes through the owner ... */
#define ONE_SHARE 0.80 /* ... and no function allocates so much of them */
#define OWNER_MIN_FUNCTIONS 3u /* so many functions allocate them */
#define OWNER_ALLOCATIONS 0.90 /* of all allocations: a function with more is a loop, no owner */
#define OUTERMOST_SHARE 0.50 /* a function that is outermost more often starts a thread */
#define MAX_CANDIDATES 64u
#define MAX_STACKS 20000u /* the stacks with most bytes are walked to choose a candidate */
#define MAX_TRIES 4u

struct candidate {
	struct query_function function;
	const struct frame *frame; /* a frame of the function */
	bool is_own;
	/* sums over the stacks that were walked */
	double bytes; /* that pass through the function */
	double outermost_bytes; /* ... where no own code calls the function */
	double distance; /* bytes times the number of frames from the allocation to the function */
};

struct owner_search {
	struct rules *rules;
	enum report_kind cost; /* of which bytes: REPORT_LEAKED or REPORT_PEAK */
	struct candidate candidate[MAX_CANDIDATES];
	size_t n;
	struct map known; /* pointer to a function's name -> packed(); texts are often shared */
	/* the stack that is being walked */
	double stack_bytes;
	uint32_t n_frames;
	size_t outermost; /* the outermost own frame as a candidate; MAX_CANDIDATES: it is none */
	uint64_t is_seen; /* a bit for each candidate */
};

/* What is known of a function, in a number: (1 + index of the candidate, or 0) << 1 | is own
 * code. */
static uint64_t packed(size_t candidate, bool is_own)
{
	return (candidate + 1) << 1 | is_own;
}

static uint64_t look_up(struct owner_search *s, const struct frame *f)
{
	bool is_own = frame_class_by(query_rules(s->rules->r->query), f) == FRAME_CLASS_OWN;

	for (size_t i = 0; i < s->n; i++) {
		struct candidate *c = &s->candidate[i];

		if (strcmp(c->function.name, f->function) != 0)
			continue;
		if (!c->frame) {
			c->frame = f;
			c->is_own = is_own;
		}
		return packed(i, is_own);
	}
	return is_own;
}

static bool see_frame(void *user, const struct frame *f)
{
	struct owner_search *s = user;
	uint64_t *known = NULL, what;
	struct candidate *c;
	bool is_new;
	size_t i;

	s->n_frames++;
	if (!f->function || map_add(&s->known, (uintptr_t)f->function, &known, &is_new, NULL) < 0)
		return true; /* without memory the search finds less */
	if (is_new)
		*known = look_up(s, f);
	what = *known;
	if (what & 1)
		s->outermost = what >> 1 ? (size_t)(what >> 1) - 1 : MAX_CANDIDATES;
	if (what >> 1 == 0)
		return true;
	i = (size_t)(what >> 1) - 1;
	c = &s->candidate[i];
	if (!(s->is_seen >> i & 1)) {
		s->is_seen |= 1ull << i;
		c->bytes += s->stack_bytes;
		c->distance += s->stack_bytes * (double)s->n_frames;
	}
	return true;
}

static int compare_leaked(const void *a, const void *b)
{
	return report_compare(REPORT_LEAKED, *(const struct query_group *const *)a,
			      *(const struct query_group *const *)b);
}

static int compare_peak(const void *a, const void *b)
{
	return report_compare(REPORT_PEAK, *(const struct query_group *const *)a,
			      *(const struct query_group *const *)b);
}

static int walk_stacks(struct owner_search *s, struct err *err)
{
	const struct query_groups *g = &s->rules->r->groups;
	const struct query_group **site = calloc(g->n + 1, sizeof(*site));
	size_t n_sites = 0;
	int n = 0;

	if (!site)
		return err_set_memory(err, g->n * sizeof(*site));
	for (size_t i = 0; i < g->n; i++) {
		if (report_weight(s->cost, &g->group[i]) > 0)
			site[n_sites++] = &g->group[i];
	}
	qsort(site, n_sites, sizeof(*site),
	      s->cost == REPORT_LEAKED ? compare_leaked : compare_peak);
	for (size_t i = 0; i < n_sites && i < MAX_STACKS && n == 0; i++) {
		s->stack_bytes = (double)report_weight(s->cost, site[i]);
		s->n_frames = 0;
		s->outermost = MAX_CANDIDATES;
		s->is_seen = 0;
		n = frames_each(s->rules->r->context.frames, (uint32_t)site[i]->key, see_frame, s,
				err);
		if (s->outermost < MAX_CANDIDATES)
			s->candidate[s->outermost].outermost_bytes += s->stack_bytes;
	}
	free(site);
	return n;
}

static bool is_kept(const struct rules *rules, const struct query_group *g)
{
	return rules->is_killed ? rules_is_held(rules, g) : rules_is_leak(rules, g);
}

/* Finds the functions that most bytes pass through, but not most allocations. */
static int find_candidates(struct owner_search *s, struct err *err)
{
	const struct query_group *total = &s->rules->r->groups.total;
	struct query_functions f = {0};
	int n = query_functions(s->rules->r->query, NULL, &f, err);

	for (size_t i = 0; i < f.n && n == 0 && s->n < MAX_CANDIDATES; i++) {
		const struct query_group *g = &f.function[i].cost;

		if (f.function[i].name &&
		    (double)report_weight(s->cost, g) >=
			    OWNER_SHARE * (double)report_weight(s->cost, total) &&
		    (double)g->n_allocs <= OWNER_ALLOCATIONS * (double)total->n_allocs &&
		    (s->cost == REPORT_PEAK ? rules_is_freed(g) : is_kept(s->rules, g)))
			s->candidate[s->n++] = (struct candidate){.function = f.function[i]};
	}
	query_functions_fini(&f);
	return n;
}

static bool is_main(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "main") == 0 || (len > 6 && strcmp(name + len - 6, "::main") == 0);
}

/* The best candidate that is left, or NULL. */
static struct candidate *choose(struct owner_search *s)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct candidate *c = &s->candidate[i];

		if (!c->frame || !c->is_own || c->bytes <= 0 || is_main(c->function.name) ||
		    c->outermost_bytes > OUTERMOST_SHARE * c->bytes)
			continue;
		if (!best || c->distance / c->bytes < best->distance / best->bytes)
			best = c;
	}
	return best;
}

/* What passes through a candidate. */
struct passing {
	size_t n_functions; /* that allocate it; 0: one of them is to blame alone */
	bool grows;
	uint64_t late_bytes; /* by which it grew in the last quarter */
};

/* Which functions allocate what passes the conditions? At the peak all that pass are alive. */
static int count_allocators(const struct owner_search *s, const struct filter *narrow,
			    struct passing *ret, struct err *err)
{
	struct query_groups g = {0};
	struct query *q = NULL;
	bool is_one = false;
	int n = query_create(&s->rules->r->context, narrow, &q, err);

	if (n == 0) {
		query_want(q, 0);
		n = query_groups(q, QUERY_BY_BLAME, &g, err);
	}
	for (size_t i = 0; i < g.n; i++) {
		bool is_leak = s->cost == REPORT_LEAKED;
		uint64_t bytes = is_leak ? g.group[i].leaked_bytes : g.group[i].n_bytes;
		uint64_t total = is_leak ? g.total.leaked_bytes : g.total.n_bytes;

		ret->n_functions += bytes > 0;
		is_one |= (double)bytes >= ONE_SHARE * (double)total;
	}
	if (is_one)
		ret->n_functions = 0;
	query_groups_fini(&g);
	query_destroy(q);
	return n;
}

static int look_at_passing(const struct owner_search *s, const struct candidate *c,
			   const struct finding *f, struct passing *ret, struct err *err)
{
	const struct rules *rules = s->rules;
	const struct query_group *g = &c->function.cost;
	struct filter narrow = *rules->r->filter; /* borrows what the filter owns */
	uint64_t peak_ns = rules->r->peak.at_ns, value[RULES_POINTS];
	bool is_leak = s->cost == REPORT_LEAKED;
	int n = 0;

	*ret = (struct passing){.grows = true, .late_bytes = g->leaked_late_bytes};
	narrow.function_regex = f->condition[0].value;
	if (rules->has_rows) {
		n = rules_count_alive(rules, &narrow, is_leak ? rules_end_ns(rules) : peak_ns + 1,
				      value, err);
		if (n < 0)
			return n;
		ret->grows = is_leak ? rules->is_killed || rules_leak_grows(g, value)
				     : rules_rises(value, RULES_POINTS, (double)g->peak_bytes);
		ret->late_bytes = is_leak ? rules_late_bytes(g, value) : rules_late_growth(value);
	}
	for (size_t i = 1; i < f->n_conditions && n >= 0; i++)
		n = filter_set(&narrow, f->condition[i].name, f->condition[i].value, err);
	return n < 0 ? n : count_allocators(s, &narrow, ret, err);
}

/* Drops the leaks but the first: the owner says more than a list of the functions that allocate.
 * Also the first if it is of the same function. */
static void keep_first_leak(struct rules *rules, const struct frame *owner)
{
	struct findings *to = rules->to;

	while (to->n > 1)
		finding_fini(&to->finding[--to->n]);
	if (to->n == 1 && to->finding[0].blame->function &&
	    strcmp(to->finding[0].blame->function, owner->function) == 0)
		finding_fini(&to->finding[--to->n]);
}

static int describe_leak(const struct rules *rules, struct finding *f, const struct passing *p,
			 struct err *err)
{
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], rate[RULES_RATE_BYTES];
	char growth[RULES_RATE_BYTES + 32];
	int n = finding_set_title(f, err, "%s of what %s passes through %s",
				  human_share(f->value, rules->r->groups.total.leaked_bytes, a),
				  rules->is_killed ? "was alive at the end" : "leaked",
				  rules_name(f->blame, name));

	if (n < 0)
		return n;
	if (rules->is_killed)
		return finding_set_text(f, err, "%s, allocated in %zu functions, %s",
					human_size(f->value, a), p->n_functions,
					rules_held_growth(rules, f->value, p->late_bytes, growth));
	return finding_set_text(f, err, "%s, allocated in %zu functions, +%s in the last quarter%s",
				human_size(f->value, a), p->n_functions,
				rules_rate(rules, p->late_bytes, rules->span.span_ns / 4, rate),
				rules_of_range(rules));
}

static int describe_growth(const struct rules *rules, struct finding *f, const struct passing *p,
			   struct err *err)
{
	uint64_t rise_ns = rules->r->peak.at_ns - rules->span.from_ns;
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], rate[RULES_RATE_BYTES];
	int n = finding_set_title(f, err, "%s grew to %s", rules_name(f->blame, name),
				  human_size(f->value, a));

	if (n < 0)
		return n;
	return finding_set_text(f, err,
				"%s of the peak, allocated in %zu functions, +%s in the last "
				"quarter before it; freed only at the end",
				human_share(f->value, rules->r->peak.n_bytes, a), p->n_functions,
				rules_rate(rules, p->late_bytes, rise_ns / 4, rate));
}

/* 1: the candidate is an owner, and the finding was added. 0: it is none. */
static int try_candidate(struct owner_search *s, const struct candidate *c, struct err *err)
{
	const struct report *r = s->rules->r;
	bool is_leak = s->cost == REPORT_LEAKED;
	struct finding f = {
		.kind = is_leak ? FINDING_OWNER : FINDING_GROWTH,
		.cost = s->cost,
		.value = report_weight(s->cost, &c->function.cost),
		.share = (double)report_weight(s->cost, &c->function.cost) /
			 (double)report_weight(s->cost, &r->groups.total),
		.blame = c->frame,
		.page = "flame",
	};
	struct passing passing = {0};
	int n = finding_add_exactly(&f, err, "function_regex", c->function.name);

	if (n == 0 && !is_leak)
		n = finding_add_condition(&f, err, "alive_at", "%lluns",
					  (unsigned long long)r->peak.at_ns);
	if (n == 0)
		n = look_at_passing(s, c, &f, &passing, err);
	if (n < 0 || passing.n_functions < OWNER_MIN_FUNCTIONS || !passing.grows) {
		finding_fini(&f);
		return n;
	}
	n = is_leak ? describe_leak(s->rules, &f, &passing, err)
		    : describe_growth(s->rules, &f, &passing, err);
	if (n == 0 && is_leak)
		keep_first_leak(s->rules, c->frame);
	n = rules_take(s->rules, &f, 0, n);
	return n < 0 ? n : 1;
}

/* Is one function to blame for most of the bytes? Then another rule has the finding. */
static bool is_of_one_function(const struct rules *rules, enum report_kind cost)
{
	double total = (double)report_weight(cost, &rules->r->groups.total);

	for (size_t i = 0; i < rules->blame.n; i++) {
		if ((double)report_weight(cost, &rules->blame.group[i]) >= ONE_SHARE * total)
			return true;
	}
	return false;
}

int rules_take_owner(struct rules *rules, enum report_kind cost, struct err *err)
{
	struct owner_search *s;
	int n;

	if (is_of_one_function(rules, cost))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->rules = rules;
	s->cost = cost;
	n = find_candidates(s, err);
	if (n == 0 && s->n > 0)
		n = walk_stacks(s, err);
	for (unsigned i = 0; i < MAX_TRIES && n == 0; i++) {
		struct candidate *c = choose(s);

		if (!c)
			break;
		n = try_candidate(s, c, err);
		c->bytes = 0; /* do not choose it again */
	}
	map_fini(&s->known);
	free(s);
	return n;
}

int rules_find_owner(struct rules *rules, struct err *err)
{
	int n = 0;

	if (rules_is_leak(rules, &rules->r->groups.total))
		n = rules_take_owner(rules, REPORT_LEAKED, err);
	return n < 0 ? n : 0;
}
