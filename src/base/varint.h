/* base/varint.h - writing LEB128, and zigzag in both directions. base/cursor.h reads LEB128. */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include "base/compiler.h"

#define ULEB_MAX_BYTES 10

/* Writes value at p (room for ULEB_MAX_BYTES) and returns the byte after it. */
static inline uint8_t *uleb_put(uint8_t *p, uint64_t value)
{
	while (value >= 0x80) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

/* Maps small negative and positive numbers to small unsigned ones: 0, -1, 1, -2 to 0, 1, 2, 3. */
static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (~(value & 1) + 1));
}

#endif
