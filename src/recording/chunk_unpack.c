/* recording/chunk_unpack.c - see chunk_unpack.h. */
#include "recording/chunk_unpack.h"

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
		 struct chunk_unpacked *ret, struct err *err)
{
	uint8_t *buf;

	if (h->stored_bytes < head_bytes)
		return err_set(err, ERR_FORMAT, "a chunk of %u bytes is too short",
			       h->stored_bytes);
	if (!(h->flags & CHUNK_FLAG_LZ4)) {
		*ret = (struct chunk_unpacked){payload + head_bytes, h->stored_bytes - head_bytes,
					       NULL};
		return 0;
	}
	buf = malloc((size_t)h->raw_bytes + 1);
	if (!buf)
		return err_set_memory(err, h->raw_bytes);
	if (!decompress_block(payload + head_bytes, h->stored_bytes - head_bytes, buf,
			      h->raw_bytes)) {
		free(buf);
		return err_set(err, ERR_FORMAT, "a chunk cannot be decompressed");
	}
	*ret = (struct chunk_unpacked){buf, h->raw_bytes, buf};
	return 0;
}
