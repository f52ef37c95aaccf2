/* query/frame_class.h - whose code a frame is.
 *
 * People look for their own code in a stack. Other code surrounds it: the allocator's entry and
 * its wrappers inside, libraries between, the language's run-time and the start of the process
 * outside. Reports and the GUI highlight the program's own code and fold the rest.
 *
 * The tables in frame_class.c are the only list of names, sources and images. The rules are tried
 * in this order:
 *  1. own_regex, where it is given: code that matches is own, all other code is not.
 *  2. The name of the function: allocators, run-times.
 *  3. The source file: code from /rustc/, a cargo registry, /usr (but not /usr/src, where
 *     containers keep the program's sources) or a package store is not own.
 *  4. The image: Python's interpreter is a library, its scripts are people's code. Any other
 *     executable is own. An image in a system folder is not. Any other image is own
 *     if its sources are known, or if it lies below the folder of the executable.
 * Code without an image (made at run time) is own.
 */
#ifndef QUERY_FRAME_CLASS_H
#define QUERY_FRAME_CLASS_H

#include "query/frame_name.h"
#include "store/frames.h"

enum frame_class {
	FRAME_CLASS_OWN, /* the program's own code */
	FRAME_CLASS_LIBRARY, /* a library that the system or somebody else brought */
	FRAME_CLASS_NATIVE, /* a library whose code is C or C++ */
	FRAME_CLASS_RUNTIME, /* standard library of a language, start of process and threads */
	FRAME_CLASS_ALLOCATOR, /* malloc, operator new, __rust_alloc, wrappers such as g_malloc */
	FRAME_N_CLASSES,
};

/* What decides besides the tables. One thread at a time may use the rules. */
struct query_regex;
struct frame_rules {
	const char *executable; /* path of the main image (store_facts.executable), or NULL */
	struct query_regex
		*own; /* borrowed; NULL: none. A frame whose source or function matches is own; any
		       * other frame that the tables call own is a library's */
	struct err failure; /* set when a match costs too much: classes may be wrong then */
};

enum frame_class frame_class_by(struct frame_rules *r, const struct frame *f);
enum frame_class frame_class_of(const struct frame *f, const char *executable); /* no own_regex */

/* The frame to blame for a stack: the innermost frame of the program's own code. If there is none, or
 * if it is thin and called a library, the innermost frame of a library, then of a run-time, then of
 * all. NULL: the stack is empty, or
 * the names cannot be read (err has the reason). */
const struct frame *frame_class_blame(struct frame_rules *r, struct frames *f, uint32_t stack,
				      struct err *err);

/* "own", "library", "native", "runtime", "allocator": for JSON and the API. */
const char *frame_class_name(enum frame_class c);

/* Does a report fold frames of this class by default? */
static inline bool frame_class_is_folded(enum frame_class c)
{
	return c == FRAME_CLASS_RUNTIME || c == FRAME_CLASS_ALLOCATOR;
}

/* The order of blame: the smallest rank is blamed. All libraries have one rank, whatever their
 * language. */
static inline unsigned frame_class_rank(enum frame_class c)
{
	return c == FRAME_CLASS_NATIVE ? FRAME_CLASS_LIBRARY : c;
}

/* Is a frame of own code thin? Its source is not known, and it is main(), a function named x_main(),
 * or has no name. In a program without debug information that only calls libraries (clang's
 * cc1_main() calls libLLVM) such a frame is in all stacks and says nothing. With own_regex none is. */
bool frame_class_is_thin(const struct frame_rules *r, const struct frame *f);

/* Is the inner one of two frames of a stack to blame rather than the outer one? */
static inline bool frame_class_takes_blame(enum frame_class inner, enum frame_class outer,
					   bool is_outer_thin)
{
	unsigned rank = frame_class_rank(inner);

	return rank <= frame_class_rank(outer) || (is_outer_thin && rank == FRAME_CLASS_LIBRARY);
}

/* Is the image Python's interpreter, as an executable or a library? */
bool frame_class_is_python(const char *module);

/* Is the code Rust? The form of the raw name or the source decides. */
bool frame_class_is_rust(const struct frame *f);

/* The part of a Rust function's name that names the crate: of "<T as Trait>::f" the type, or the
 * trait if the type is a primitive or a parameter. Points into `function`. */
struct frame_name_path frame_class_rust_path(const char *function);

/* The same for a function of any language: the start of its qualified name. Empty: no name. */
struct frame_name_path frame_class_path(const struct frame *f);

#endif
