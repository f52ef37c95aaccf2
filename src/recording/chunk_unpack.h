/* recording/chunk_unpack.h - the part of a chunk's payload that may be compressed, decompressed. */
#ifndef RECORDING_CHUNK_UNPACK_H
#define RECORDING_CHUNK_UNPACK_H

#include "format/chunk.h"
#include "util/err.h"

#define CHUNK_UNPACK_FILE_DATA_HEAD 16 /* file id, zero, offset */
#define CHUNK_UNPACK_MAPS_HEAD 8 /* ticks */

/* The number of bytes before the part that may be compressed; -1 for types without such a part.
 * EVENTS have none here: recording_load_block() reads them. */
int chunk_unpack_head_bytes(unsigned type);

struct chunk_unpacked {
	const uint8_t *data; /* in the payload, or in buf */
	size_t len;
	uint8_t *buf; /* NULL, or to be freed by the caller */
};

/* Gives the bytes of a payload after its head, decompressed if necessary. ERR_FORMAT when they
 * cannot be decompressed, ERR_MEMORY; ret is written on success only. */
int chunk_unpack(const struct chunk_header *h, const uint8_t *payload, size_t head_bytes,
		 struct chunk_unpacked *ret, struct err *err);

#endif
