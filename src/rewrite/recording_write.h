/* rewrite/recording_write.h - writes a recording in our own process, made from another one.
 *
 * The new file has the identity, clock and status of its source, but an id of its own: whoever
 * keeps what he knows of a recording by its id must not take the one for the other. It appears at
 * recording_writer_commit() (util/atomic_file.h).
 *
 * Lanes are those of the source and have its numbers. Events of a lane are encoded into a block
 * that is written when it is full; at most RECORDING_WRITER_MAX_OPEN blocks are in memory, if more
 * lanes take turns the blocks of some are written early.
 */
#ifndef REWRITE_RECORDING_WRITE_H
#define REWRITE_RECORDING_WRITE_H

#include "format/event_encode.h"
#include "recording/recording.h"

#define RECORDING_WRITER_MAX_OPEN 1024 /* blocks, 64 KiB each */

struct recording_writer; /* opaque: defined in recording_write.c */

/* source is borrowed until the end. purpose ("strip") goes into the new id. */
int recording_writer_create(const char *path, const struct recording *source, const char *purpose,
			    bool is_compressed, struct recording_writer **ret, struct err *err);
void recording_writer_discard(struct recording_writer *w); /* NULL does nothing */

/* Writes the blocks under way, the end and the status, and puts the file in its place. w is gone
 * in any case. n_lost_blocks: blocks of the source that could not be read. *size_bytes: of the new
 * file. */
int recording_writer_commit(struct recording_writer *w, uint64_t n_lost_blocks,
			    uint64_t *size_bytes, struct err *err);

/* ---- chunks ---- */

struct recording_chunk {
	enum format_chunk_type type;
	const void *head; /* never compressed */
	size_t head_bytes;
	const void *data;
	size_t data_bytes;
	bool is_plain; /* do not compress */
};

/* ERR_LIMIT when it is larger than chunks may be. An END chunk is held back until the commit. */
int recording_writer_put(struct recording_writer *w, const struct recording_chunk *c,
			 struct err *err);

/* A chunk of the source as it is; payload is h->stored_bytes long. */
int recording_writer_put_stored(struct recording_writer *w, const struct chunk_header *h,
				const uint8_t *payload, struct err *err);

/* A NOTE of the given level (1 error, 2 warning, 3 information). */
int recording_writer_note(struct recording_writer *w, unsigned level, const char *text,
			  struct err *err);

/* ---- events ---- */

/* Where a lane stands when it begins, or goes on behind a gap. */
struct recording_writer_start {
	uint64_t ticks;
	uint64_t lost_before;
	uint32_t first_stack;
	uint32_t generation;
	uint32_t n_missing; /* blocks that are missing here */
};

/* Begins a new block of the lane; needed before its first event. */
int recording_writer_restart(struct recording_writer *w, uint32_t lane,
			     const struct recording_writer_start *start, struct err *err);

/* The next stack id of a lane. */
uint32_t recording_writer_next_stack(const struct recording_writer *w, uint32_t lane);

/* Appends an event of a kind that this version knows, but with another stack id (and for
 * definitions another parent). An event that defines a stack gives it the next id. */
int recording_writer_event(struct recording_writer *w, uint32_t lane, const struct event *ev,
			   uint32_t stack, struct err *err);

/* Appends a rare event with its fields as they stand in the source, for kinds that this version
 * does not know. 1: done. 0: no block has room for it. */
int recording_writer_rare(struct recording_writer *w, uint32_t lane, const struct event *ev,
			  const uint8_t *fields, size_t len, struct err *err);

/* Does this version know the kind? */
bool recording_writer_knows(unsigned kind);

#endif
