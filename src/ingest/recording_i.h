/* ingest/recording_i.h - between recording.c and block_index.c. */
#ifndef INGEST_RECORDING_I_H
#define INGEST_RECORDING_I_H

#include "ingest/chunk_reader.h"
#include "ingest/recording.h"

/* Copies the blocks of an AREA that are in use. */
int block_index_add_area(struct recording *r, const struct chunk_place *p, struct err *err);

/* Copies the block at this file offset if it is in use. */
int block_index_add_area_block(struct recording *r, uint64_t offset, struct err *err);

/* Notes where the block of an EVENTS chunk is. */
int block_index_add_events(struct recording *r, const struct chunk_place *p, struct err *err);

/* Sorts, drops duplicates, makes the lanes. */
int block_index_finish(struct recording *r, struct err *err);

/* Reads len bytes at offset into r->scratch. 1 done, 0 the file ends before, less: error. */
int recording_read_scratch(struct recording *r, uint64_t offset, size_t len, struct err *err);

#endif
