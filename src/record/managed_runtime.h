/* record/managed_runtime.h - notes in the recording of a program whose heap is not malloc's.
 *
 * The runtimes of Go and Java take memory from the kernel and manage their heaps themselves. The
 * recorder sees what C code allocates in such a program, often a small part of its memory. A NOTE
 * chunk says so, and names the tool that sees the rest; another one, at the end, says how much
 * anonymous memory was resident.
 *
 *	Go    the program's file has a section .gopclntab or .go.buildinfo, also when it is stripped
 *	Java  libjvm.so is among the modules
 *
 * The writer only. Zeroed memory: nothing was looked at.
 */
#ifndef RECORD_MANAGED_RUNTIME_H
#define RECORD_MANAGED_RUNTIME_H

#include "record/describe.h"

struct managed_runtime {
	bool has_looked_at_program;
	uint32_t n_modules; /* of the module list that were looked at */
	const char *note; /* about the runtime that was found; NULL: none */
	const struct session *noted; /* has the note */
	const struct session *sized; /* has the note about the size */
};

/* Looks at what is new, and writes the note. */
void managed_runtime_step(struct managed_runtime *m, struct describer *f, struct session *s);

/* The recording ends: writes the note about the size, should a runtime have been found. */
void managed_runtime_end(struct managed_runtime *m, struct describer *f, struct session *s);

/* Do the names of sections, each ended by a 0, have one that only Go programs have? */
bool managed_runtime_is_go(const char *names, size_t len);

#endif
