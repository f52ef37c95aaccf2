/* recording/chunk_unpack.h - the part of a chunk's payload that may be compressed. */
#ifndef RECORDING_CHUNK_UNPACK_H
#define RECORDING_CHUNK_UNPACK_H

#include "format/chunk.h"
#include "util/err.h"

#define CHUNK_UNPACK_FILE_DATA_HEAD 16 /* file id, zero, offset */
#define CHUNK_UNPACK_MAPS_HEAD 8 /* ticks */

/* Bytes in front of the part that may be compressed, for the types that have one; else -1. (EVENTS
 * are not among them: recording_load_block() reads them.) */
int chunk_unpack_head_bytes(unsigned type);

/* What chunk_unpack() found. */
struct chunk_unpacked {
	const uint8_t *data; /* in the payload, or in buf */
	size_t len;
	uint8_t *buf; /* NULL, or for the caller to free() */
};

/* The bytes of a payload behind its head, decompressed if necessary. ERR_FORMAT when it makes no
 * sense; ret->buf is set only on success. */
int chunk_unpack(const struct chunk_header *h, const uint8_t *payload, size_t head_bytes,
		 struct chunk_unpacked *ret, struct err *err);

#endif
