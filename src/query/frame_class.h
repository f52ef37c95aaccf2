/* query/frame_class.h - whose code a frame is.
 *
 * People look for their own code in a stack. The rest stands around it: the allocator's entry and
 * its wrappers inside, the language's run-time and the start of the process outside, libraries
 * between. Reports and the GUI show the first loudly and fold the others.
 *
 * The tables in frame_class.c are the one list of names, sources and images that decide. A frame
 * that no entry knows is the program's own when its image is the executable or lies outside of
 * the system's folders.
 */
#ifndef QUERY_FRAME_CLASS_H
#define QUERY_FRAME_CLASS_H

#include "query/frame_name.h"
#include "store/frames.h"

enum frame_class {
	FRAME_CLASS_OWN, /* the program's own */
	FRAME_CLASS_LIBRARY, /* a library that the system or somebody else brought */
	FRAME_CLASS_RUNTIME, /* standard library of a language, start of process and threads */
	FRAME_CLASS_ALLOCATOR, /* malloc, operator new, __rust_alloc, wrappers such as g_malloc */
	FRAME_N_CLASSES,
};

/* executable: path of the program's main image (store_facts.executable), or NULL. */
enum frame_class frame_class_of(const struct frame *f, const char *executable);

/* The frame to blame for a stack: the innermost of the program's own code; where there is none, of a
 * library, of a run-time, of all. NULL: the stack is empty, or its names cannot be had (err). */
const struct frame *frame_class_blame(struct frames *f, uint32_t stack, const char *executable,
				      struct err *err);

/* Is the code Rust? Decided by the form of the raw name, or by the source. */
bool frame_class_is_rust(const struct frame *f);

/* The part of a Rust function's name that says which crate the code belongs to: of "<T as Trait>::f" the
 * type, or the trait when the type is a primitive or a parameter. Points into function. */
struct frame_name_path frame_class_rust_path(const char *function);

/* "own", "library", "runtime", "allocator": for JSON and the API. */
const char *frame_class_name(enum frame_class c);

/* Is this what a report folds by default? */
static inline bool frame_class_is_folded(enum frame_class c)
{
	return c == FRAME_CLASS_RUNTIME || c == FRAME_CLASS_ALLOCATOR;
}

#endif
