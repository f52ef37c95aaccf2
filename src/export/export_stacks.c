/* export/export_stacks.c - the stacks that a query finds, as lists of codes. See export_i.h. */
#include <stdlib.h>
#include <string.h>

#include "export/export_i.h"
#include "util/temp_file.h"
#include "util/vec.h"

int export_stacks_codes(struct export_stacks *s, uint32_t stack, struct err *err)
{
	const struct store_node *node;
	uint32_t at = store_stack(s->store, stack)->node;

	s->n_codes = 0;
	while (at != 0) {
		node = store_node(s->store, at);
		if (node->kind == STORE_NODE_FRAME && node->code != 0) {
			int r = vec_reserve(&s->code, &s->cap_codes, s->n_codes + 1,
					    sizeof(*s->code), err);

			if (r < 0)
				return r;
			s->code[s->n_codes++] = node->code;
		}
		at = node->parent;
	}
	return 0;
}

/* Marks the codes of a stack. The walk ends at a node seen before: the codes from there on are
 * marked. */
static void mark_codes(const struct store *s, uint32_t node, uint8_t *seen_node, uint8_t *is_used)
{
	while (node != 0 && !seen_node[node]) {
		const struct store_node *n = store_node(s, node);

		seen_node[node] = 1;
		is_used[n->code] = 1;
		node = n->parent;
	}
}

/* Looks up the names of the codes of these stacks. */
static int need_codes(const struct export_stacks *s, struct err *err)
{
	size_t n_nodes, n_codes, n = 0;
	uint8_t *seen, *used;
	uint32_t *list;
	int r = 0;

	store_table(s->store, STORE_NODES, &n_nodes);
	store_table(s->store, STORE_CODES, &n_codes);
	seen = calloc(n_nodes + 1, 1);
	used = calloc(n_codes + 1, 1);
	list = malloc((n_codes + 1) * sizeof(*list));
	if (!seen || !used || !list) {
		r = err_set_memory(err, n_codes * sizeof(*list) + n_nodes);
		goto out;
	}
	for (size_t i = 0; i < s->groups.n; i++)
		mark_codes(s->store, store_stack(s->store, (uint32_t)s->groups.group[i].key)->node,
			   seen, used);
	for (size_t i = 1; i < n_codes; i++) {
		if (used[i])
			list[n++] = (uint32_t)i;
	}
	r = n ? frames_need(s->frames, list, n, err) : 0;
out:
	free(list);
	free(used);
	free(seen);
	return r;
}

int export_stacks_init(struct export_stacks *s, struct query *q, const struct export_options *o,
		       struct err *err)
{
	int r;

	*s = (struct export_stacks){.store = o->context->store, .frames = o->context->frames};
	r = query_groups(q, QUERY_BY_STACK, &s->groups, err);
	if (r < 0)
		return r;
	r = need_codes(s, err);
	if (r < 0)
		export_stacks_fini(s);
	return r;
}

const char *export_temp_folder(const struct export_options *o)
{
	return o->temp_folder ? o->temp_folder : temp_file_folder();
}

void export_stacks_fini(struct export_stacks *s)
{
	query_groups_fini(&s->groups);
	free(s->code);
	s->code = NULL;
}
