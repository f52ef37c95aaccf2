/* ingest/recording_copy.h - takes what a recording tells over into another one.
 *
 * The events of a lane, block by block, are handed on as they stand in the file; chunks that
 * describe (process, modules, files ...) are copied, or handed to the user to change or drop.
 * What is damaged is left out; recording.damage tells of it.
 */
#ifndef INGEST_RECORDING_COPY_H
#define INGEST_RECORDING_COPY_H

#include "ingest/recording_write.h"

/* Called for each chunk that is whole and is neither PAD, AREA nor EVENTS, in the order of the
 * file. payload is good during the call. */
typedef int (*recording_copy_chunk)(void *user, const struct chunk_header *h,
				    const uint8_t *payload, struct err *err);

/* Walks through the chunks of r, as of the moment it was opened. */
int recording_copy_walk(const struct recording *r, recording_copy_chunk on_chunk, void *user,
			struct err *err);

/* Copies the chunks; those with an LZ4 part are packed or unpacked as w wants it. */
int recording_copy_facts(struct recording_writer *w, const struct recording *r, struct err *err);

/* Same for one chunk: for users of recording_copy_walk(). */
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
