/* base/bits.h - alignment and bit counting. */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include "base/compiler.h"

/* align must be a power of two. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static inline uint64_t align_down(uint64_t value, uint64_t align)
{
	return value & ~(align - 1);
}

/* 0 is no power of two. */
static inline bool is_pow2(uint64_t value)
{
	return value && !(value & (value - 1));
}

/* n is 1 to 63. */
static inline uint64_t rotate_right64(uint64_t value, unsigned n)
{
	return value >> n | value << (64 - n);
}

/* Number of bytes that hold value; 0 for 0. */
static inline unsigned bytes_for_unsigned(uint64_t value)
{
	return value ? (71u - (unsigned)__builtin_clzll(value)) / 8 : 0;
}

/* Number of bytes whose sign extension gives value back; 0 for 0. */
static inline unsigned bytes_for_signed(int64_t value)
{
	uint64_t magnitude = (uint64_t)(value ^ (value >> 63));

	if (value == 0)
		return 0;
	return magnitude ? (72u - (unsigned)__builtin_clzll(magnitude)) / 8 : 1;
}

#endif
