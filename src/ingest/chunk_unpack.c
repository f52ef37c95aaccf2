/* ingest/chunk_unpack.c - see chunk_unpack.h. */
#include "ingest/chunk_unpack.h"

#include <stdlib.h>

#include "format/compress.h"

int chunk_unpack_head_bytes(unsigned type)
{
	switch (type) {
	case CHUNK_FILE_DATA:
		return CHUNK_UNPACK_FILE_DATA_HEAD;
	case CHUNK_MAPS:
		return CHUNK_UNPACK_MAPS_HEAD;
	case CHUNK_DROPPED:
	case CHUNK_SYMBOLS:
		return 0;
	default:
		return -1;
	}
}

int chunk_unpack(const struct chunk_header *h, const uint8_t *payload, size_t head_bytes,
		 uint8_t **buf, const uint8_t **ret, size_t *len, struct err *err)
{
	if (h->stored_bytes < head_bytes)
		return err_set(err, ERR_FORMAT, "a chunk of %u bytes is too short",
			       h->stored_bytes);
	if (!(h->flags & CHUNK_FLAG_LZ4)) {
		*ret = payload + head_bytes;
		*len = h->stored_bytes - head_bytes;
		return 0;
	}
	*buf = malloc((size_t)h->raw_bytes + 1);
	if (!*buf)
		return err_set_memory(err, h->raw_bytes);
	if (!decompress_block(payload + head_bytes, h->stored_bytes - head_bytes, *buf,
			      h->raw_bytes))
		return err_set(err, ERR_FORMAT, "a chunk cannot be decompressed");
	*ret = *buf;
	*len = h->raw_bytes;
	return 0;
}
