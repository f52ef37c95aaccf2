/* query/query_paths.h - the stacks of a query as paths of names, outermost first, in one tree.
 *
 * Stacks whose names are equal, after folding (query_fold.h), have the same path; paths with a common start
 * share its nodes. This is what both directions of query_tree() are made of: small nodes, so that the
 * figures are needed for those nodes only that somebody sees.
 */
#ifndef QUERY_QUERY_PATHS_H
#define QUERY_QUERY_PATHS_H

#include "query/query_fold.h"

struct query_path_node {
	uint32_t parent; /* less than the number of this node */
	uint32_t name; /* query_fold.h; 0 for the root */
	uint32_t frame; /* index in query_names.frame: the first that had this node */
	uint32_t first_child; /* the one that was added first; 0: none */
	uint32_t n_folded; /* 0, or most frames of a run that is this node */
};

struct query_paths {
	struct query_path_node *node; /* 0 is the root */
	size_t n, capacity;
	struct map child_of; /* parent and name -> node, but for first children */
	uint32_t *end; /* by index of the group: the node at which its stack ends */
};

/* g: by stack, borrowed for the call. Where recursion collapses, some nodes may be on no path. */
int query_paths_init(struct query_paths *p, struct query *q, const struct query_fold *fold,
		     const struct query_groups *g, struct err *err);
void query_paths_fini(struct query_paths *p);

/* The child of a node with a name; 0: none. */
uint32_t query_paths_child(const struct query_paths *p, uint32_t parent, uint32_t name);

#endif
