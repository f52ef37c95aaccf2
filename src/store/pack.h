/* store/pack.h - packs a block of up to PACK_MAX_VALUES numbers into few bits.
 *
 * The encoder
 *	1. subtracts the smallest value of the block from each value; in a sorted block it subtracts
 *	   the value before instead (PACK_DELTA);
 *	2. drops the zero bits that all results have at their low end (shift);
 *	3. stores each result in the same number of bits (width). Results that need more bits become
 *	   exceptions and are stored apart. The encoder takes the width that needs the fewest bits
 *	   in all.
 * A block of equal values takes no bytes at all. Example: 1000, 1008, 1000, 9000, 1016 become 0, 8,
 * 0, 8000, 16; shift 3 leaves 0, 1, 0, 1000, 2; with width 2 only 1000 is an exception.
 *
 * Bits: values lie in tiles of PACK_TILE. A tile of width w is w rows of PACK_STRIPES words of 64
 * bits. Value i of a tile belongs to stripe i % PACK_STRIPES and takes the next w bits of that
 * stripe, from the lowest bit up. So one shift moves a whole row of stripes, and compilers make vector code
 * of the loop.
 *
 *	tiles | positions of the exceptions, 16 bits each | values of the exceptions | zeroes
 *
 * docs/STORE.md, section 2.2, has every detail. Threads: pure functions.
 */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "base/compiler.h"

#define PACK_MAX_VALUES 4096u
#define PACK_TILE 1024u
#define PACK_STRIPES 16u

/* The longest block that pack_encode() makes; a multiple of 8. */
#define PACK_MAX_BYTES (PACK_MAX_VALUES * 8 + 64)

enum pack_encoding {
	PACK_NONE, /* not a block */
	PACK_PLAIN,
	PACK_DELTA, /* differences from the value before; the first difference is 0 */
};

/* How to read a block; the store keeps it in the directory, apart from the bytes of the block. */
struct pack_head {
	uint64_t min;
	uint64_t max;
	uint16_t n_exceptions;
	uint16_t last; /* number of values - 1 */
	uint8_t encoding; /* enum pack_encoding */
	uint8_t width; /* bits per value, 0 to 64 */
	uint8_t shift; /* zero bits dropped, 0 to 63 */
	uint8_t exception_bytes; /* 1 to 8; 0 without exceptions */
};

/* Packs n values, 1 to PACK_MAX_VALUES, and returns the length in bytes, a multiple of 8. out has
 * room for PACK_MAX_BYTES and is aligned to 8. is_sorted: use differences if the values never
 * decrease. */
size_t pack_encode(const uint64_t *value, uint32_t n, bool is_sorted, struct pack_head *head,
		   uint8_t *out);

/* False: pack_encode() makes no such head. True: *size_bytes is the length of its block. */
bool pack_check(const struct pack_head *head, size_t *size_bytes);

/* Unpacks a block. head has passed pack_check(); in has the length that pack_check() gave and is
 * aligned to 8 (NULL: the length is 0). The bytes of in may be anything: every value that comes out
 * lies within min..max. out has room for PACK_MAX_VALUES; entries beyond the block's values become
 * meaningless. */
void pack_decode(const struct pack_head *head, const uint8_t *in, uint64_t *out);

#endif
