/* record/allocator_table.h - the names of allocators' functions: allocators.def, and what the user
 * adds by MEMORY_PROFILER_HOOK_SYMBOLS.
 *
 * Threads: allocator_table_init() first, once; constant afterwards.
 */
#ifndef RECORD_ALLOCATOR_TABLE_H
#define RECORD_ALLOCATOR_TABLE_H

#include "base/compiler.h"

/* What a function does with blocks. allocators.def explains the events. */
enum allocator_event {
	ALLOCATOR_ALLOC,
	ALLOCATOR_ZERO,
	ALLOCATOR_PAGES,
	ALLOCATOR_FREE,
	ALLOCATOR_REALLOC,
	ALLOCATOR_REALLOCF,
	ALLOCATOR_MEMALIGN,
	ALLOCATOR_RESIZE,
	ALLOCATOR_USABLE,
	ALLOCATOR_MALLCTL,
	ALLOCATOR_PROCESS_INFO,
	ALLOCATOR_PROPERTY,
};

/* A function of an allocator. Numbers of arguments count from 1; 0: there is no such argument. */
struct allocator_function {
	const char *name; /* without the prefix */
	uint32_t sets; /* SET_ bit */
	uint8_t event; /* enum allocator_event */
	uint8_t block, count, size, alignment, flags;
};

#define ALLOCATOR_MAX_FAMILIES 32u
#define ALLOCATOR_FAMILY_PLAIN 0u /* the one without a prefix: malloc, free, operator new */

/* The prefix of the functions by which Rust code reaches the program's global allocator. */
#define ALLOCATOR_PREFIX_RUST "__rust_"

/* A family: an allocator under one prefix. */
struct allocator_family {
	const char *name;
	const char *prefix;
	uint32_t sets;
};

/* Takes in the user's list: names or prefixes, separated by spaces or commas. "PREFIX*" adds the
 * functions of the C library and of jemalloc with this prefix; "NAME=FUNCTION" says that NAME works
 * like FUNCTION of the C library or of jemalloc, such as engine_alloc=malloc. list must live on.
 * Returns the first entry that makes no sense (a pointer into list), or NULL. */
const char *allocator_table_init(const char *list);

/* The name that people know: of "_RNvCs41nHCOSNPpD_7___rustc12___rust_alloc" the end, "__rust_alloc".
 * Other names stay. */
const char *allocator_table_plain_name(const char *name);

/* Is this the name of a function of an allocator? Sets the family and returns the function; NULL:
 * it is none. */
const struct allocator_function *allocator_table_find(const char *name, unsigned *ret_family);

/* May a name that begins like this be in the table? Cheap; wrong answers are always true. */
bool allocator_table_may_begin(const char *name);

/* The family of this number, or NULL. */
const struct allocator_family *allocator_table_family(unsigned family);

#endif
