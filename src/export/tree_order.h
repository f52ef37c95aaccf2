/* export/tree_order.h - orders a query's tree by one cost and prunes it.
 *
 * query_tree() orders children by bytes. tree_order() links every list of children again, largest
 * cost first and what is added up last, without children below a minimum. Nodes that are cut off stay in the array, but no
 * link leads to them.
 */
#ifndef EXPORT_TREE_ORDER_H
#define EXPORT_TREE_ORDER_H

#include "export/export.h"

struct tree_order {
	size_t n_kept; /* nodes that links from the root lead to, the root included */
	size_t n_cut; /* nodes with a cost above 0 that were cut off */
	uint64_t cut_cost; /* of the children that were cut off from nodes that are kept */
	uint64_t min_cost; /* the minimum that was used */
};

/* Keeps at most max_nodes nodes, none with less than min_share of the root's cost, none that
 * costs 0. -ERR_MEMORY. */
int tree_order(struct query_tree *t, enum export_cost cost, double min_share, size_t max_nodes,
	       struct tree_order *ret, struct err *err);

/* The tree that the options want, ordered by their cost, with at most max_nodes nodes. */
int tree_order_query(struct query *q, const struct export_options *o, size_t max_nodes,
		     struct query_tree *tree, struct tree_order *ret, struct err *err);

/* Says which frames the tree adds up (query_is_rest()), if it does: "...; min_share=0 shows all". buf is
 * empty otherwise. */
#define TREE_ORDER_NOTE_BYTES 160
const char *tree_order_note(const struct query_tree *t, char buf[TREE_ORDER_NOTE_BYTES]);

/* The next node of a walk: first child, else next sibling of it or of an ancestor. 0: the end. */
uint32_t tree_order_next(const struct query_tree *t, uint32_t node);

#endif
