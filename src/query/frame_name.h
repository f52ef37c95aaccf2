/* query/frame_name.h - function names as people want to see them: short.
 *
 * Works on demangled names of C++, Rust, D and C. Nothing is assumed about the text: names come from
 * files that may be damaged. What cannot be parsed is copied as it is.
 */
#ifndef QUERY_FRAME_NAME_H
#define QUERY_FRAME_NAME_H

#include "base/compiler.h"

#define FRAME_NAME_BYTES 512 /* of a short name; longer ones end with "..." */

/* Where the qualified name lies in a demangled one: behind the return type, before the parameters.
 *	void std::vector<int>::push_back(int const&)   ->   std::vector<int>::push_back
 * A name that is none (odd brackets) is its own path. */
struct frame_name_path {
	const char *start;
	size_t len;
};
struct frame_name_path frame_name_path(const char *name);

/* The path with template arguments as "<..>", parameters left out, lambdas without their types.
 *	int f<A, B>(std::pair<A, B>)::{lambda(int)#1}::operator()(int) const
 *	-> f<..>::{lambda#1}::operator()
 * Returns buf. */
char *frame_name_short(const char *name, char buf[FRAME_NAME_BYTES]);

#endif
