/* query/owners.h - the frame to blame, and its package, for every stack. Private to query/.
 *
 * frame_class_blame() walks over the frames of one stack. Here the tree of frames is walked once,
 * from the outermost frames inwards: the frame to blame at a node is the innermost one of the best
 * class among the frames of the node itself and the frame to blame at its caller. One step per node,
 * however many stacks there are.
 *
 * Memory: 8 bytes per stack; 4 bytes per node while the struct is made.
 * Threads: one while the struct is made; after that any number.
 */
#ifndef QUERY_OWNERS_H
#define QUERY_OWNERS_H

#include "query/query_names.h"
#include "util/text_set.h"

#define OWNERS_NONE UINT32_MAX

struct owners {
	uint32_t *frame; /* by stack: index in query_names.frame; OWNERS_NONE: no frame at all */
	uint32_t *package; /* by stack: number in packages; 0: no frame at all */
	struct text_set *packages; /* frame_package() of the frames to blame */
};

/* names must be classified (query_names_classify()); both are borrowed until this returns. */
int owners_create(const struct store *store, const struct query_names *names, struct owners **ret,
		  struct err *err);
void owners_destroy(struct owners *o); /* NULL does nothing */

#endif
