/* query/query_search.c - functions, files and images by a part of their name. */
#include <stdlib.h>
#include <string.h>

#include "query/by_function.h"
#include "query/query_regex.h"
#include "query/query_tally.h"

struct searcher {
	struct query *q;
	uint64_t *matches; /* numbers of texts */
	uint64_t *is_wanted; /* identities that have such a text */
	struct query_tally functions, files, modules;
};

/* Which texts match, and which identities have one of them. */
static int find_texts(struct searcher *s, const char *text, bool own_only, struct err *err)
{
	const struct query_names *names = s->q->names;
	struct query_regex *x = NULL;
	int r = query_regex_create_text("q", text, &x, err);

	for (size_t i = 1; i < names->n_texts && r >= 0; i++) {
		r = query_regex_match(x, names->text[i], err);
		if (r > 0)
			set_add(s->matches, i);
		if (r >= 0 && i % 4096 == 0)
			r = query_check_cancel(s->q, err);
	}
	for (size_t i = 1; i < names->n_identities && r >= 0; i++) {
		const struct query_name_identity *n = &names->identity[i];

		if (own_only && n->class != FRAME_CLASS_OWN)
			continue;
		if (set_has(s->matches, n->name) || set_has(s->matches, n->source) ||
		    set_has(s->matches, n->module))
			set_add(s->is_wanted, i);
	}
	query_regex_destroy(x);
	return r < 0 ? r : 0;
}

static int count_stack(void *user, const struct query_walk_stack *stack, struct err *err)
{
	struct searcher *s = user;
	const struct query_names *names = s->q->names;
	int r = 0;

	for (size_t i = 0; i < stack->n && r >= 0; i++) {
		uint32_t frame = stack->frame[i], identity = names->frame[frame].identity;
		const struct query_name_identity *n = &names->identity[identity];

		if (!set_has(s->is_wanted, identity))
			continue;
		if (set_has(s->matches, n->name))
			r = query_tally_add(&s->functions, n->name, stack, frame, err);
		if (r >= 0 && set_has(s->matches, n->source))
			r = query_tally_add(&s->files, n->source, stack, frame, err);
		if (r >= 0 && set_has(s->matches, n->module))
			r = query_tally_add(&s->modules, n->module, stack, frame, err);
	}
	return r;
}

static int compare_found(const void *a, const void *b)
{
	const struct query_found *x = a, *y = b;
	const struct query_group *g = &x->cost, *h = &y->cost;

	if (g->leaked_bytes != h->leaked_bytes)
		return g->leaked_bytes > h->leaked_bytes ? -1 : 1;
	if (g->peak_bytes != h->peak_bytes)
		return g->peak_bytes > h->peak_bytes ? -1 : 1;
	if (g->n_bytes != h->n_bytes)
		return g->n_bytes > h->n_bytes ? -1 : 1;
	return strcmp(x->text, y->text);
}

static int take(const struct query_tally *t, const struct query_names *names,
		struct query_found_list *ret, struct err *err)
{
	struct query_found *list = malloc((t->n + 1) * sizeof(*list));

	if (!list)
		return err_set_memory(err, t->n * sizeof(*list));
	for (size_t i = 0; i < t->n; i++)
		list[i] = (struct query_found){
			.text = names->text[t->item[i].key],
			.frame = names->frame[t->item[i].frame].frame,
			.cost = t->item[i].cost,
		};
	if (t->n)
		qsort(list, t->n, sizeof(*list), compare_found);
	ret->item = list;
	ret->n = t->n;
	return 0;
}

static int search(struct searcher *s, const char *text, bool own_only, struct query_search *ret,
		  struct err *err)
{
	const struct query_names *names = s->q->names;
	int r = query_tally_init(&s->functions, names->n_texts, err);

	if (r >= 0)
		r = query_tally_init(&s->files, names->n_texts, err);
	if (r >= 0)
		r = query_tally_init(&s->modules, names->n_texts, err);
	s->matches = set_create(names->n_texts);
	s->is_wanted = set_create(names->n_identities);
	if (r >= 0 && (!s->matches || !s->is_wanted))
		r = err_set_memory(err, names->n_texts / 8);
	if (r >= 0)
		r = find_texts(s, text, own_only, err);
	if (r >= 0)
		r = query_walk(s->q, count_stack, s, err);
	if (r >= 0)
		r = take(&s->functions, names, &ret->functions, err);
	if (r >= 0)
		r = take(&s->files, names, &ret->files, err);
	if (r >= 0)
		r = take(&s->modules, names, &ret->modules, err);
	return r;
}

int query_search(struct query *q, const char *text, bool own_only, struct query_search *ret,
		 struct err *err)
{
	struct searcher s = {.q = q};
	struct query_search found = {0};
	int r = query_need_names(q, err);

	if (r >= 0 && own_only)
		r = query_names_classify(q->names, q->c.rules, err);
	if (r >= 0)
		r = search(&s, text, own_only, &found, err);
	if (r >= 0)
		*ret = found;
	else
		query_search_fini(&found);
	query_tally_fini(&s.functions);
	query_tally_fini(&s.files);
	query_tally_fini(&s.modules);
	free(s.matches);
	free(s.is_wanted);
	return r;
}

void query_search_fini(struct query_search *s)
{
	free(s->functions.item);
	free(s->files.item);
	free(s->modules.item);
	*s = (struct query_search){0};
}
