/* serve/tree_parameters.h - the parameters that select a tree, for the tree itself and for tables
 * that name a node of it.
 */
#ifndef SERVE_TREE_PARAMETERS_H
#define SERVE_TREE_PARAMETERS_H

#include "serve/request.h"

struct tree_parameters {
	struct query_tree_options options; /* max_depth is "all"; texts are borrowed from the
					    * request */
	uint64_t *under; /* owned */
};

/* Reads direction, fold, fold_regex, hide_regex, collapse_recursion and under. */
int tree_parameters_init(struct tree_parameters *p, struct request *rq, struct err *err);
void tree_parameters_fini(struct tree_parameters *p);

/* Names the parameter that an ERR_USAGE of the query is about. Returns r. */
int tree_parameters_refuse(struct request *rq, int r, const struct err *err);

/* The parameters, for the table of routes. */
#define TREE_PARAMETERS                                                                            \
	{"direction", "choice", "top_down|bottom_up",                                              \
	 "root: the outermost or the innermost frame"},                                            \
		{"fold", "choice", "none|runtime",                                                 \
		 "runtime: just my code; runs of frames of run-times and executors are one node, " \
		 "allocators at the inner end are left out"},                                      \
		{"fold_regex", "regex", NULL, "runs of frames with such functions are one node"},  \
		{"hide_regex", "regex", NULL, "frames with such functions are left out"},          \
		{"collapse_recursion", "choice", "false|true",                                     \
		 "leave out calls that repeat the ones right before them"},                        \
	{                                                                                          \
		"under", "keys", NULL,                                                             \
			"keys from the root to a row, with commas between them: only what lies "   \
			"behind it"                                                                \
	}

#endif
