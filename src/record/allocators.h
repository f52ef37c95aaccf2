/* record/allocators.h - finds allocators inside the program and its libraries, and hooks them.
 *
 * An allocator is found by the names of its functions (allocator_table.h) in the symbol tables of a
 * module's file, or of its debug file. Rules:
 *
 *	1. The C library, the dynamic linker, sanitizers and the recorder itself are left alone. The
 *	   names that the recorder exports come before the C library's, so its blocks are recorded
 *	   anyway.
 *	2. A family needs a function that gives blocks and a function that takes blocks back. The
 *	   family without a prefix needs malloc and free: C++ operators alone mostly call malloc of
 *	   the C library.
 *	3. Families of a module that have a function in common (tc_malloc is malloc) are one: blocks
 *	   of one go to the other.
 *	4. All functions of a family are redirected, or none: a free without its allocation, or the
 *	   other way round, would be a wrong recording. A function that is a mere jump to another
 *	   function of the family needs no hook; nor does a function that cannot be redirected and that
 *	   nobody calls but the others of the family (allocator_references.h).
 *	5. A Rust program reaches its global allocator by functions of its own (__rust_alloc). If that
 *	   allocator is not Rust's default, the module has no other allocator that can be recorded, and
 *	   all calls pass these functions (allocator_rust.h), they are redirected; their first calls
 *	   tell whether another allocator that is recorded gives the blocks (allocator_layer.h).
 *	6. The bytes of each function in memory must be those in the file.
 *
 * When: at the start of the recorder, before the program has threads; and whenever the dynamic
 * linker has mapped modules, before anybody can call them (the linker calls _dl_debug_state() then,
 * for debuggers).
 *
 * What was found goes to allocator_findings.h.
 */
#ifndef RECORD_ALLOCATORS_H
#define RECORD_ALLOCATORS_H

/* Hooks the allocators of all modules that are loaded, and of those that are going to be. Once, when
 * the recorder is loaded. */
void allocators_init(void);

/* Opens no file from now on: allocators in what is loaded later are not found, and the findings say so. */
void allocators_use_no_files(void);

#endif
