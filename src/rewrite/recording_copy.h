/* rewrite/recording_copy.h - takes what a recording tells over into another one.
 *
 * The events of a lane, block by block, are handed on as they stand in the file; chunks that
 * describe (process, modules, files ...) are copied, or handed to the user to change or drop.
 * What is damaged is left out; recording.damage tells of it.
 */
#ifndef REWRITE_RECORDING_COPY_H
#define REWRITE_RECORDING_COPY_H

#include "recording/chunk_walk.h"
#include "rewrite/recording_write.h"

/* Copies the chunks; those with an LZ4 part are packed or unpacked as w wants it. */
int recording_copy_metadata(struct recording_writer *w, const struct recording *r, struct err *err);

/* Same for one chunk: for users of chunk_walk(). */
int recording_copy_one(struct recording_writer *w, const struct chunk_header *h,
		       const uint8_t *payload, struct err *err);

struct recording_copy_result {
	uint64_t n_events; /* without definitions of stacks */
	uint64_t n_unreadable_blocks; /* left out, or only their beginning was kept */
	uint64_t n_unknown_events; /* too long to be kept */
};

/* Copies all events in blocks that are as full as they can be. */
int recording_copy_events(struct recording_writer *w, struct recording *r,
			  struct recording_copy_result *ret, struct err *err);

#endif
