/* query/query_sites.c - the groups that a stack belongs to by one of its frames: keys and names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/query_i.h"
#include "query/shared_results.h"

int sites_need(struct query *q, enum query_group_by by, struct err *err)
{
	int r = 0;

	if (!sites_are_by_frame(by))
		return 0;
	r = query_need_names(q, err);
	if (r < 0)
		return r;
	r = query_names_classify(q->names, q->c.rules, err);
	if (r < 0)
		return r;
	if ((by == QUERY_BY_BLAME || by == QUERY_BY_PACKAGE) && !q->owners)
		r = q->has_shared_names ? shared_results_owners(q->c.shared, q, &q->owners, err)
					: owners_create(q->c.store, q->names, &q->owners, err);
	return r;
}

/* The frame that stands for a stack by CODE to LINE: query.h. NULL: the stack has no frame. */
static const struct query_name_frame *site_of_stack(const struct query *q, uint32_t stack)
{
	const struct query_names *names = q->names;
	const struct query_name_frame *innermost = NULL;
	uint32_t node = q->stack[stack].node;

	while (node) {
		const struct store_node *n = store_node(q->c.store, node);

		for (uint32_t i = n->code ? names->first[n->code] : 0;
		     n->code && i < names->first[n->code + 1]; i++) {
			if (!frame_class_is_folded(names->identity[names->frame[i].identity].class))
				return &names->frame[i];
			if (!innermost)
				innermost = &names->frame[i];
		}
		node = n->parent < node ? n->parent : 0;
	}
	return innermost;
}

static uint64_t blame_key(const struct query *q, uint32_t stack)
{
	uint32_t frame = q->owners->frame[stack];

	return frame == OWNERS_NONE ? 0 : q->names->identity[q->names->frame[frame].identity].name;
}

uint64_t sites_key(const struct query *q, enum query_group_by by, uint32_t stack)
{
	const struct query_name_frame *site;

	if (by == QUERY_BY_BLAME)
		return blame_key(q, stack);
	if (by == QUERY_BY_PACKAGE)
		return q->owners->package[stack];
	site = site_of_stack(q, stack);
	if (!site)
		return 0;
	switch (by) {
	case QUERY_BY_MODULE:
		return q->names->identity[site->identity].module;
	case QUERY_BY_FUNCTION:
		return q->names->identity[site->identity].function;
	case QUERY_BY_LINE:
		return site->line;
	default:
		return site->frame->code;
	}
}

const struct frame *query_blame(struct query *q, uint32_t stack)
{
	if (!q->owners || stack >= q->n_stacks || q->owners->frame[stack] == OWNERS_NONE)
		return NULL;
	return q->names->frame[q->owners->frame[stack]].frame;
}

static const char *keep_name(struct query *q, char *name)
{
	free(q->made_name);
	q->made_name = name;
	return name;
}

static const char *line_name(struct query *q, uint64_t key)
{
	const struct query_names *names = q->names;
	char *name = NULL;

	if (key < names->n_lines && asprintf(&name, "%s:%u", names->text[names->line[key].source],
					     names->line[key].line) < 0)
		name = NULL;
	return keep_name(q, name);
}

const char *query_group_name(struct query *q, enum query_group_by by, uint64_t key)
{
	if (!q->names || key == 0)
		return NULL;
	switch (by) {
	case QUERY_BY_BLAME:
	case QUERY_BY_MODULE:
	case QUERY_BY_FUNCTION:
		return key < q->names->n_texts ? q->names->text[key] : NULL;
	case QUERY_BY_LINE:
		return line_name(q, key);
	case QUERY_BY_PACKAGE:
		if (!q->owners || key >= text_set_count(q->owners->packages))
			return NULL;
		return text_set_get(q->owners->packages, (uint32_t)key);
	default:
		return NULL;
	}
}
