/* recording/recording_i.h - what recording.c, block_index.c and area_read.c share. */
#ifndef RECORDING_RECORDING_I_H
#define RECORDING_RECORDING_I_H

#include "recording/chunk_reader.h"
#include "recording/recording.h"

/* Adds the entry of the block that the header describes. The caller sets where the bytes are.
 * ERR_MEMORY. */
int block_index_add(struct recording *r, const struct block_header *h, struct block_ref **ret,
		    struct err *err);

/* Adds the entry of the block in an EVENTS chunk. */
int block_index_add_events(struct recording *r, const struct chunk_ref *p, struct err *err);

/* After the last block: sorts, drops duplicates, makes the lanes. */
int block_index_finish(struct recording *r, struct err *err);

/* Adds n_bytes of blocks at offset to what area_read() will read. */
int area_read_add(struct recording *r, uint64_t offset, uint64_t n_bytes, struct err *err);

/* Copies the blocks in use of all areas added since the last call. Finds out whether the recording
 * is being written, and sets r->horizon_ticks if so. 1: there were areas. 0: none. Less: an
 * error. */
int area_read(struct recording *r, struct err *err);

/* Something was appended after areas were read, so the recording is being written: sets the
 * horizon. Does nothing when no areas were read. */
void area_read_set_horizon(struct recording *r);

/* Reads the number of the last step of a PENDING chunk (format/pending.h), before areas are read. */
int pending_read_begin(struct recording *r, struct err *err);

/* After the areas of a piece were read: makes blocks of the events in its PENDING chunk, and tells
 * the blocks of the areas how many of their events were taken. Sets r->is_torn if the recorder moved
 * events meanwhile. */
int pending_read(struct recording *r, struct err *err);

/* Reads len bytes of a piece at offset into r->scratch. 1: done. 0: the file ends before. Less: an error. */
int recording_read_scratch(struct recording *r, size_t piece, uint64_t offset, size_t len,
			   struct err *err);

#endif
