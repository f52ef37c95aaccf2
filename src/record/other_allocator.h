/* record/other_allocator.h - tells, in a note of the recording, when the program has an allocator that we
 * do not see: without a word, it would seem to allocate nothing. Writer thread only.
 *
 * Either a file in front of us has a malloc() (real_hidden_by()), or one is linked into the program under
 * another name. That is in its table of symbols, if it has one, which is read bit by bit.
 */
#ifndef RECORD_OTHER_ALLOCATOR_H
#define RECORD_OTHER_ALLOCATOR_H

#include "record/describe.h"

struct other_allocator {
	const struct session *session; /* knows of it */
	const char *name; /* found in the program, or NULL */
	bool has_begun;
	const char *front; /* file with a malloc() in front of us: see real_hidden_by(); or NULL */
	bool is_looking;
	uint64_t at,
		end; /* names of the program's symbols that are still to be looked at, in its file */
};

/* Does the next bit. False when there is nothing to do. */
bool other_allocator_step(struct other_allocator *a, struct describer *f, struct session *s);

/* One of the known names among the strings of data, which each begin behind a 0; or NULL. */
const char *other_allocator_find(const char *data, size_t len);

#endif
