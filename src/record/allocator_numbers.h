/* record/allocator_numbers.h - the numbers of the allocators inside the program.
 *
 * Every call in a recording is about one allocator. Number 0 is the one that the program reaches by
 * the names of the C library: mostly the C library's own, sometimes a library's that comes before the
 * C library (-ljemalloc). The others are allocators that allocators.h found: each gets the next
 * number, 1 to ALLOCATOR_NUMBERS - 1. An allocator that is loaded again gets its old number. When the
 * numbers run out, the last number stands for all that come later, and its name says so.
 *
 * Threads: allocator_numbers_reserve() and _publish() are called by one thread at a time, which holds
 * the dynamic linker's lock or is alone; allocator_numbers_get() by any.
 */
#ifndef RECORD_ALLOCATOR_NUMBERS_H
#define RECORD_ALLOCATOR_NUMBERS_H

#include "base/compiler.h"
#include "format/event.h"

#define ALLOCATOR_NUMBERS EVENT_N_ALLOCATORS
#define ALLOCATOR_MODULE_BYTES 256u

struct allocator_number {
	const char *name; /* such as jemalloc; lives forever */
	const char *prefix; /* of its functions; lives forever */
	unsigned n_functions; /* that were redirected */
	char module[ALLOCATOR_MODULE_BYTES]; /* the end of the path of a library; "" the program */
	_Atomic bool is_published;
};

/* The number for this allocator, which is not recorded yet. module: the path of the library, or ""
 * for the program. */
uint32_t allocator_numbers_reserve(const char *name, const char *prefix, const char *module);

/* Number 0 is this allocator, not the C library's. It is not recorded yet. */
void allocator_numbers_replace_libc(const char *name, const char *prefix, const char *module);

/* The allocator with this number is recorded from now on, by so many functions. */
void allocator_numbers_publish(uint32_t number, unsigned n_functions);

/* The allocator with this number, which lives forever. NULL: there is none, or it is not recorded, or
 * it is the C library's own. */
const struct allocator_number *allocator_numbers_get(uint32_t number);

#endif
