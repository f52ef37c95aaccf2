/* base/bytes.h - unaligned little-endian loads and stores.
 *
 * Recordings are little-endian on every machine. On a little-endian CPU the compiler
 * makes one load or store of each function.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include "base/compiler.h"

static inline uint16_t load_le16(const void *p)
{
	const uint8_t *b = p;
	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t load_le32(const void *p)
{
	const uint8_t *b = p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t load_le64(const void *p)
{
	const uint8_t *b = p;
	return (uint64_t)load_le32(b) | (uint64_t)load_le32(b + 4) << 32;
}

static inline void store_le16(void *p, uint16_t v)
{
	uint8_t *b = p;
	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(void *p, uint32_t v)
{
	uint8_t *b = p;
	store_le16(b, (uint16_t)v);
	store_le16(b + 2, (uint16_t)(v >> 16));
}

static inline void store_le64(void *p, uint64_t v)
{
	uint8_t *b = p;
	store_le32(b, (uint32_t)v);
	store_le32(b + 4, (uint32_t)(v >> 32));
}

#endif
