/* format/checksum.h - the checksum of the recording format (docs/FORMAT.md 1.3). */
#ifndef FORMAT_CHECKSUM_H
#define FORMAT_CHECKSUM_H

#include <string.h>

#include "base/bytes.h"

static inline uint64_t checksum_step(uint64_t h, uint64_t word)
{
	h ^= word * 0xff51afd7ed558ccdull;
	return (h << 29 | h >> 35) * 0xc4ceb9fe1a85ec53ull;
}

static inline uint32_t checksum_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint8_t tail[8] = {0};
	uint64_t h = 0x9e3779b97f4a7c15ull ^ len;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8)
		h = checksum_step(h, load_le64(p + i));
	if (i < len) {
		memcpy(tail, p + i, len - i);
		h = checksum_step(h, load_le64(tail));
	}
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h ^ h >> 32);
}

#endif
