/* query/owners.h - the frame to blame, and its package, for every stack. Private to query/.
 *
 * frame_class_blame() walks over the frames of one stack. Here one walk over the tree of frames
 * answers for all stacks, from the outermost frames inwards. The frame to blame at a node is
 * chosen among the frames of the node and the frame to blame at the node's caller: the best class
 * wins, and among equals the innermost frame. One step per node, however many stacks there are.
 *
 *	node	main (own)	-> vector::push_back (run-time)	-> malloc (allocator)
 *	blame	main		   main				   main
 *
 * Memory: 8 bytes per stack; 4 bytes per node during owners_create(). Threads: one during
 * owners_create(); any number after that.
 */
#ifndef QUERY_OWNERS_H
#define QUERY_OWNERS_H

#include "query/query_names.h"
#include "util/text_set.h"

#define OWNERS_NONE UINT32_MAX

struct owners {
	uint32_t *frame; /* by stack: index in query_names.frame; OWNERS_NONE: no frame */
	uint32_t *package; /* by stack: number in packages; 0: no frame */
	struct text_set *packages; /* frame_package() of the frames to blame */
};

/* names must be classified (query_names_classify()). store and names are borrowed for the call. */
int owners_create(const struct store *store, const struct query_names *names, struct owners **ret,
		  struct err *err);
void owners_destroy(struct owners *o); /* NULL does nothing */

#endif
