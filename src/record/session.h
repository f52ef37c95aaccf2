/* record/session.h - one recording file, from the writer's side.
 *
 * struct session is in record.h: threads use its areas. Every function here is for the
 * writer only, because descriptors are numbers in the writer's own table.
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include "format/compress.h"
#include "format/pending.h"
#include "record/options.h"
#include "record/record.h"

/* A chunk to append. */
struct session_chunk {
	unsigned type;
	unsigned flags;
	const void *head; /* stored as it is, in front of data */
	size_t head_bytes;
	const void *data; /* stored compressed if that is smaller */
	size_t data_bytes; /* at most SESSION_MAX_DATA */
	enum compress_effort effort;
	size_t stored_bytes; /* set by session_append(): size of data in the file */
};

/* Scratch memory of the writer, borrowed by all sessions. */
struct session_buffers {
	uint8_t *chunk; /* SESSION_CHUNK_CAPACITY */
	uint8_t *lz4_state;
};

#define SESSION_CHUNK_CAPACITY (512 * KIB)
#define SESSION_MAX_DATA (256 * KIB)

/* Creates the file of the next piece (output_file.h), and its first area. NULL: it could not, or
 * MEMORY_PROFILER_OUTPUT is empty; the log says why. */
struct session *session_create(struct recorder *rec, struct session_buffers *b);

/* Gives back the disk space of an old session's blocks, closes its file and unmaps it. All its blocks
 * are written or (if its file is closed) lie where threads left them. */
void session_retire(struct session *s);

/* Closes the file of an old session whose full blocks are written. Its blocks stay mapped; what
 * threads write into them is in the file, but no chunk is appended any more. fd becomes -1. */
void session_close_file(struct session *s);

/* The counters of the recorder so far belong to earlier pieces. */
void session_begin_counters(struct recorder *rec, struct session *s);

/* Appends a chunk. 0, or -errno: nothing was appended. The caller counts what was lost
 * (session_count_lost()). */
long session_append(struct session *s, struct session_buffers *b, struct session_chunk *c);

/* Appends an AREA chunk and makes its blocks available. False: no room in the file or in the table
 * of areas. */
bool session_add_area(struct session *s, struct session_buffers *b, uint32_t n_blocks);

/* Appends a PENDING chunk and maps its payload of so many bytes. NULL: no memory, or no room. */
struct pending_area *session_add_pending(struct session *s, struct session_buffers *b,
					 size_t n_bytes);

/* The same without a loss: the block stays readable where it lies. */
void session_keep_areas(struct session *s, long error);

/* Adds up the counters of all threads and writes the status into the first page. */
void session_put_status(struct recorder *rec, struct session *s, enum format_state state);

/* Appends a NOTE chunk, and puts a log line of the same level. */
void session_put_note(struct session *s, struct session_buffers *b, enum log_level level,
		      const char *text);

/* A new writer process: opens the file again, which the last one had open. False: it cannot, or
 * there is another file of that name. */
bool session_reopen(struct session *s);

/* Closes the file, after making it as large as what it holds: the space of the areas goes. No thread
 * uses the session any more; should one still do, it harms nobody. */
void session_finish(struct session *s, struct session_buffers *b);

/* Counts a loss in the status. error: -errno; the first one goes to the log and stays in the
 * status. n_blocks 0: a chunk that was no block. */
void session_count_lost(struct session *s, uint64_t n_events, uint64_t n_blocks, long error);

#endif
