/* format/compress.c - see compress.h. */
#include "format/compress.h"

#include <lz4.h>

_Static_assert(sizeof(LZ4_stream_t) <= COMPRESS_STATE_BYTES, "LZ4 state");

size_t compress_block(void *state, enum compress_effort effort, const void *src, size_t len,
		      void *dst, size_t capacity)
{
	int n;

	if (effort == COMPRESS_NOT || len > LZ4_MAX_INPUT_SIZE || capacity > LZ4_MAX_INPUT_SIZE)
		return 0;
	n = LZ4_compress_fast_extState(state, src, dst, (int)len, (int)capacity, (int)effort);
	return n > 0 ? (size_t)n : 0;
}

bool decompress_block(const void *src, size_t len, void *dst, size_t raw_bytes)
{
	if (len > LZ4_MAX_INPUT_SIZE || raw_bytes > LZ4_MAX_INPUT_SIZE)
		return false;
	return LZ4_decompress_safe(src, dst, (int)len, (int)raw_bytes) == (int)raw_bytes;
}
