/* record/other_allocator.h - notes in the recording about allocators that are not the C library's.
 *
 * allocators.h records the allocators inside the program that it knows and can redirect; a NOTE
 * chunk of the recording says which, and which not (allocator_findings.h). A program with an
 * allocator that is not recorded would seem to allocate nothing; so two cases are also noted where
 * allocators.h found nothing, because it is switched off or does not know the allocator:
 *	- a file in front of the recorder in the search order has a malloc() (real_hidden_by());
 *	- the program's table of symbols, which is read piece by piece, has the name of an allocator;
 *	  or, where a stripped program has no such table, its data has a text of an allocator.
 * The writer only. Zeroed memory: the search has not begun.
 */
#ifndef RECORD_OTHER_ALLOCATOR_H
#define RECORD_OTHER_ALLOCATOR_H

#include "record/describe.h"

struct other_allocator {
	const struct session *session; /* has the NOTE about front or name, if there is one */
	const struct session *findings_session;
	unsigned n_findings; /* how many of allocator_findings.h have a NOTE in findings_session */
	const char *name; /* of the allocator found in the program, or NULL */
	bool is_stripped; /* the program has no symbols: name is that of a text in its data */
	bool has_begun; /* allocators.h has finished its work at the start by then */
	const char *front; /* the file in front: see real_hidden_by(); or NULL */
	bool is_looking; /* through the program's symbols */
	uint64_t at, end; /* offsets in the program's file: what is not looked at yet */
};

/* Looks at the next piece, or writes the chunk. False: there is nothing to do. */
bool other_allocator_step(struct other_allocator *a, struct describer *f, struct session *s);

/* The first known name of an allocator among the strings of data, or NULL. Each string begins after
 * a 0. A constant. */
const char *other_allocator_find(const char *data, size_t len);

/* The allocator one of whose messages is among the strings of data, or NULL. Each string begins
 * after a 0. A constant. */
const char *other_allocator_find_message(const char *data, size_t len);

#endif
