/* base/hash.h - 64-bit hashes for tables. Not for tables whose keys an attacker may choose
 * freely. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/compiler.h"

static inline uint64_t hash_mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x;
}

static inline uint64_t hash_pair64(uint64_t a, uint64_t b)
{
	return hash_mix64(a * 0x9e3779b97f4a7c15ull ^ b);
}

/* Reads eight bytes at a time. The result depends on the byte order of the machine. */
static inline uint64_t hash_bytes(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t h = len, word;

	for (; len >= 8; len -= 8, p += 8) {
		__builtin_memcpy(&word, p, 8);
		h = hash_pair64(h, word);
	}
	word = 0;
	__builtin_memcpy(&word, p, len);
	return hash_pair64(h, word);
}

#endif
