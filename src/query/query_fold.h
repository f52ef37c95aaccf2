/* query/query_fold.h - which frames a tree leaves out, and which ones it folds into one node.
 *
 * The frames of a stack are processed from the outermost to the innermost:
 *  1. Frames that hide_regex matches are removed.
 *  2. Neighbours that are to be folded form a run, and a run becomes one node. Folded are
 *     run-times, allocators and executors if the fold is RUNTIME, and what fold_regex matches. The
 *     node has the most informative title of its frames ("tokio worker"), or else the name of its
 *     outermost frame: the function that was called.
 *  3. If the fold is RUNTIME, the innermost run loses its outermost allocator frame and all frames
 *     inside of it. In a tree bottom up, which begins there, the whole run goes: the first level then
 *     has the functions that asked, not Vec::push. It stays if it has frames that fold_regex chose,
 *     or if the stack has no other frame.
 *  4. If recursion collapses, a sequence of nodes that repeats the sequence right before it is
 *     removed.
 *
 * Example, fold RUNTIME:
 *	frames	main | tokio::runtime::blocking::pool::run, tokio::task::poll | handler |
 *		Vec::push, __rust_alloc, malloc
 *	nodes	main, "tokio blocking thread", handler, Vec::push
 *
 * A name number stands for one row of a tree as the user sees it: the number of an identity
 * (query_names.h), or after these the number of a title. 0 is no name.
 */
#ifndef QUERY_QUERY_FOLD_H
#define QUERY_QUERY_FOLD_H

#include "query/query_i.h"

enum query_fold_action {
	QUERY_FOLD_KEEP,
	QUERY_FOLD_HIDE,
	QUERY_FOLD_RUN, /* part of a run */
	QUERY_FOLD_CHOSEN, /* part of a run, by fold_regex */
	QUERY_FOLD_ALLOCATOR, /* part of a run; cuts off the innermost run */
};

struct query_fold {
	uint8_t *action; /* enum query_fold_action by identity; NULL: all are kept */
	uint8_t *title; /* number of a title by identity, 0: none; NULL if action is */
	bool collapses_recursion;
	bool drops_innermost; /* run, of the frames that nobody chose */
};

/* Applies the options. Calls query_need_names() where names are needed. ERR_USAGE: a regex is not
 * valid; the text begins with the name of the parameter. */
int query_fold_init(struct query_fold *f, struct query *q, const struct query_tree_options *o,
		    struct err *err);
void query_fold_fini(struct query_fold *f);

/* Titles are numbered from 1; the most informative title is 1. */
#define QUERY_FOLD_MAX_TITLES 32u

/* The text of a name number that is a title. NULL: the name is an identity. */
const char *query_fold_name_title(const struct query_names *names, uint32_t name);

/* A key for a name: the same in every query of a recording, and below 2^53, so that JavaScript can
 * hold it. The key is a hash of the texts. Two names with one key are possible, but very
 * unlikely. */
uint64_t query_fold_key(const struct query_names *names, uint32_t name);

/* The names of n keys. ERR_USAGE: no name has the key, or two names have it. */
int query_fold_find_keys(const struct query_names *names, const uint64_t *key, size_t n,
			 uint32_t *ret, struct err *err);

#endif
