/* export/tree_order.h - a query's tree, ordered by one cost and pruned.
 *
 * query_tree() orders children by bytes. Here every list of children is linked anew, largest cost
 * first, without those below a minimum; what is cut off stays in the array but is not reached.
 */
#ifndef EXPORT_TREE_ORDER_H
#define EXPORT_TREE_ORDER_H

#include "export/export.h"

struct tree_order {
	size_t n_kept; /* nodes that are reached from the root, which counts */
	size_t n_cut; /* that cost something */
	uint64_t cut_cost; /* of what was cut off right below nodes that are kept */
	uint64_t min_cost; /* that was used */
};

/* Keeps at most max_nodes nodes, none with less than min_share of the root's cost, none with 0. */
int tree_order(struct query_tree *t, enum export_cost cost, double min_share, size_t max_nodes,
	       struct tree_order *ret, struct err *err);

/* The next node of a walk: first child, else next sibling of it or of an ancestor. 0: the end. */
uint32_t tree_order_next(const struct query_tree *t, uint32_t node);

#endif
