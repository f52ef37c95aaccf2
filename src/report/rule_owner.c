/* report/rule_owner.c - the finding about a function through which nearly all leaks pass.
 *
 * A cache that is never emptied leaks keys, values and nodes, which many functions allocate: none
 * of them is to blame alone. What they have in common is the function that fills the cache. The
 * rule looks for that function among the functions of the program's own code that most leaked bytes
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

#define OWNER_SHARE 0.80 /* of all leaked bytes: so much passes through the owner ... */
#define ONE_SHARE 0.80 /* ... and no function allocates so much of them */
#define OWNER_MIN_FUNCTIONS 3u /* so many functions allocate what leaked */
#define OWNER_ALLOCATIONS 0.90 /* of all allocations: a function with more is a loop, no owner */
#define OUTERMOST_SHARE 0.50 /* a function that is outermost more often starts a thread */
#define MAX_CANDIDATES 64u
#define MAX_STACKS 20000u /* the stacks that leak most are walked to choose a candidate */
#define MAX_TRIES 4u

struct candidate {
	struct query_function function;
	const struct frame *frame; /* a frame of the function */
	bool is_own;
	/* sums over the stacks that were walked */
	double bytes; /* leaked bytes that pass through the function */
	double outermost_bytes; /* ... where no own code calls the function */
	double distance; /* bytes times the number of frames from the allocation to the function */
};

struct owner_search {
	struct rules *rules;
	struct candidate candidate[MAX_CANDIDATES];
	size_t n;
	struct map known; /* pointer to a function's name -> packed(); texts are often shared */
	/* the stack that is being walked */
	double leaked_bytes;
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
		c->bytes += s->leaked_bytes;
		c->distance += s->leaked_bytes * (double)s->n_frames;
	}
	return true;
}

static int compare_leaked(const void *a, const void *b)
{
	return report_compare(REPORT_LEAKED, *(const struct query_group *const *)a,
			      *(const struct query_group *const *)b);
}

static int walk_stacks(struct owner_search *s, struct err *err)
{
	const struct query_groups *g = &s->rules->r->groups;
	const struct query_group **leaking = calloc(g->n + 1, sizeof(*leaking));
	size_t n_leaking = 0;
	int n = 0;

	if (!leaking)
		return err_set_memory(err, g->n * sizeof(*leaking));
	for (size_t i = 0; i < g->n; i++) {
		if (g->group[i].leaked_bytes > 0)
			leaking[n_leaking++] = &g->group[i];
	}
	qsort(leaking, n_leaking, sizeof(*leaking), compare_leaked);
	for (size_t i = 0; i < n_leaking && i < MAX_STACKS && n == 0; i++) {
		s->leaked_bytes = (double)leaking[i]->leaked_bytes;
		s->n_frames = 0;
		s->outermost = MAX_CANDIDATES;
		s->is_seen = 0;
		n = frames_each(s->rules->r->context.frames, (uint32_t)leaking[i]->key, see_frame,
				s, err);
		if (s->outermost < MAX_CANDIDATES)
			s->candidate[s->outermost].outermost_bytes += s->leaked_bytes;
	}
	free(leaking);
	return n;
}

/* Finds the functions that most leaked bytes pass through, but not most allocations. */
static int find_candidates(struct owner_search *s, struct err *err)
{
	const struct query_group *total = &s->rules->r->groups.total;
	struct query_functions f = {0};
	int n = query_functions(s->rules->r->query, NULL, &f, err);

	for (size_t i = 0; i < f.n && n == 0 && s->n < MAX_CANDIDATES; i++) {
		const struct query_group *g = &f.function[i].cost;

		if (f.function[i].name &&
		    (double)g->leaked_bytes >= OWNER_SHARE * (double)total->leaked_bytes &&
		    (double)g->n_allocs <= OWNER_ALLOCATIONS * (double)total->n_allocs &&
		    rules_is_leak(s->rules, g))
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

/* Counts the functions that allocate what leaked through the candidate; 0: one of them is to blame
 * alone. */
static int count_allocators(struct owner_search *s, struct finding *f, size_t *ret, struct err *err)
{
	const struct report *r = s->rules->r;
	struct filter narrow = *r->filter; /* borrows what r->filter owns */
	struct query_groups g = {0};
	struct query *q = NULL;
	bool is_one = false;
	int n;

	narrow.function_regex = f->condition[0].value;
	n = query_create(&r->context, &narrow, &q, err);
	if (n == 0) {
		query_want(q, 0);
		n = query_groups(q, QUERY_BY_BLAME, &g, err);
	}
	*ret = 0;
	for (size_t i = 0; i < g.n; i++) {
		*ret += g.group[i].leaked_bytes > 0;
		is_one |=
			(double)g.group[i].leaked_bytes >= ONE_SHARE * (double)g.total.leaked_bytes;
	}
	if (is_one)
		*ret = 0;
	query_groups_fini(&g);
	query_destroy(q);
	return n;
}

/* Drops all leaks but the first: the owner says more than a list of the functions that allocate. */
static void keep_first_leak(struct rules *rules)
{
	while (rules->to->n > 1)
		finding_fini(&rules->to->finding[--rules->to->n]);
}

/* 1: the candidate is an owner, and the finding was added. 0: it is none. */
static int try_candidate(struct owner_search *s, const struct candidate *c, struct err *err)
{
	const struct report *r = s->rules->r;
	struct finding f = {
		.kind = FINDING_OWNER,
		.cost = REPORT_LEAKED,
		.value = c->function.cost.leaked_bytes,
		.share = (double)c->function.cost.leaked_bytes /
			 (double)r->groups.total.leaked_bytes,
		.blame = c->frame,
		.page = "flame",
	};
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], rate[RULES_RATE_BYTES];
	size_t n_functions = 0;
	int n = finding_add_exactly(&f, err, "function_regex", c->function.name);

	if (n == 0)
		n = count_allocators(s, &f, &n_functions, err);
	if (n < 0 || n_functions < OWNER_MIN_FUNCTIONS) {
		finding_fini(&f);
		return n;
	}
	n = finding_set_title(&f, err, "%s of what leaked passes through %s",
			      human_share(f.value, r->groups.total.leaked_bytes, a),
			      rules_name(c->frame, name));
	if (n == 0)
		n = finding_set_text(&f, err,
				     "%s, allocated in %zu functions, +%s in the last quarter%s",
				     human_size(f.value, a), n_functions,
				     rules_rate(s->rules, c->function.cost.leaked_late_bytes,
						s->rules->span.span_ns / 4, rate),
				     rules_of_range(s->rules));
	if (n < 0) {
		finding_fini(&f);
		return n;
	}
	keep_first_leak(s->rules);
	rules_take(s->rules, &f, 0);
	return 1;
}

/* Is one function to blame for most leaked bytes? Then the leak rule has the finding. */
static bool is_of_one_function(const struct rules *rules)
{
	for (size_t i = 0; i < rules->blame.n; i++) {
		if ((double)rules->blame.group[i].leaked_bytes >=
		    ONE_SHARE * (double)rules->r->groups.total.leaked_bytes)
			return true;
	}
	return false;
}

int rules_find_owner(struct rules *rules, struct err *err)
{
	struct owner_search *s;
	int n;

	if (!rules_is_leak(rules, &rules->r->groups.total) || is_of_one_function(rules))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->rules = rules;
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
	return n < 0 ? n : 0;
}
