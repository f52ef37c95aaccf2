/* ingest/chunk_unpack.h - the part of a chunk's payload that may be compressed. */
#ifndef INGEST_CHUNK_UNPACK_H
#define INGEST_CHUNK_UNPACK_H

#include "format/chunk.h"
#include "util/err.h"

#define CHUNK_UNPACK_FILE_DATA_HEAD 16 /* file id, zero, offset */
#define CHUNK_UNPACK_MAPS_HEAD 8 /* ticks */

/* Bytes in front of the part that may be compressed, for the types that have one; else -1. (EVENTS
 * are not among them: recording_load_block() reads them.) */
int chunk_unpack_head_bytes(unsigned type);

/* The bytes of a payload behind its head, decompressed if necessary. *ret is borrowed from payload
 * or from *buf (NULL before), which the caller frees in any case. ERR_FORMAT when it makes no
 * sense. */
int chunk_unpack(const struct chunk_header *h, const uint8_t *payload, size_t head_bytes,
		 uint8_t **buf, const uint8_t **ret, size_t *len, struct err *err);

#endif
