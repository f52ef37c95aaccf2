/* format/compress.h - LZ4 blocks with the caller's memory. The only user of lz4.h. */
#ifndef FORMAT_COMPRESS_H
#define FORMAT_COMPRESS_H

#include "base/compiler.h"

#define COMPRESS_STATE_BYTES 16416 /* checked against the library in compress.c */

/* Most bytes that compress_block() can make of len. */
#define COMPRESS_BOUND(len) ((len) + (len) / 255 + 16)

/* Compresses src into dst. state is COMPRESS_STATE_BYTES, 8-byte aligned, contents do not matter.
 * Returns the compressed bytes, or 0 when dst is too small. Allocates nothing and uses little
 * stack. */
size_t compress_block(void *state, const void *src, size_t len, void *dst, size_t capacity);

/* False when src is not exactly raw_bytes of data, compressed. Never writes outside of dst. */
bool decompress_block(const void *src, size_t len, void *dst, size_t raw_bytes);

#endif
