/* query/query_tree_i.h - what the two directions of query_tree_with() share. */
#ifndef QUERY_QUERY_TREE_I_H
#define QUERY_QUERY_TREE_I_H

#include "query/shared_paths.h"

#define QUERY_TREE_CANCEL_STEPS 4096u

struct query_tree_builder {
	struct query *q;
	const struct query_tree_options *o;
	struct query_groups groups; /* by stack; borrowed */
	struct shared_result *shared; /* whose paths these are; NULL: the builder's own */
	struct query_paths paths;
	const uint64_t (
		*sum)[QUERY_N_MAIN_COSTS]; /* borrowed; top-down only: by node of the paths */
	uint32_t *under; /* name numbers from the root to node 0 */
	struct query_tree tree;
	uint32_t *number_of_name; /* name number -> 1 + index in tree.name; 0: not used yet */
	size_t cap_names;
	uint64_t least[QUERY_N_MAIN_COSTS]; /* a node is kept if some cost reaches this */
	uint32_t share_ppm; /* which is this share of node 0 */
	bool has_rests; /* what is left out of a node is a child */
	uint32_t *rest; /* by node, where has_rests: that child; 0: none yet */
	size_t cap_rest;
};

/* Makes a node for a node of the paths. The first call makes node 0; parents come before their
 * children. ERR_LIMIT: more nodes than the options allow. */
int query_tree_add_node(struct query_tree_builder *b, uint32_t parent, uint32_t path, uint32_t *ret,
			struct err *err);

/* The child of `node` for what is left out of it; `node` itself where there are no such children. */
int query_tree_use_rest(struct query_tree_builder *b, uint32_t node, uint32_t *ret,
			struct err *err);

/* Adds the cost of a stack to the innermost kept node of the stack. is_self: the stack ends there.
 * The sums of children are added to their parents at the end. */
void query_tree_add_cost(struct query_tree_builder *b, uint32_t node, const struct query_group *g,
			 bool is_self);

/* Sets `least` from the costs of node 0. query_tree_is_kept(): does some cost of `sum` reach
 * it? */
void query_tree_set_least(struct query_tree_builder *b, const uint64_t all[QUERY_N_MAIN_COSTS]);
bool query_tree_is_kept(const struct query_tree_builder *b, const uint64_t sum[QUERY_N_MAIN_COSTS]);

/* query_tree_up.c: makes all nodes of a bottom-up tree. Makes no node if `under` leads nowhere. */
int query_tree_build_up(struct query_tree_builder *b, struct err *err);

#endif
