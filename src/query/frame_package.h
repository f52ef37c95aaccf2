/* query/frame_package.h - the package that a frame's code belongs to.
 *
 * The package answers "which library allocates". A package is a unit that somebody maintains,
 * larger than a function, and has the same name wherever the program is installed.
 *	Rust	the crate: the first part of the function's path; "<demo::T as core::X>::f": demo
 *	Python	the script's file name: app.py
 *	others	the module's file name without ".so" and what follows: "libc", "librocksdb", "demo"
 * A Rust function without a crate in its name (main, __rust_alloc) uses its module. Code without a
 * module (made at run time) has the package "[no image]". The text is never empty.
 *
 * Threads: any number of callers.
 */
#ifndef QUERY_FRAME_PACKAGE_H
#define QUERY_FRAME_PACKAGE_H

#include "store/frames.h"

#define FRAME_PACKAGE_BYTES 256 /* holds every file name; a longer crate name ends with "..." */

void frame_package(const struct frame *f, char ret[FRAME_PACKAGE_BYTES]);

#endif
