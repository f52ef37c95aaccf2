/* query/frame_package.h - the package that a frame's code belongs to.
 *
 * The package answers "which library allocates": a unit that somebody maintains, larger than a function
 * and the same wherever the program is installed.
 *	Rust		the crate: the first part of the path of the function, of "<demo::T as core::X>::f" demo
 *	others		the file name of the module without ".so" and what follows: "libc", "librocksdb", "demo"
 * A Rust function without a crate in its name (main, __rust_alloc) goes by its module. The package of
 * code without a module (made at run time) is called "[no image]"; the text is never empty.
 *
 * Threads: any number of callers.
 */
#ifndef QUERY_FRAME_PACKAGE_H
#define QUERY_FRAME_PACKAGE_H

#include "store/frames.h"

#define FRAME_PACKAGE_BYTES 256 /* holds every file name; a longer crate name ends with "..." */

void frame_package(const struct frame *f, char ret[FRAME_PACKAGE_BYTES]);

#endif
