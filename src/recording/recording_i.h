/* recording/recording_i.h - between recording.c, block_index.c and area_read.c. */
#ifndef RECORDING_RECORDING_I_H
#define RECORDING_RECORDING_I_H

#include "recording/chunk_reader.h"
#include "recording/recording.h"

/* Adds an entry that the header describes; the caller says where the bytes are. */
int block_index_add(struct recording *r, const struct block_header *h, struct block_ref **ret,
		    struct err *err);

/* Notes where the block of an EVENTS chunk is. */
int block_index_add_events(struct recording *r, const struct chunk_ref *p, struct err *err);

/* Sorts, drops duplicates, makes the lanes. */
int block_index_finish(struct recording *r, struct err *err);

/* Remembers n_bytes of blocks at offset for area_read(). */
int area_read_add(struct recording *r, uint64_t offset, uint64_t n_bytes, struct err *err);

/* Copies the blocks in use of all areas noted since the last call. 1: there were such areas, 0:
 * none. Finds out whether the recording is being written, and sets r->horizon_ticks if so. */
int area_read(struct recording *r, struct err *err);

/* The recording is being written: something was appended after areas were read. Nothing happens when
 * none were. */
void area_read_set_horizon(struct recording *r);

/* Reads len bytes at offset into r->scratch. 1 done, 0 the file ends before, less: error. */
int recording_read_scratch(struct recording *r, uint64_t offset, size_t len, struct err *err);

#endif
