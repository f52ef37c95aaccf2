/* rewrite/recording_copy.h - copies the contents of a recording into another one.
 *
 * Events are decoded and encoded again, lane by lane. Chunks that describe (process, modules, files
 * ...) are copied, or given to the user to be changed or dropped. Damaged ranges are left out;
 * recording.damage reports them. Threads: one.
 */
#ifndef REWRITE_RECORDING_COPY_H
#define REWRITE_RECORDING_COPY_H

#include "recording/chunk_walk.h"
#include "rewrite/recording_write.h"

/* Copies all chunks that describe. Those that may be compressed become compressed or not, as w
 * is. */
int recording_copy_metadata(struct recording_writer *w, const struct recording *r, struct err *err);

/* The same for one chunk, for users of chunk_walk(). */
int recording_copy_one(struct recording_writer *w, const struct chunk_header *h,
		       const uint8_t *payload, struct err *err);

struct recording_copy_result {
	uint64_t n_events; /* without definitions of stacks */
	uint64_t n_unreadable_blocks; /* left out, or kept up to the damage */
	uint64_t n_unknown_events; /* of unknown kinds, too long for a block: left out */
};

/* Copies all events, in blocks that are as full as possible. Errors: ERR_IO, ERR_MEMORY. */
int recording_copy_events(struct recording_writer *w, struct recording *r,
			  struct recording_copy_result *ret, struct err *err);

#endif
