/* query/owners.c - see owners.h. */
#include "query/owners.h"

#include <stdlib.h>

#include "query/frame_class.h"
#include "query/frame_package.h"

static const struct query_name_identity *identity_of(const struct query_names *names,
						     uint32_t frame)
{
	return &names->identity[names->frame[frame].identity];
}

static bool takes_blame(const struct query_names *names, uint32_t inner, uint32_t outer)
{
	const struct query_name_identity *of = identity_of(names, outer);

	return frame_class_takes_blame((enum frame_class)identity_of(names, inner)->class,
				       (enum frame_class)of->class, of->is_thin);
}

/* The frame to blame at a node, given that of its caller. */
static uint32_t blame_of_node(const struct query_names *names, const struct store_node *node,
			      uint32_t outer)
{
	uint32_t first = node->code ? names->first[node->code] : 0;
	uint32_t end = node->code ? names->first[node->code + 1] : 0, best = outer;

	for (uint32_t i = end; i-- > first;) { /* from the outermost inwards */
		if (best == OWNERS_NONE || takes_blame(names, i, best))
			best = i;
	}
	return best;
}

static int find_frames(struct owners *o, const struct store *store, const struct query_names *names,
		       struct err *err)
{
	size_t n_nodes, n_stacks = store_n_stacks(store);
	const struct store_node *node = store_table(store, STORE_NODES, &n_nodes);
	uint32_t *of_node = malloc((n_nodes + 1) * sizeof(*of_node));

	if (!of_node)
		return err_set_memory(err, n_nodes * sizeof(*of_node));
	of_node[0] = OWNERS_NONE;
	for (size_t i = 1; i < n_nodes; i++)
		of_node[i] = blame_of_node(names, &node[i], of_node[node[i].parent]);
	for (size_t i = 0; i < n_stacks; i++)
		o->frame[i] = of_node[store_stack(store, (uint32_t)i)->node];
	free(of_node);
	return 0;
}

static int find_packages(struct owners *o, size_t n_stacks, const struct query_names *names,
			 struct err *err)
{
	uint32_t *of_identity = calloc(names->n_identities + 1, sizeof(*of_identity));
	int r = 0;

	if (!of_identity)
		return err_set_memory(err, names->n_identities * sizeof(*of_identity));
	for (size_t i = 0; i < n_stacks && r >= 0; i++) {
		uint32_t identity;
		char text[FRAME_PACKAGE_BYTES];

		if (o->frame[i] == OWNERS_NONE)
			continue;
		identity = names->frame[o->frame[i]].identity;
		if (!of_identity[identity]) { /* 1 + number */
			frame_package(names->identity[identity].frame, text);
			r = text_set_add(o->packages, text, &o->package[i], err);
			of_identity[identity] = o->package[i] + 1;
		}
		o->package[i] = of_identity[identity] - 1;
	}
	free(of_identity);
	return r;
}

int owners_create(const struct store *store, const struct query_names *names, struct owners **ret,
		  struct err *err)
{
	size_t n_stacks = store_n_stacks(store);
	struct owners *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return err_set_memory(err, sizeof(*o));
	o->frame = calloc(n_stacks + 1, sizeof(*o->frame));
	o->package = calloc(n_stacks + 1, sizeof(*o->package));
	if (o->frame && o->package)
		r = text_set_create(true, &o->packages, err);
	else
		r = err_set_memory(err, n_stacks * sizeof(*o->frame));
	if (r >= 0)
		r = find_frames(o, store, names, err);
	if (r >= 0)
		r = find_packages(o, n_stacks, names, err);
	if (r >= 0) {
		*ret = o;
		o = NULL;
	}
	owners_destroy(o);
	return r;
}

void owners_destroy(struct owners *o)
{
	if (!o)
		return;
	text_set_destroy(o->packages);
	free(o->frame);
	free(o->package);
	free(o);
}
