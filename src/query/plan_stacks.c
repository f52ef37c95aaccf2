/* query/plan_stacks.c - which stacks fulfil the conditions on stacks.
 *
 * A regular expression is matched once for each text, a frame is judged once for each code, and
 * the tree of frames carries the verdicts from callers to callees: every stack is then one look.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "query/query_regex.h"

enum {
	FRAME_REGEX = 6, /* its number: it is for functions and for sources */
	N_REGEXES = 7,
	HAS_POSITIVE = 1, /* some frame matches all positive expressions */
	HAS_NEGATIVE = 2, /* some frame matches a negative one */
	HAS_FRAME = 4, /* some frame matches frame_regex */
};

struct judge {
	struct query *q;
	struct query_regex *regex[N_REGEXES]; /* function, source, module; three negative; frame */
	signed char *verdict[N_REGEXES]; /* by number of text: 0 not known yet, 1 match, -1 none */
	uint8_t *of_code; /* HAS_* */
	uint8_t *of_node;
	uint32_t *depth; /* frames, inlined ones too, by node */
};

static void judge_fini(struct judge *j)
{
	for (size_t i = 0; i < N_REGEXES; i++) {
		query_regex_destroy(j->regex[i]);
		free(j->verdict[i]);
	}
	free(j->of_code);
	free(j->of_node);
	free(j->depth);
}

static bool has_regex(const struct filter *f)
{
	return f->function_regex || f->source_regex || f->module_regex ||
	       f->negative_function_regex || f->negative_source_regex || f->negative_module_regex ||
	       f->frame_regex;
}

static int compile(struct judge *j, struct err *err)
{
	const struct filter *f = j->q->filter;
	const struct {
		const char *name, *pattern;
	} given[N_REGEXES] = {
		{"function_regex", f->function_regex},
		{"source_regex", f->source_regex},
		{"module_regex", f->module_regex},
		{"negative_function_regex", f->negative_function_regex},
		{"negative_source_regex", f->negative_source_regex},
		{"negative_module_regex", f->negative_module_regex},
		[FRAME_REGEX] = {"frame_regex", f->frame_regex},
	};

	for (size_t i = 0; i < N_REGEXES; i++) {
		int r = given[i].pattern ? query_regex_create(given[i].name, given[i].pattern,
							      &j->regex[i], err)
					 : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* 1 or 0; a text that is not known matches nothing. */
static int matches(struct judge *j, size_t regex, uint32_t text, struct err *err)
{
	signed char *verdict = &j->verdict[regex][text];
	int r;

	if (!text)
		return 0;
	if (!*verdict) {
		r = query_regex_match(j->regex[regex], j->q->names->text[text], err);
		if (r < 0)
			return r;
		*verdict = r ? 1 : -1;
	}
	return *verdict > 0;
}

/* HAS_* of one frame. */
static int judge_frame(struct judge *j, const struct query_name_identity *frame, struct err *err)
{
	const uint32_t text[3] = {frame->name, frame->source, frame->module};
	bool has_positive = false, is_positive = true;
	int found = 0, r;

	for (size_t i = 0; i < FRAME_REGEX; i++) {
		if (!j->regex[i] || (i < 3 && !is_positive))
			continue;
		r = matches(j, i, text[i % 3], err);
		if (r < 0)
			return r;
		if (i >= 3) {
			found |= r ? HAS_NEGATIVE : 0;
		} else {
			has_positive = true;
			is_positive = r;
		}
	}
	for (size_t i = 0; i < 2 && j->regex[FRAME_REGEX] && !(found & HAS_FRAME); i++) {
		r = matches(j, FRAME_REGEX, text[i], err);
		if (r < 0)
			return r;
		found |= r ? HAS_FRAME : 0;
	}
	return found | (has_positive && is_positive ? HAS_POSITIVE : 0);
}

static int judge_codes(struct judge *j, struct err *err)
{
	const struct query_names *names = j->q->names;
	uint8_t *of_identity = malloc(names->n_identities);
	int r = 0;

	if (!of_identity)
		return err_set_memory(err, names->n_identities);
	for (size_t i = 0; i < names->n_identities && r >= 0; i++) {
		r = judge_frame(j, &names->identity[i], err);
		of_identity[i] = (uint8_t)(r < 0 ? 0 : r);
		if (r >= 0 && i % 1024 == 0)
			r = query_check_cancel(j->q, err);
	}
	for (size_t code = 0; code < names->n_codes && r >= 0; code++) {
		for (uint32_t i = names->first[code]; i < names->first[code + 1]; i++)
			j->of_code[code] |= of_identity[names->frame[i].identity];
	}
	free(of_identity);
	return r < 0 ? r : 0;
}

/* A parent comes before its children: store.h. */
static void judge_nodes(struct judge *j, const struct store_node *node, size_t n_nodes)
{
	const struct query_names *names = j->q->names;

	for (size_t i = 1; i < n_nodes; i++) {
		size_t parent = node[i].parent < i ? node[i].parent : 0;
		uint32_t code = node[i].code;

		j->of_node[i] = j->of_node[parent];
		j->depth[i] = j->depth[parent];
		if (code && code < names->n_codes) {
			j->of_node[i] |= j->of_code[code];
			j->depth[i] += names->first[code + 1] - names->first[code];
		}
	}
}

static int judge_init(struct judge *j, struct query *q, struct err *err)
{
	const struct query_names *names;
	const struct store_node *node;
	size_t n_nodes;
	int r;

	*j = (struct judge){.q = q};
	r = compile(j, err); /* first: a bad expression is an error whatever the names are */
	if (r < 0)
		return r;
	r = query_need_names(q, err);
	if (r < 0)
		return r;
	names = q->names;
	node = store_table(q->c.store, STORE_NODES, &n_nodes);
	j->of_code = calloc(names->n_codes + 1, 1);
	j->of_node = calloc(n_nodes + 1, 1);
	j->depth = calloc(n_nodes + 1, sizeof(*j->depth));
	if (!j->of_code || !j->of_node || !j->depth)
		return err_set_memory(err, n_nodes * sizeof(*j->depth));
	for (size_t i = 0; i < N_REGEXES; i++) {
		if (!j->regex[i])
			continue;
		j->verdict[i] = calloc(names->n_texts, 1);
		if (!j->verdict[i])
			return err_set_memory(err, names->n_texts);
	}
	if (has_regex(q->filter))
		r = judge_codes(j, err);
	if (r >= 0)
		judge_nodes(j, node, n_nodes);
	return r;
}

/* ---- the other conditions ---- */

static bool in_range(const struct filter_range *r, uint64_t value)
{
	return (!r->has_min || value >= r->min) && (!r->has_max || value <= r->max);
}

/* part / whole >= ppm, without rounding */
static bool is_share_at_least(uint64_t part, uint64_t whole, uint64_t ppm)
{
	return (unsigned __int128)part * 1000000u >= (unsigned __int128)whole * ppm;
}

static bool is_share_at_most(uint64_t part, uint64_t whole, uint64_t ppm)
{
	return (unsigned __int128)part * 1000000u <= (unsigned __int128)whole * ppm;
}

static bool leaked_fits(const struct filter_range *r, const struct store_stack *s)
{
	if (r->has_min && (r->is_min_percent ? !is_share_at_least(s->n_leaked, s->n_allocs, r->min)
					     : s->n_leaked < r->min))
		return false;
	return !r->has_max ||
	       (r->is_max_percent ? is_share_at_most(s->n_leaked, s->n_allocs, r->max)
				  : s->n_leaked <= r->max);
}

struct group_limits {
	struct filter_range interval_ns; /* shares turned into nanoseconds */
	uint64_t max_at_min, max_at_max;
	bool is_impossible;
};

static struct group_limits group_limits(const struct query *q)
{
	const struct filter *f = q->filter;
	uint64_t duration_ns = store_facts(q->c.store)->duration_ns;
	const struct filter_time *min = &f->group_max_total_usage_first_seen_min;
	const struct filter_time *max = &f->group_max_total_usage_first_seen_max;
	struct plan_moment from = plan_moment(q->c.store, min), to = plan_moment(q->c.store, max);
	struct group_limits l = {
		.interval_ns = f->group_interval_ns,
		.max_at_min = min->kind == FILTER_TIME_NONE ? 0 : from.ns,
		.max_at_max = max->kind == FILTER_TIME_NONE ? UINT64_MAX : to.ns,
		.is_impossible = max->kind != FILTER_TIME_NONE && to.is_before,
	};

	if (l.interval_ns.is_min_percent)
		l.interval_ns.min = plan_share(duration_ns, l.interval_ns.min);
	if (l.interval_ns.is_max_percent)
		l.interval_ns.max = plan_share(duration_ns, l.interval_ns.max);
	return l;
}

static bool group_fits(const struct filter *f, const struct group_limits *l,
		       const struct store_stack *s)
{
	if (l->is_impossible || s->max_at_ns < l->max_at_min || s->max_at_ns > l->max_at_max)
		return false;
	if (f->lifetime == FILTER_ONLY_WHOLE_GROUP_LEAKED && s->n_leaked != s->n_allocs)
		return false;
	return in_range(&l->interval_ns, s->last_ns - s->first_ns) &&
	       in_range(&f->group_allocations, s->n_allocs) &&
	       leaked_fits(&f->group_leaked_allocations, s);
}

static bool frames_fit(const struct judge *j, const struct store_stack *s)
{
	const struct filter *f = j->q->filter;
	uint8_t found = j->of_node[s->node];

	if ((j->regex[0] || j->regex[1] || j->regex[2]) && !(found & HAS_POSITIVE))
		return false;
	if (j->regex[FRAME_REGEX] && !(found & HAS_FRAME))
		return false;
	return !(found & HAS_NEGATIVE) && in_range(&f->backtrace_depth, j->depth[s->node]);
}

static bool is_set(const struct filter_range *r)
{
	return r->has_min || r->has_max;
}

static bool has_group_condition(const struct filter *f)
{
	return f->lifetime == FILTER_ONLY_WHOLE_GROUP_LEAKED || is_set(&f->group_interval_ns) ||
	       is_set(&f->group_allocations) || is_set(&f->group_leaked_allocations) ||
	       f->group_max_total_usage_first_seen_min.kind != FILTER_TIME_NONE ||
	       f->group_max_total_usage_first_seen_max.kind != FILTER_TIME_NONE;
}

/* The stacks that the parameter `name` names. */
static int named_stacks(struct query *q, const char *name, const uint32_t *id, size_t n,
			uint64_t **ret, struct err *err)
{
	uint64_t *set = set_create(q->n_stacks);

	if (!set)
		return err_set_memory(err, q->n_stacks / 8);
	for (size_t i = 0; i < n; i++) {
		if (id[i] >= q->n_stacks) {
			free(set);
			return err_set(err, ERR_USAGE,
				       "%s: there is no backtrace %u: the recording has %zu", name,
				       id[i], q->n_stacks);
		}
		set_add(set, id[i]);
	}
	*ret = set;
	return 0;
}

/* The stacks that are asked for, and those that are not; NULL: not said. */
struct named {
	uint64_t *only, *without;
};

static int named_init(struct named *n, struct query *q, struct err *err)
{
	const struct filter *f = q->filter;
	int r = 0;

	if (f->has_backtraces)
		r = named_stacks(q, "backtraces", f->backtraces, f->n_backtraces, &n->only, err);
	if (r >= 0 && f->has_negative_backtraces)
		r = named_stacks(q, "negative_backtraces", f->negative_backtraces,
				 f->n_negative_backtraces, &n->without, err);
	return r;
}

static bool named_has(const struct named *n, size_t stack)
{
	return (!n->only || set_has(n->only, stack)) && !(n->without && set_has(n->without, stack));
}

static void named_fini(struct named *n)
{
	free(n->only);
	free(n->without);
}

/* Does the expression match the function to blame? Once for each function: verdicts are 1 + result. */
static int is_blamed(struct query *q, uint32_t stack, struct query_regex *regex,
		     struct map *verdicts, struct err *err)
{
	uint64_t key = sites_key(q, QUERY_BY_BLAME, stack), *verdict;
	bool is_new;
	int r = map_add(verdicts, key, &verdict, &is_new, err);

	if (r < 0 || !is_new)
		return r < 0 ? r : *verdict == 2;
	if (key) {
		const char *name = query_group_name(q, QUERY_BY_BLAME, key);

		r = name ? query_regex_match(regex, name, err) : err_set_memory(err, 1);
	}
	if (r >= 0)
		*verdict = 1 + (uint64_t)r;
	return r;
}

/* Takes the stacks out of *set whose function to blame does not match; NULL stands for all stacks. */
static int keep_blamed(struct query *q, uint64_t **set, struct err *err)
{
	struct query_regex *regex = NULL;
	struct map verdicts = {0};
	uint64_t *kept = set_create(q->n_stacks);
	int r = kept ? 0 : err_set_memory(err, q->n_stacks / 8);

	if (r >= 0)
		r = query_regex_create("blame_regex", q->filter->blame_regex, &regex, err);
	if (r >= 0)
		r = sites_need(q, QUERY_BY_BLAME, err);
	for (size_t i = 0; i < q->n_stacks && r >= 0; i++) {
		if (*set && !set_has(*set, i))
			continue;
		r = is_blamed(q, (uint32_t)i, regex, &verdicts, err);
		if (r > 0)
			set_add(kept, i);
		if (r >= 0 && i % 4096 == 0)
			r = query_check_cancel(q, err);
	}
	if (r >= 0) {
		free(*set);
		*set = kept;
		kept = NULL;
	}
	free(kept);
	map_fini(&verdicts);
	query_regex_destroy(regex);
	return r < 0 ? r : 0;
}

int plan_stacks(struct query *q, uint64_t **ret, struct err *err)
{
	const struct filter *f = q->filter;
	bool needs_frames = has_regex(f) || is_set(&f->backtrace_depth);
	bool needs_group = has_group_condition(f);
	struct group_limits limits = group_limits(q);
	struct named named = {0};
	struct judge j = {0};
	uint64_t *set = NULL;
	int r = named_init(&named, q, err);

	if (r >= 0 && f->blame_regex)
		r = keep_blamed(q, &named.only, err);
	if (r >= 0 && needs_frames)
		r = judge_init(&j, q, err);
	if (r < 0 || (!named.only && !named.without && !needs_frames && !needs_group))
		goto out;
	set = set_create(q->n_stacks);
	if (!set) {
		r = err_set_memory(err, q->n_stacks / 8);
		goto out;
	}
	for (size_t i = 0; i < q->n_stacks; i++) {
		const struct store_stack *s = &q->stack[i];

		if (named_has(&named, i) && (!needs_group || group_fits(f, &limits, s)) &&
		    (!needs_frames || frames_fit(&j, s)))
			set_add(set, i);
	}
	*ret = set;
out:
	judge_fini(&j);
	named_fini(&named);
	return r < 0 ? r : 0;
}
