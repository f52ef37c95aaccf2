/* recording/recording_i.h - what recording.c, block_index.c, area_read.c and pending_read.c
 * share. */
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

/* ---- what a growing recording holds at one moment ---- */

enum area_state {
	AREA_EMPTY,
	AREA_TAKEN, /* the block was copied */
	AREA_GONE, /* the file ends inside the block */
	AREA_CHANGED, /* the block changed meanwhile */
	AREA_DAMAGED,
};

/* A block in use, as it was found at first: area_read.c. */
struct area_glimpse {
	uint64_t offset;
	uint64_t sequence;
	uint64_t start_ticks;
	uint32_t used_bytes;
};

struct area_copy {
	struct area_range block; /* where it is; n_bytes: to the end of the area */
	enum area_state state;
	struct block_header header; /* of AREA_TAKEN, as are the event bytes: */
	size_t at; /* header.used_bytes from snapshot.bytes[at] on */
};

/* Copies of what the recorder may be changing: made as fast as possible, looked at afterwards. The
 * memory serves all tries of a piece, because pages that are touched for the first time take longer
 * than the copy. */
struct snapshot {
	struct area_glimpse *glimpse; /* in the order of the areas */
	size_t n_glimpses, cap_glimpses;
	struct area_copy *copy; /* in the order of the areas */
	size_t n_copies, cap_copies;
	uint8_t *bytes; /* events of all copies */
	size_t n_bytes, cap_bytes;
	uint8_t *pending; /* payload of the PENDING chunk: struct pending_area */
	size_t n_pending_bytes, cap_pending;
	uint64_t first_step; /* number of the last step before the copies */
	bool is_torn; /* the recorder made a step meanwhile: the copies do not fit together */
};

/* Copies the blocks in use of all areas added since the last call. 1: there were areas. 0: none.
 * Less: an error. */
int area_read(struct recording *r, struct snapshot *s, struct err *err);

/* Puts the copies into the index. Finds out whether the recording is being written, and sets
 * r->horizon_ticks if so. */
int area_read_finish(struct recording *r, struct snapshot *s, struct err *err);

/* Reads the number of the last step of a PENDING chunk (format/pending.h), before areas are read. */
int pending_read_begin(struct recording *r, struct snapshot *s, struct err *err);

/* After the areas of a piece were copied: copies the PENDING chunk, and sets s->is_torn. */
int pending_read(struct recording *r, struct snapshot *s, struct err *err);

/* After area_read_finish(): makes blocks of the events in the PENDING chunk, and tells the blocks of
 * the areas how many of their events were taken. */
int pending_read_finish(struct recording *r, struct snapshot *s, struct err *err);

/* Reads len bytes of a piece at offset into r->scratch. 1: done. 0: the file ends before. Less: an error. */
int recording_read_scratch(struct recording *r, size_t piece, uint64_t offset, size_t len,
			   struct err *err);

#endif
