/* record/writer_i.h - what the files of the writer share. See writer.h.
 *
 *	writer.c		the main loop: drains blocks, keeps house, ends the recording in order
 *	writer_notes.c		notes about losses, a sandbox, children that are not recorded
 *	writer_pieces.c		the recording goes on in a new file
 *	writer_complete.c	the target is gone: completes the file
 *
 * All of it runs in the writer's process, which is one thread; no function here is for threads of
 * the target.
 */
#ifndef RECORD_WRITER_I_H
#define RECORD_WRITER_I_H

#include "record/describe.h"
#include "record/embed.h"
#include "record/jit_images.h"
#include "record/managed_runtime.h"
#include "record/other_allocator.h"
#include "record/resident_maps.h"
#include "record/rotation.h"
#include "record/session.h"
#include "record/stream_server.h"
#include "record/writer_effort.h"
#include "record/writer_log.h"
#include "record/writer_process.h"

struct writer {
	struct recorder *rec;
	struct writer_process process;
	struct session *session;
	struct session_buffers buffers;
	struct describer describer;
	struct embed embed;
	struct jit_images jit_images;
	struct other_allocator other_allocator;
	struct managed_runtime managed_runtime;
	struct resident_maps resident_maps;
	struct writer_log log;
	struct stream_server *server; /* NULL: none */
	uint64_t next_sample_ns;
	uint64_t next_housekeeping_ns;
	uint64_t exit_began_ns;
	struct writer_effort effort;
	struct rotation rotation;
	bool has_noted_sandbox;
	uint32_t n_children_reported; /* of unrecorded.h */
	unsigned n_full; /* full blocks left to write in this round */
	bool is_completing; /* the target is gone: nobody needs another block */
};

/* ---- writer.c ---- */

/* Appends a block as a chunk, or counts its loss, and gives the block back. */
void writer_write_block(struct writer *w, struct session *s, struct area *area, uint32_t slot);

/* The same as a cull_write_block. user: the writer. */
void writer_write_culled(void *user, struct session *s, struct area *area, uint32_t slot);

/* Writes the full blocks of one session. Returns how many there were. */
unsigned writer_drain_session(struct writer *w, struct session *s);

/* The status of a recording that has ended. */
void writer_put_last_status(struct writer *w);

/* ---- writer_notes.c ---- */

/* Appends NOTE chunks about the events that were lost since the last such note, about a sandbox, and
 * about children that are not recorded. */
void writer_report_losses(struct writer *w);

/* ---- writer_pieces.c ---- */

/* Creates the session that is wanted, if there is none. */
void writer_switch_session(struct writer *w);

/* Begins a new piece when one is due by size or time. Threads move to it with their next event. */
void writer_rotate(struct writer *w);

/* Closes old sessions that nobody uses. */
void writer_retire_sessions(struct writer *w);

/* ---- writer_complete.c ---- */

/* Closes the files of all sessions. */
void writer_close_sessions(struct writer *w);

/* The target has ended, by whatever means, or has become another program: completes the file. */
void writer_complete(struct writer *w);

#endif
