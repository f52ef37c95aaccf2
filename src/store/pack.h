/* store/pack.h - a block of up to PACK_MAX_VALUES numbers in few bits.
 *
 * Of each value the smallest one is subtracted, the zero bits that all have at their low end are
 * dropped, and what remains is stored in a fixed number of bits. The width is chosen so that
 * the block takes the fewest bits when the values that need more are kept apart, as exceptions.
 * Sorted blocks can be stored as the differences from value to value. A block of equal values
 * takes no bytes at all.
 *
 * Bits: values lie in tiles of PACK_TILE. A tile of width w is w rows of PACK_LANES words of 64
 * bits; value i of the tile belongs to lane i % PACK_LANES and takes the next w bits there, from the
 * lowest bit up. So one shift moves a whole row of lanes, and a compiler makes vector code of it.
 * Behind the tiles come the exceptions: their positions (16 bits each, rounded up to 8 bytes), then
 * their values (exception_bytes each), and zeroes. docs/STORE.md has the whole.
 *
 * Threads: pure functions.
 */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "base/compiler.h"

#define PACK_MAX_VALUES 4096u
#define PACK_TILE 1024u
#define PACK_LANES 16u

/* No block is longer than that when pack_encode() made it; a multiple of 8. */
#define PACK_MAX_BYTES (PACK_MAX_VALUES * 8 + 64)

enum pack_encoding {
	PACK_NONE, /* not a block */
	PACK_PLAIN,
	PACK_DELTA, /* differences to the value before; the first is 0 */
};

/* How to read a block; kept apart from its bytes. */
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
 * room for PACK_MAX_BYTES and is aligned to 8. is_sorted: try differences; a hint, need not be true. */
size_t pack_encode(const uint64_t *value, uint32_t n, bool is_sorted, struct pack_head *head,
		   uint8_t *out);

/* False for a head that no pack_encode() makes. Otherwise *size_bytes is the length of its block. */
bool pack_check(const struct pack_head *head, size_t *size_bytes);

/* Unpacks a block. head has passed pack_check(), in is as long as that said and aligned to 8; its
 * bytes may be anything (NULL when there are none): every value that comes out lies within min..max. out has room for
 * PACK_MAX_VALUES; beyond the block's values it is overwritten with nonsense. */
void pack_decode(const struct pack_head *head, const uint8_t *in, uint64_t *out);

#endif
