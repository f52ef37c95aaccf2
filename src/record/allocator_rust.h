/* record/allocator_rust.h - do all calls of a Rust program's global allocator pass its functions?
 *
 * Rust code reaches the global allocator by __rust_alloc, __rust_dealloc, __rust_realloc and
 * __rust_alloc_zeroed. Compilers may put the code of these functions into their callers; then some
 * calls cannot be seen, and blocks would seem to leak. How that is found out:
 *
 *	Up to Rust 1.8x	each function is a jump to another one (__rg_alloc), made by a compilation of its
 *		own: only LTO looks into it, and does away with the jump.
 *	Later	the functions are part of the program's crate. But whoever allocates refers to
 *		__rust_no_alloc_shim_is_unstable_v2 first, which has no code. A function with that
 *		reference must refer to __rust_alloc or __rust_alloc_zeroed, too.
 *
 * Linkers may merge functions with the same code, and that of a deallocation that does nothing is
 * common: a function that has another name as well is refused.
 *
 * Threads: any; no state, no errno.
 */
#ifndef RECORD_ALLOCATOR_RUST_H
#define RECORD_ALLOCATOR_RUST_H

#include "record/allocator_table.h"
#include "record/module_symbols.h"

#define ALLOCATOR_RUST_FUNCTIONS 4u

struct allocator_rust {
	uintptr_t base; /* of the module */
	const ElfW(Phdr) * segment;
	size_t n_segments;
	struct module_symbols symbols; /* .symtab */
	bool is_relocated;
	unsigned n; /* functions of the module */
	struct allocator_rust_function {
		const uint8_t *code;
		size_t n_bytes;
		uint8_t event; /* enum allocator_event */
	} function[ALLOCATOR_RUST_FUNCTIONS];
};

/* NULL: yes. Otherwise why not, or why that is not known (a constant). */
const char *allocator_rust_check(const struct allocator_rust *r);

#endif
