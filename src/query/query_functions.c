/* query/query_functions.c - functions with what they cost, and who calls whom.
 *
 * A stack that passes through a function more than once (recursion) counts once for it, and once
 * for each different caller and callee.
 */
#include <stdlib.h>
#include <string.h>

#include "query/by_function.h"
#include "query/query_lines.h"
#include "query/query_regex.h"
#include "query/query_tally.h"

static int compare_functions(const void *a, const void *b)
{
	const struct query_function *x = a, *y = b;

	if (x->cost.n_bytes != y->cost.n_bytes)
		return x->cost.n_bytes > y->cost.n_bytes ? -1 : 1;
	if (x->cost.n_allocs != y->cost.n_allocs)
		return x->cost.n_allocs > y->cost.n_allocs ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void fill_function(const struct query_names *names, const struct query_tally_item *item,
			  struct query_function *ret)
{
	*ret = (struct query_function){
		.key = item->key,
		.name = names->text[item->key],
		.frame = names->frame[item->frame].frame,
		.cost = item->cost,
	};
	ret->cost.key = item->key;
	memcpy(ret->self, item->self, sizeof(ret->self));
}

/* The items as functions, largest first. chosen: by key, the identity to show; 0: leave it out; NULL: all,
 * as they were met. */
static int take_functions(const struct query_tally *t, const struct query_names *names,
			  const uint32_t *chosen, struct query_functions *ret, struct err *err)
{
	struct query_function *list = malloc((t->n + 1) * sizeof(*list));
	size_t n = 0;

	if (!list)
		return err_set_memory(err, t->n * sizeof(*list));
	for (size_t i = 0; i < t->n; i++) {
		if (chosen && !chosen[t->item[i].key])
			continue;
		fill_function(names, &t->item[i], &list[n]);
		if (chosen)
			list[n].frame = names->identity[chosen[t->item[i].key]].frame;
		n++;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare_functions);
	ret->function = list;
	ret->n = n;
	return 0;
}

void query_functions_fini(struct query_functions *f)
{
	free(f->function);
	*f = (struct query_functions){0};
}

/* ---- which functions ---- */

enum {
	N_TEXTS = 3 /* of a match: name, module, source */
};

struct matcher {
	struct query_regex *regex[N_TEXTS]; /* NULL: any */
	signed char *verdict[N_TEXTS]; /* by number of text: 0 not known yet, 1 match, -1 none */
};

static int matcher_init(struct matcher *m, const struct query_function_match *match, size_t n_texts,
			struct err *err)
{
	const char *const parameter[N_TEXTS] = {"q", "module_q", "source_q"};
	const char *const text[N_TEXTS] = {match->name, match->module, match->source};
	int r = 0;

	for (unsigned i = 0; i < N_TEXTS && r >= 0; i++) {
		if (!text[i] || !*text[i])
			continue;
		r = query_regex_create_text(parameter[i], text[i], &m->regex[i], err);
		m->verdict[i] = calloc(n_texts, 1);
		if (r >= 0 && !m->verdict[i])
			r = err_set_memory(err, n_texts);
	}
	return r;
}

static void matcher_fini(struct matcher *m)
{
	for (unsigned i = 0; i < N_TEXTS; i++) {
		query_regex_destroy(m->regex[i]);
		free(m->verdict[i]);
	}
}

/* 1, 0 or an error. */
static int matcher_fits(struct matcher *m, const struct query_names *names,
			const struct query_name_identity *identity, struct err *err)
{
	const uint32_t text[N_TEXTS] = {identity->name, identity->module, identity->source};

	for (unsigned i = 0; i < N_TEXTS; i++) {
		signed char *verdict = m->regex[i] ? &m->verdict[i][text[i]] : NULL;
		int r;

		if (!verdict)
			continue;
		if (!*verdict && text[i]) {
			r = query_regex_match(m->regex[i], names->text[text[i]], err);
			if (r < 0)
				return r;
			*verdict = r ? 1 : -1;
		}
		if (*verdict <= 0)
			return 0;
	}
	return 1;
}

/* By number of function the first identity that fits, or 0. NULL: all do. */
static int choose(struct query *q, const struct query_function_match *match, uint32_t **ret,
		  struct err *err)
{
	const struct query_names *names = q->names;
	struct matcher m = {0};
	uint32_t *chosen = calloc(names->n_texts, sizeof(*chosen));
	int r = chosen ? matcher_init(&m, match, names->n_texts, err)
		       : err_set_memory(err, names->n_texts * sizeof(*chosen));

	if (r >= 0 && match->own_only)
		r = query_names_classify(q->names, q->c.rules, err);

	for (size_t i = 1; i < names->n_identities && r >= 0; i++) {
		uint32_t *slot = &chosen[names->identity[i].name];

		if (match->own_only && names->identity[i].class != FRAME_CLASS_OWN)
			continue;
		if (!*slot)
			r = matcher_fits(&m, names, &names->identity[i], err);
		if (r > 0 && !*slot)
			*slot = (uint32_t)i;
		if (r >= 0 && i % 4096 == 0)
			r = query_check_cancel(q, err);
	}
	matcher_fini(&m);
	if (r < 0)
		free(chosen);
	else
		*ret = chosen;
	return r < 0 ? r : 0;
}

/* ---- all functions ---- */

static int count_stack(void *user, const struct query_walk_stack *s, struct err *err)
{
	struct query_tally *t = user;
	int r = 0;

	for (size_t i = 0; i < s->n && r >= 0; i++)
		r = query_tally_add(t, s->function[i], s, s->frame[i], err);
	if (r >= 0 && s->n)
		query_tally_add_self(t, s->function[0], s);
	return r;
}

int query_functions(struct query *q, const struct query_function_match *m,
		    struct query_functions *ret, struct err *err)
{
	struct query_tally t = {0};
	uint32_t *chosen = NULL;
	int r = query_need_names(q, err);

	if (r >= 0 && m)
		r = choose(q, m, &chosen, err);
	if (r >= 0)
		r = query_tally_init(&t, q->names->n_texts, err);
	if (r >= 0)
		r = query_walk(q, count_stack, &t, err);
	if (r >= 0)
		r = take_functions(&t, q->names, chosen, ret, err);
	query_tally_fini(&t);
	free(chosen);
	return r;
}

/* ---- around one function ---- */

struct around {
	const struct query_names *names;
	uint32_t wanted; /* number of its name */
	size_t identity; /* the first that has it */
	struct query_tally self; /* of one key */
	struct query_tally callers, callees, lines;
};

static int count_frame(struct around *a, const struct query_walk_stack *s, size_t i,
		       struct err *err)
{
	uint32_t line = a->names->frame[s->frame[i]].line;
	int r = query_tally_add(&a->self, a->wanted, s, s->frame[i], err);

	if (r >= 0 && line)
		r = query_tally_add(&a->lines, line, s, s->frame[i], err);
	if (r >= 0 && i + 1 < s->n)
		r = query_tally_add(&a->callers, s->function[i + 1], s, s->frame[i + 1], err);
	if (r >= 0 && i > 0)
		r = query_tally_add(&a->callees, s->function[i - 1], s, s->frame[i - 1], err);
	return r;
}

/* What the stack's innermost frame tells: the function's own, or a callee's. */
static void count_self(struct around *a, const struct query_walk_stack *s)
{
	uint32_t line = a->names->frame[s->frame[0]].line;

	if (s->n > 1 && s->function[1] == a->wanted)
		query_tally_add_self(&a->callees, s->function[0], s);
	if (s->function[0] != a->wanted)
		return;
	query_tally_add_self(&a->self, a->wanted, s);
	if (line)
		query_tally_add_self(&a->lines, line, s);
	if (s->n > 1)
		query_tally_add_self(&a->callers, s->function[1], s);
}

static int count_around(void *user, const struct query_walk_stack *s, struct err *err)
{
	struct around *a = user;
	bool is_in = false;
	int r = 0;

	for (size_t i = 0; i < s->n && r >= 0; i++) {
		if (s->function[i] != a->wanted)
			continue;
		is_in = true;
		r = count_frame(a, s, i, err);
	}
	if (r >= 0 && is_in)
		count_self(a, s);
	return r;
}

static int take_around(const struct around *a, struct query_callers *ret, struct err *err)
{
	struct query_callers c = {0};
	int r;

	c.function = (struct query_function){.key = a->wanted,
					     .name = a->names->text[a->wanted],
					     .frame = a->names->identity[a->identity].frame};
	if (a->self.n)
		fill_function(a->names, &a->self.item[0], &c.function);
	r = take_functions(&a->callers, a->names, NULL, &c.callers, err);
	if (r >= 0)
		r = take_functions(&a->callees, a->names, NULL, &c.callees, err);
	if (r >= 0)
		r = query_lines_take(&a->lines, a->names, &c.lines, err);
	if (r >= 0)
		*ret = c;
	else
		query_callers_fini(&c);
	return r;
}

int query_callers(struct query *q, const char *function, struct query_callers *ret, struct err *err)
{
	struct around a = {0};
	int r = query_need_names(q, err);

	if (r < 0)
		return r;
	a.names = q->names;
	a.wanted = query_names_find(q->names, function);
	for (a.identity = 1; a.identity < q->names->n_identities; a.identity++) {
		if (a.wanted && q->names->identity[a.identity].name == a.wanted)
			break;
	}
	if (a.identity == q->names->n_identities) /* it may be a source's or an image's */
		return err_set(err, ERR_USAGE, "no stack has a function '%.200s'", function);
	r = query_tally_init(&a.self, q->names->n_texts, err);
	if (r >= 0)
		r = query_tally_init(&a.callers, q->names->n_texts, err);
	if (r >= 0)
		r = query_tally_init(&a.callees, q->names->n_texts, err);
	if (r >= 0)
		r = query_tally_init(&a.lines, q->names->n_lines, err);
	if (r >= 0)
		r = query_walk(q, count_around, &a, err);
	if (r >= 0)
		r = take_around(&a, ret, err);
	query_tally_fini(&a.self);
	query_tally_fini(&a.callers);
	query_tally_fini(&a.callees);
	query_tally_fini(&a.lines);
	return r;
}

void query_callers_fini(struct query_callers *c)
{
	query_functions_fini(&c->callers);
	query_functions_fini(&c->callees);
	query_lines_fini(&c->lines);
	*c = (struct query_callers){0};
}
