/* query/query_fold.h - which frames a tree leaves out, and which ones it folds into one node.
 *
 * The frames of a stack are looked at from the outside to the inside:
 *  1. Frames that hide_regex matches go away.
 *  2. Neighbours that are to be folded (run-times, allocators and executors where the fold is RUNTIME;
 *     what fold_regex matches) form a run, which becomes one node. The node has the title of the most
 *     telling frame ("tokio worker"), or the name of the outermost one: the function that was called.
 *  3. Of the run at the inner end, where the fold is RUNTIME, the outermost frame of an allocator
 *     and what lies inside of it go away.
 *  4. A sequence of nodes that repeats the one right before it goes away, where recursion collapses.
 *
 * A name number is what the user takes for one row of a tree: an identity of query_names.h, or behind
 * these the number of a title. 0 is none.
 */
#ifndef QUERY_QUERY_FOLD_H
#define QUERY_QUERY_FOLD_H

#include "query/query_i.h"

enum query_fold_action {
	QUERY_FOLD_KEEP,
	QUERY_FOLD_HIDE,
	QUERY_FOLD_RUN, /* part of a run */
	QUERY_FOLD_ALLOCATOR, /* the same, and the inner end of a stack begins with it */
};

struct query_fold {
	uint8_t *action; /* enum query_fold_action by identity; NULL: all are kept */
	uint8_t *title; /* number of a title by identity, 0: none; NULL as action */
	bool collapses_recursion;
};

/* What the options want; names are made where they are needed. ERR_USAGE for a bad expression: the text
 * begins with the name of the parameter. */
int query_fold_init(struct query_fold *f, struct query *q, const struct query_tree_options *o,
		    struct err *err);
void query_fold_fini(struct query_fold *f);

/* Titles are numbered from 1, the most telling first. */
#define QUERY_FOLD_MAX_TITLES 32u

/* The text of a name number that is a title; NULL: it is an identity. */
const char *query_fold_name_title(const struct query_names *names, uint32_t name);

/* A number for a name that stays the same for a recording, whatever is asked: less than 2^53, so that
 * JavaScript can hold it. It comes from the texts; two names with the same one are possible, but
 * hardly ever met. */
uint64_t query_fold_key(const struct query_names *names, uint32_t name);

/* The names of n keys. ERR_USAGE: a key that no name has, or that two have. */
int query_fold_find_keys(const struct query_names *names, const uint64_t *key, size_t n,
			 uint32_t *ret, struct err *err);

#endif
