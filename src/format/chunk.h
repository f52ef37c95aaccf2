/* format/chunk.h - framing of chunks: headers, checksums, and the search for the next chunk after
 * damage (docs/FORMAT.md section 2).
 */
#ifndef FORMAT_CHUNK_H
#define FORMAT_CHUNK_H

#include "base/bits.h"
#include "format/format.h"

#define CHUNK_HEADER_BYTES 32
#define CHUNK_MAGIC 0x4b43504du /* MPCK */

struct chunk_header {
	uint16_t type; /* enum format_chunk_type, or one that this version does not know */
	uint16_t flags; /* CHUNK_FLAG_ */
	uint32_t stored_bytes; /* of the payload in the file */
	uint32_t raw_bytes; /* of the payload when it is decompressed */
	uint64_t sequence;
	uint32_t payload_checksum;
};

/* Writes CHUNK_HEADER_BYTES at out. */
void chunk_encode(const struct chunk_header *h, uint8_t *out);

/* Reads a header from CHUNK_HEADER_BYTES. False: wrong magic, wrong checksum, or lengths that the
 * format forbids; *ret is untouched then. */
bool chunk_decode(const uint8_t *data, struct chunk_header *ret);

/* Whether payload (stored_bytes) is the one that the header was written for. Always true for chunks
 * with CHUNK_FLAG_UNCHECKED. */
bool chunk_payload_ok(const struct chunk_header *h, const uint8_t *payload);

/* Bytes from the start of the header to the start of the next chunk. */
static inline uint64_t chunk_total_bytes(const struct chunk_header *h)
{
	return CHUNK_HEADER_BYTES + align_up(h->stored_bytes, FORMAT_CHUNK_ALIGN);
}

/* After damage: the offset of the first valid header in data at or behind from (rounded up to 8),
 * or len when there is none. */
size_t chunk_search(const uint8_t *data, size_t len, size_t from);

#endif
