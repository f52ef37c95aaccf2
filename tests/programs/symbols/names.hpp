/* What names.cpp inlines from another file. */
#ifndef NAMES_HPP
#define NAMES_HPP

#include "marks.h"

namespace shapes
{
template <class T> struct box {
	T value;

	__attribute__((always_inline)) inline T get(const char *tag)
	{
		mark(tag); /* box::get marks */
		return value;
	}

	__attribute__((noinline)) T twice()
	{
		return get("cpp_template") + value; /* box::twice calls get */
	}
};
} // namespace shapes

#endif
