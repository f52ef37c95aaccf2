/* recording/chunk_reader.h - walks the chunks of a recording, and finds the next one after damage.
 *
 * Ranges that had to be skipped go to a struct damage. The file may grow meanwhile: the walk ends
 * at the size that the file had when chunk_reader_extend() was called last. Threads: one.
 */
#ifndef RECORDING_CHUNK_READER_H
#define RECORDING_CHUNK_READER_H

#include "format/block.h"
#include "format/chunk.h"
#include "recording/damage.h"
#include "util/file.h"

/* A chunk in the file. */
struct chunk_ref {
	struct chunk_header header;
	uint64_t offset; /* of the header */
	uint64_t present_bytes; /* of the payload; less than stored_bytes for a cut-off AREA only */
};

/* Called for a block of an AREA whose own chunk header is lost. */
typedef int (*chunk_stray_block)(void *user, uint64_t offset, struct err *err);

struct chunk_reader {
	struct file *file;
	struct damage *damage;
	uint64_t offset; /* where the next chunk is expected */
	uint64_t complete_to; /* offset, from the status; chunks after it may be unfinished */
	uint64_t unfinished_bytes; /* after it; their blocks are still in an AREA */
	uint8_t *window; /* CHUNK_READER_WINDOW_BYTES, for searching */
	chunk_stray_block on_stray;
	void *user;
};

#define CHUNK_READER_WINDOW_BYTES (1u << 20)

/* Begins a walk at offset. file and damage are borrowed. The caller may set complete_to (no limit
 * at first), on_stray and user. ERR_MEMORY or ERR_IO. */
int chunk_reader_init(struct chunk_reader *r, struct file *file, struct damage *damage,
		      uint64_t offset, struct err *err);
void chunk_reader_fini(struct chunk_reader *r);

/* Lets the walk go on to the present end of the file. ERR_IO. */
int chunk_reader_extend(struct chunk_reader *r, struct err *err);

/* 1: *ret is the next chunk. 0: there are no more. Less: ERR_IO, or what on_stray() returned. */
int chunk_reader_next(struct chunk_reader *r, struct chunk_ref *ret, struct err *err);

/* "EVENTS", "MODULE" ...; "unknown" for a type that this version does not know. */
const char *chunk_reader_type_name(unsigned type);

#endif
