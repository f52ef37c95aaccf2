/* format/compress.h - LZ4 blocks with the caller's memory. The only user of lz4.h. */
#ifndef FORMAT_COMPRESS_H
#define FORMAT_COMPRESS_H

#include "base/compiler.h"

#define COMPRESS_STATE_BYTES 16416 /* checked against the library in compress.c */

/* Most bytes that compress_block() can make of len. */
#define COMPRESS_BOUND(len) ((len) + (len) / 255 + 16)

/* How hard to try. Events gain little from a thorough search, and the busier a program is, the less
 * its events are alike. Bytes and nanoseconds per event of python3 (8.2 bytes raw) and of a loop of
 * malloc and free (6.5 bytes): */
enum compress_effort {
	COMPRESS_NOT = 0, /* store it as it is */
	COMPRESS_WELL = 4, /* 4.3 in 11; 4.9 in 13 */
	COMPRESS_FAST = 16, /* 5.1 in 8; 5.7 in 6 */
	COMPRESS_HASTILY = 64, /* 6.5 in 4; 6.1 in 2 */
};

/* Compresses src into dst. state is COMPRESS_STATE_BYTES, 8-byte aligned, contents do not matter.
 * Returns the compressed bytes, or 0 when dst is too small. Allocates nothing and uses little
 * stack. */
size_t compress_block(void *state, enum compress_effort effort, const void *src, size_t len,
		      void *dst, size_t capacity);

/* False when src is not exactly raw_bytes of data, compressed. Never writes outside of dst. */
bool decompress_block(const void *src, size_t len, void *dst, size_t raw_bytes);

#endif
