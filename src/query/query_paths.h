/* query/query_paths.h - the stacks of a query as paths of names, outermost first, in one tree.
 *
 * Stacks with equal names after folding (query_fold.h) have the same path. Paths with a common
 * start share the nodes of that start:
 *
 *	stacks		a b c,  a b d,  a e
 *	nodes		root - a - b - c
 *			        \   \- d
 *			         \- e
 *	end		stack 0 -> c, stack 1 -> d, stack 2 -> e
 *
 * Both directions of query_tree() are made from these paths. The nodes are small; figures are
 * computed only for the nodes that a caller sees.
 */
#ifndef QUERY_QUERY_PATHS_H
#define QUERY_QUERY_PATHS_H

#include "query/query_fold.h"
#include "util/spill_vec.h"

/* Of the memory budget: each array with an item for each node. Larger ones lie in files. */
#define QUERY_PATHS_SIXTEENTHS 1u

struct query_path_node {
	uint32_t parent; /* smaller than the number of this node */
	uint32_t name; /* query_fold.h; 0 for the root */
	uint32_t frame; /* index in query_names.frame: the first frame at this node */
	uint32_t first_child; /* the child that was added first; 0: none */
	uint32_t n_folded; /* 0, or the frames of the longest run at this node */
};

struct query_paths {
	struct query_path_node *node; /* 0 is the root */
	size_t n;
	struct spill_vec nodes; /* the memory of node: a file if they are many */
	struct map child_of; /* (parent, name) -> node, for all children but first_child */
	uint32_t *end; /* by index of the group: the node where its stack ends */
};

/* g: groups by STACK, borrowed for the call. If recursion collapses, some nodes may be on no
 * path. */
int query_paths_init(struct query_paths *p, struct query *q, const struct query_fold *fold,
		     const struct query_groups *g, struct err *err);
void query_paths_fini(struct query_paths *p);

/* The child of a node that has a name. 0: none. */
uint32_t query_paths_child(const struct query_paths *p, uint32_t parent, uint32_t name);

#endif
