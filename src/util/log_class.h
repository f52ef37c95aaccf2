/* util/log_class.h - classes for histograms of values of any magnitude.
 *
 * The first binary digit of a value and the next `bits` digits decide its class. So the width of a
 * class is at most a 2^bits-th part of its values, and each value below 2^(bits + 1) has a class of
 * its own. Classes ascend with their values. Example with bits = 1: 0 | 1 | 2 | 3 | 4 5 | 6 7 | 8
 * ... 11 | 12 ...
 */
#ifndef UTIL_LOG_CLASS_H
#define UTIL_LOG_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define LOG_CLASSES(bits) ((size_t)(64 - (bits) + 1) << (bits))

static inline size_t log_class(uint64_t value, unsigned bits)
{
	unsigned digits = value ? 64u - (unsigned)__builtin_clzll(value) : 0, shift;

	if (digits <= bits)
		return (size_t)value;
	shift = digits - bits - 1;
	return ((size_t)(shift + 1) << bits) + (size_t)((value >> shift) - (1u << bits));
}

/* The values of a class: from *ret_min to *ret_min + *ret_width, both included. */
static inline void log_class_range(size_t class, unsigned bits, uint64_t *ret_min,
				   uint64_t *ret_width)
{
	unsigned shift = class >> bits ? (unsigned)(class >> bits) - 1 : 0;
	uint64_t low = class & ((1u << bits) - 1);

	*ret_min = class >> bits ? (low + (1u << bits)) << shift : low;
	*ret_width = (1ull << shift) - 1;
}

#endif
