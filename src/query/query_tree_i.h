/* query/query_tree_i.h - what the two directions of query_tree_with() share. */
#ifndef QUERY_QUERY_TREE_I_H
#define QUERY_QUERY_TREE_I_H

#include "query/query_paths.h"

#define QUERY_TREE_CANCEL_STEPS 4096u

struct query_tree_builder {
	struct query *q;
	const struct query_tree_options *o;
	struct query_groups groups; /* by stack */
	struct query_paths paths;
	uint32_t *under; /* names from the root to node 0 */
	struct query_tree tree;
	size_t capacity; /* of nodes */
	uint32_t *number_of_name; /* name -> 1 + index in tree.name; 0: not used yet */
	size_t cap_names;
	uint64_t least[QUERY_N_MAIN_COSTS]; /* what a node must have of some cost */
};

/* Makes a node for one of the paths: the first is node 0, parents come before their children. ERR_LIMIT:
 * there are more than the options allow. */
int query_tree_add_node(struct query_tree_builder *b, uint32_t parent, uint32_t path, uint32_t *ret,
			struct err *err);

/* Adds the cost of a stack to the last node that is kept of it; is_self: the stack ends there. Sums of
 * children are added to their parents in the end. */
void query_tree_add_cost(struct query_tree_builder *b, uint32_t node, const struct query_group *g,
			 bool is_self);

/* What decides whether a node is kept. */
void query_tree_set_least(struct query_tree_builder *b, const uint64_t all[QUERY_N_MAIN_COSTS]);
bool query_tree_is_kept(const struct query_tree_builder *b, const uint64_t sum[QUERY_N_MAIN_COSTS]);

/* query_tree_up.c: makes all nodes of a tree bottom-up. None: `under` leads nowhere. */
int query_tree_build_up(struct query_tree_builder *b, struct err *err);

#endif
