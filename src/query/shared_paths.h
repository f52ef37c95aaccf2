/* query/shared_paths.h - the paths of a query's stacks, and what passes through their nodes: shared by the
 * queries of a store.
 *
 * A user who opens a tree row by row, or zooms into a flame graph, asks for many parts of one tree:
 * the same filter, other `under`, depth and min_share. The paths are the same for all of them. They are
 * kept as other shared results are (shared_results.h), unless expressions choose the frames, which
 * seldom come twice.
 */
#ifndef QUERY_SHARED_PATHS_H
#define QUERY_SHARED_PATHS_H

#include "query/query_paths.h"
#include "query/shared_results.h"

struct shared_paths {
	struct query_paths paths;
	uint64_t (
		*sum)[QUERY_N_MAIN_COSTS]; /* by node: of all stacks through it; NULL: bottom-up */
	struct spill_vec sum_memory;
};

/* The paths of the groups that query_stack_sums() gives. *ret->data is a struct shared_paths; the caller
 * gives the reference back with shared_result_release(). */
int shared_paths_get(struct query *q, const struct query_tree_options *o,
		     struct shared_result **ret, struct err *err);

#endif
