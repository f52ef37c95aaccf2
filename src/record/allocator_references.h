/* record/allocator_references.h - who can call a function of the program?
 *
 * A function that cannot be redirected does no harm if nobody calls it but functions that are
 * redirected, or functions that nobody calls but these, and so on: a call of it is then part of a call
 * that is recorded. That is looked up in the code and the data of the program, which must be relocated.
 * All bytes are looked at that could be a branch to the function or its address, whether they are
 * instructions or not; so a wrong answer is always true.
 *
 * Threads: any; no state but the caller's, no errno.
 */
#ifndef RECORD_ALLOCATOR_REFERENCES_H
#define RECORD_ALLOCATOR_REFERENCES_H

#include "record/module_symbols.h"

struct allocator_references {
	uintptr_t base;
	const ElfW(Phdr) * segment;
	size_t n_segments;
	struct module_symbols symbols, exported; /* .symtab; .dynsym, or zeroed */
	bool (*is_harmless)(const uint8_t *at, const void *arg); /* a reference in this code */
	const void *arg;
	size_t n_bytes_left; /* to look at: a limit of the time that this may take */
};

/* Is there a reference to function that may do harm? */
bool allocator_is_referenced(struct allocator_references *r, const uint8_t *function);

#endif
