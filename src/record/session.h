/* record/session.h - one recording file, from the writer's side.
 *
 * Every function is for the writer thread only: descriptors are numbers in its own table.
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include "format/compress.h"
#include "record/options.h"
#include "record/record.h"

/* A chunk to append. */
struct session_chunk {
	unsigned type;
	unsigned flags;
	const void *head; /* stored as it is, before data */
	size_t head_bytes;
	const void *data; /* compressed when that makes it smaller */
	size_t data_bytes;
	enum compress_effort effort;
	size_t stored_bytes; /* set by session_append(): what became of data_bytes */
};

/* Scratch memory of the writer. */
struct session_buffers {
	uint8_t *chunk; /* SESSION_CHUNK_CAPACITY */
	uint8_t *lz4_state;
};

#define SESSION_CHUNK_CAPACITY (512 * KIB)
#define SESSION_MAX_DATA (256 * KIB)

/* Creates the file for this session number and its first area. On failure returns NULL and logs
 * why. */
struct session *session_create(struct recorder *rec, uint32_t number, struct session_buffers *b);

/* Appends a chunk. 0 or -errno; a failure is counted in the status and reported once per errno. */
long session_append(struct session *s, struct session_buffers *b, struct session_chunk *c);

/* Appends an AREA and makes its blocks available. False: no room in the file or the table. */
bool session_add_area(struct session *s, struct session_buffers *b, uint32_t n_blocks);

/* Writes the live status into the first page. */
void session_put_status(struct recorder *rec, struct session *s, enum format_state state);

/* Appends a NOTE chunk (and a log line of the same level). */
void session_put_note(struct session *s, struct session_buffers *b, enum log_level level,
		      const char *text);

/* Counts a loss in the status. */
void session_count_lost(struct session *s, uint64_t n_events, uint64_t n_blocks, long error);

#endif
