/* record/hooks_allocator.h - hooks for the functions of allocators inside the program.
 *
 * One hook serves all functions with the same event: struct allocator_hook, which the stub passes as
 * the argument behind the function's own (ALLOCATOR_HOOK_ARGUMENTS), says what the arguments mean
 * and where the original is.
 *
 * An allocator's functions call each other. Only the outermost call is recorded: hooks_allocator.c
 * says how an inner call is recognized. Functions that may only pass their calls on to another
 * allocator (allocator_layer.h) have hooks of their own.
 */
#ifndef RECORD_HOOKS_ALLOCATOR_H
#define RECORD_HOOKS_ALLOCATOR_H

#include "record/allocator_layer.h"
#include "record/allocator_table.h"

#define ALLOCATOR_HOOK_ARGUMENTS 5u /* that a function can have; those it does not have are noise */

struct allocator_hook {
	const void *original;
	size_t (*usable)(const void *block, int flags); /* NULL: not known */
	uintptr_t library_start; /* of a library: where it lies in memory; else 0 */
	size_t library_bytes;
	uint32_t allocator; /* its number: allocator_numbers.h */
	struct allocator_layer *layer; /* of functions that may only pass calls on; or NULL */
	bool may_throw; /* an operator new: an exception may leave the original */
	struct allocator_function function;
};

/* The hook for functions with this event; NULL: they are not hooked. is_layer: hook->layer is set. */
const void *allocator_hook_entry(enum allocator_event event, bool is_layer);

#endif
