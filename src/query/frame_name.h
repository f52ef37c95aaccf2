/* query/frame_name.h - short function names, as people want to see them.
 *
 * Works on demangled names of C++, Rust, D and C. The text may be anything: names come from files
 * that may be damaged. A text that cannot be parsed is copied as it is.
 */
#ifndef QUERY_FRAME_NAME_H
#define QUERY_FRAME_NAME_H

#include "base/compiler.h"

#define FRAME_NAME_BYTES 512 /* size of a short name; a longer name ends with "..." */

/* The qualified name inside a demangled name: after the return type, before the parameters.
 *	void std::vector<int>::push_back(int const&)   ->   std::vector<int>::push_back
 * A text without a qualified name (odd brackets) is returned whole. */
struct frame_name_path {
	const char *start;
	size_t len;
};
struct frame_name_path frame_name_path(const char *name);

/* The qualified name with template arguments as "<..>", without parameters, and lambdas without
 * types.
 *	int f<A, B>(std::pair<A, B>)::{lambda(int)#1}::operator()(int) const
 *	-> f<..>::{lambda#1}::operator()
 * Returns buf. */
char *frame_name_short(const char *name, char buf[FRAME_NAME_BYTES]);

#endif
