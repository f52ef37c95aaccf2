/* format/checksum.h - the checksum of the recording format (docs/FORMAT.md 1.3).
 *
 * Finds damage, not forgery. From CHECKSUM_LONG_BYTES on it is made of four sums, each of every
 * fourth word, which a CPU computes side by side.
 */
#ifndef FORMAT_CHECKSUM_H
#define FORMAT_CHECKSUM_H

#include <string.h>

#include "base/bytes.h"

static inline uint64_t checksum_step(uint64_t h, uint64_t word)
{
	h ^= word * 0xff51afd7ed558ccdull;
	return (h << 29 | h >> 35) * 0xc4ceb9fe1a85ec53ull;
}

#define CHECKSUM_LONG_BYTES 1024

static inline uint32_t checksum_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint8_t tail[8] = {0};
	uint64_t h = 0x9e3779b97f4a7c15ull ^ len;
	size_t i = 0;

	if (len >= CHECKSUM_LONG_BYTES) {
		uint64_t lane[4] = {h, h + 1, h + 2, h + 3};

		for (; i + 32 <= len; i += 32) {
			for (unsigned k = 0; k < 4; k++)
				lane[k] = checksum_step(lane[k], load_le64(p + i + 8 * k));
		}
		for (unsigned k = 0; k < 4; k++)
			h = checksum_step(h, lane[k]);
	}
	for (; i + 8 <= len; i += 8)
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
