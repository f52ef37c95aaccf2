/* record/other_allocator.h - finds out whether the program has an allocator that the hooks do not
 * see.
 *
 * Such a program would seem to allocate nothing; so a NOTE chunk of the recording says why. Two
 * cases: a file in front of the recorder in the search order has a malloc() (real_hidden_by()); or
 * an allocator under another name is linked into the program. Its name is then in the program's
 * table of symbols, if there is one, which is read piece by piece. Writer thread only. Zeroed
 * memory: the search has not begun.
 */
#ifndef RECORD_OTHER_ALLOCATOR_H
#define RECORD_OTHER_ALLOCATOR_H

#include "record/describe.h"

struct other_allocator {
	const struct session *session; /* has the NOTE chunk, if there was one to write */
	const char *name; /* of the allocator found in the program, or NULL */
	bool has_begun;
	const char *front; /* the file in front: see real_hidden_by(); or NULL */
	bool is_looking; /* through the program's symbols */
	uint64_t at, end; /* offsets in the program's file: names that are not looked at yet */
};

/* Looks at the next piece, or writes the chunk. False: there is nothing to do. */
bool other_allocator_step(struct other_allocator *a, struct describer *f, struct session *s);

/* The first known name of an allocator among the strings of data, or NULL. Each string begins after
 * a 0. A constant. */
const char *other_allocator_find(const char *data, size_t len);

#endif
