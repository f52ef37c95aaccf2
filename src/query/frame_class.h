/* query/frame_class.h - whose code a frame is.
 *
 * People look for their own code in a stack. The rest stands around it: the allocator's entry and
 * its wrappers inside, the language's run-time and the start of the process outside, libraries
 * between. Reports and the GUI show the first loudly and fold the others.
 *
 * The tables in frame_class.c are the one list of names, sources and images that decide, in this order:
 *  1. own_regex of the rules, where it is given: what matches is own, nothing else is.
 *  2. The name: allocators, run-times.
 *  3. The source file: below /rustc/, a cargo registry, /usr (but not /usr/src, where containers have
 *     the program's own sources) or a package store it is not the program's.
 *  4. The image: the executable is the program's own; one in a system folder is not; one elsewhere is
 *     when its sources are known, or when it lies below the folder of the executable.
 * Code without an image (made at run time) is own.
 */
#ifndef QUERY_FRAME_CLASS_H
#define QUERY_FRAME_CLASS_H

#include "query/frame_name.h"
#include "store/frames.h"

enum frame_class {
	FRAME_CLASS_OWN, /* the program's own */
	FRAME_CLASS_LIBRARY, /* a library that the system or somebody else brought */
	FRAME_CLASS_NATIVE, /* the same, and its code is C or C++ */
	FRAME_CLASS_RUNTIME, /* standard library of a language, start of process and threads */
	FRAME_CLASS_ALLOCATOR, /* malloc, operator new, __rust_alloc, wrappers such as g_malloc */
	FRAME_N_CLASSES,
};

/* What decides besides the tables. One thread at a time. */
struct query_regex;
struct frame_rules {
	const char *executable; /* path of the main image (store_facts.executable), or NULL */
	struct query_regex
		*own; /* borrowed; NULL: none. Frames whose source or function matches are
				  * own; others that the tables take for own are libraries. */
	struct err failure; /* of the first match that was given up: then classes may be wrong */
};

enum frame_class frame_class_by(struct frame_rules *r, const struct frame *f);
enum frame_class frame_class_of(const struct frame *f, const char *executable); /* no own_regex */

/* The frame to blame for a stack: the innermost of the program's own code; where there is none, of a
 * library, of a run-time, of all. NULL: the stack is empty, or its names cannot be had (err). */
const struct frame *frame_class_blame(struct frame_rules *r, struct frames *f, uint32_t stack,
				      struct err *err);

/* "own", "library", "native", "runtime", "allocator": for JSON and the API. */
const char *frame_class_name(enum frame_class c);

/* Is this what a report folds by default? */
static inline bool frame_class_is_folded(enum frame_class c)
{
	return c == FRAME_CLASS_RUNTIME || c == FRAME_CLASS_ALLOCATOR;
}

/* What is blamed first: the less, the better. Libraries are alike, whatever they are written in. */
static inline unsigned frame_class_rank(enum frame_class c)
{
	return c == FRAME_CLASS_NATIVE ? FRAME_CLASS_LIBRARY : c;
}

/* Is the code Rust? Decided by the form of the raw name, or by the source. */
bool frame_class_is_rust(const struct frame *f);

/* The part of a Rust function's name that says which crate the code belongs to: of "<T as Trait>::f" the
 * type, or the trait when the type is a primitive or a parameter. Points into function. */
struct frame_name_path frame_class_rust_path(const char *function);

/* The same of a function in any language: what its qualified name begins with. Empty: it has no name. */
struct frame_name_path frame_class_path(const struct frame *f);

#endif
