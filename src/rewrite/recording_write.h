/* rewrite/recording_write.h - writes a recording in our own process, made from another one (the
 * source).
 *
 * The new file has the identity, clock and status of the source, but an id of its own: what is
 * cached under the id of one must not be used for the other. The file appears at
 * recording_writer_commit() (util/atomic_file.h).
 *
 * Lanes are those of the source and have its numbers. Events of a lane are encoded into a block,
 * which is written when it is full. At most RECORDING_WRITER_MAX_OPEN blocks are in memory; if more
 * lanes take turns, blocks of some are written early. Errors: ERR_IO, ERR_MEMORY. Threads: one.
 */
#ifndef REWRITE_RECORDING_WRITE_H
#define REWRITE_RECORDING_WRITE_H

#include "format/event_encode.h"
#include "recording/recording.h"

#define RECORDING_WRITER_MAX_OPEN 1024 /* blocks, 64 KiB each */

struct recording_writer; /* opaque: defined in recording_write.c */

/* Begins a recording. source is borrowed until the commit or the discard. purpose ("strip") goes
 * into the new id. */
int recording_writer_create(const char *path, const struct recording *source, const char *purpose,
			    bool is_compressed, struct recording_writer **ret, struct err *err);
void recording_writer_discard(struct recording_writer *w); /* NULL does nothing */

/* Writes the blocks in memory, the end and the status, and gives the file its name. Destroys w also
 * on failure. n_lost_blocks: blocks of the source that could not be read. *size_bytes: the size of
 * the new file. */
int recording_writer_commit(struct recording_writer *w, uint64_t n_lost_blocks,
			    uint64_t *size_bytes, struct err *err);

/* ---- chunks ---- */

struct recording_chunk {
	enum format_chunk_type type;
	const void *head; /* never compressed */
	size_t head_bytes;
	const void *data;
	size_t data_bytes;
	bool is_plain; /* do not compress data */
};

/* Writes a chunk. ERR_LIMIT when it is larger than a chunk may be. An END chunk is written at the
 * commit. */
int recording_writer_put(struct recording_writer *w, const struct recording_chunk *c,
			 struct err *err);

/* Writes a chunk of the source as it is; payload is h->stored_bytes long. */
int recording_writer_put_stored(struct recording_writer *w, const struct chunk_header *h,
				const uint8_t *payload, struct err *err);

/* Writes a NOTE chunk. level: 1 error, 2 warning, 3 information. */
int recording_writer_note(struct recording_writer *w, unsigned level, const char *text,
			  struct err *err);

/* ---- events ---- */

/* The state of a lane where it begins, or after a gap. */
struct recording_writer_start {
	uint64_t ticks;
	uint64_t lost_before;
	uint32_t first_stack;
	uint32_t generation;
	uint32_t n_missing; /* blocks of the lane that are missing before it */
};

/* Begins a new block of the lane. Must come before the first event of the lane. */
int recording_writer_restart(struct recording_writer *w, uint32_t lane,
			     const struct recording_writer_start *start, struct err *err);

/* The id that the next definition of the lane gets. */
uint32_t recording_writer_next_stack(const struct recording_writer *w, uint32_t lane);

/* Appends an event of a kind that this version knows. stack replaces the stack id of the event. For
 * a definition ev->parent is an id of the new recording, stack is ignored, and the defined stack
 * gets the next id. */
int recording_writer_event(struct recording_writer *w, uint32_t lane, const struct event *ev,
			   uint32_t stack, struct err *err);

/* Appends a rare event of a kind that this version does not know, with the bytes of its fields in
 * the source. 1: done. 0: no block has room for it. Less: an error. */
int recording_writer_rare(struct recording_writer *w, uint32_t lane, const struct event *ev,
			  const uint8_t *fields, size_t len, struct err *err);

/* Does this version know the kind of event? */
bool recording_writer_knows(unsigned kind);

#endif
