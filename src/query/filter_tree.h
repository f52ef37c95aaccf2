/* query/filter_tree.h - filters joined by AND, OR and WITHOUT.
 *
 * A filter is a list of conditions that all hold. A tree joins filters, so that a query can be about
 * the union, the intersection or the difference of what filters select:
 *
 *	 (leaked) OR (size >= 1 MiB), WITHOUT (thread 7)
 *
 *	      WITHOUT
 *	      /     \
 *	     OR    filter
 *	    /  \
 *	filter filter
 *
 * All functions of query.h work on such a query. Each figure is as exact as with one filter: the
 * scanner selects the rows of a block for each filter, and joins the selections. The conditions `from`
 * and `to` of the filters select rows, but query_span() is the whole recording. calls_list() needs a
 * query of one filter (it has conditions of its own).
 */
#ifndef QUERY_FILTER_TREE_H
#define QUERY_FILTER_TREE_H

#include "query/query.h"

enum filter_tree_op {
	FILTER_TREE_LEAF, /* what `filter` selects */
	FILTER_TREE_AND, /* what left and right select */
	FILTER_TREE_OR, /* what left or right selects */
	FILTER_TREE_WITHOUT, /* what left selects and right does not */
};

#define FILTER_TREE_MAX_DEPTH 32u
#define FILTER_TREE_MAX_LEAVES 64u

struct filter_tree {
	enum filter_tree_op op;
	struct filter filter; /* LEAF */
	struct filter_tree *left, *right; /* else; owned */
};

void filter_tree_destroy(struct filter_tree *t); /* NULL does nothing; ends the filters, too */

/* As query_create(). The tree must live as long as the query. ERR_LIMIT: the tree is too deep or has
 * too many leaves; ERR_REFUSED: the store has no rows. */
int query_create_tree(const struct query_context *c, const struct filter_tree *t,
		      struct query **ret, struct err *err);

#endif
