/* format/chunk.c - see chunk.h. */
#include "format/chunk.h"

#include "base/bytes.h"
#include "format/checksum.h"

void chunk_encode(const struct chunk_header *h, uint8_t *out)
{
	store_le32(out, CHUNK_MAGIC);
	store_le16(out + 4, h->type);
	store_le16(out + 6, h->flags);
	store_le32(out + 8, h->stored_bytes);
	store_le32(out + 12, h->raw_bytes);
	store_le64(out + 16, h->sequence);
	store_le32(out + 24, h->payload_checksum);
	store_le32(out + 28, checksum_bytes(out, 28));
}

bool chunk_decode(const uint8_t *data, struct chunk_header *ret)
{
	struct chunk_header h;

	if (load_le32(data) != CHUNK_MAGIC || load_le32(data + 28) != checksum_bytes(data, 28))
		return false;
	h.type = load_le16(data + 4);
	h.flags = load_le16(data + 6);
	h.stored_bytes = load_le32(data + 8);
	h.raw_bytes = load_le32(data + 12);
	h.sequence = load_le64(data + 16);
	h.payload_checksum = load_le32(data + 24);
	if (h.type != CHUNK_AREA && h.type != CHUNK_PAD && h.type != CHUNK_PENDING &&
	    (h.stored_bytes > FORMAT_CHUNK_MAX_BYTES || h.raw_bytes > FORMAT_CHUNK_MAX_BYTES))
		return false;
	*ret = h;
	return true;
}

bool chunk_payload_ok(const struct chunk_header *h, const uint8_t *payload)
{
	if (h->flags & CHUNK_FLAG_UNCHECKED)
		return true;
	return checksum_bytes(payload, h->stored_bytes) == h->payload_checksum;
}

size_t chunk_search(const uint8_t *data, size_t len, size_t from)
{
	struct chunk_header h;

	for (size_t at = align_up(from, FORMAT_CHUNK_ALIGN); at + CHUNK_HEADER_BYTES <= len;
	     at += FORMAT_CHUNK_ALIGN) {
		if (load_le32(data + at) == CHUNK_MAGIC && chunk_decode(data + at, &h))
			return at;
	}
	return len;
}
