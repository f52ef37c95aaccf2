/* format/compress.h - LZ4 blocks with the caller's memory. The only user of lz4.h. */
#ifndef FORMAT_COMPRESS_H
#define FORMAT_COMPRESS_H

#include "base/compiler.h"

#define COMPRESS_STATE_BYTES 16416 /* checked against the library in compress.c */

/* Most bytes that compress_block() can make of len. */
#define COMPRESS_BOUND(len) ((len) + (len) / 255 + 16)

/* LZ4's acceleration. Events gain little from a thorough search, and the busier a program is, the
 * less its events are alike. Measured with events of python3 (8.2 bytes each before compression)
 * and of a loop of malloc and free (6.5 bytes): */
enum compress_effort {
	COMPRESS_NOT = 0, /* stored as they are */
	COMPRESS_WELL = 4, /* python3 4.3 bytes per event in 11 ns; loop 4.9 bytes in 13 ns */
	COMPRESS_FAST = 16, /* 5.1 bytes in 8 ns; 5.7 bytes in 6 ns */
	COMPRESS_HASTILY = 64, /* 6.5 bytes in 4 ns; 6.1 bytes in 2 ns */
};

/* Compresses src into dst. state is COMPRESS_STATE_BYTES of scratch memory, aligned to 8. Returns
 * the number of compressed bytes; 0 when they do not fit into dst or effort is COMPRESS_NOT.
 * Allocates nothing and uses little stack. */
size_t compress_block(void *state, enum compress_effort effort, const void *src, size_t len,
		      void *dst, size_t capacity);

/* Decompresses src into dst. False when that does not give exactly raw_bytes. Never writes outside
 * dst[raw_bytes], whatever src holds. */
bool decompress_block(const void *src, size_t len, void *dst, size_t raw_bytes);

#endif
