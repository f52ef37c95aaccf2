/* ingest/stream.h - the calls of a recording in order of time, prepared by a thread of its own.
 *
 * The reader thread decodes the blocks of all lanes, takes the definitions of stacks, finds the
 * stack of each call, and merges the lanes. The order is that of merge.h, but the stream is many
 * times as fast: it decodes, translates and passes calls on in runs, and without a copy where one
 * lane goes on alone. The caller gets batches: calls of the malloc family as small structs, rare
 * events as a whole. So reading and pairing run at the same time:
 *
 *   reader thread:  lanes -> decode -> stacks, times -> merge -> batch | batch | batch
 *   caller:                                                         stream_next() -> pairing
 *
 * Ownership: the recording is borrowed, and nobody else may use it while the stream exists. Counts
 * and stacks belong to the reader until stream_next() returned 0. Threads: one caller.
 */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include "ingest/alloc_sums.h"
#include "ingest/stacks.h"
#include "recording/checkpoint_pos.h"
#include "recording/recording.h"

#define STREAM_BATCH_CALLS 4096u

/* event_compact.flags */
enum stream_flags {
	STREAM_AFTER_GAP = 1, /* events of this lane before it are missing */
	STREAM_WHOLE = 2, /* the whole event is in stream_batch.rare, at the index size_bytes */
	STREAM_SPECIAL = 3, /* all of these; the higher bits hold the allocator (format/event.h) */
};

_Static_assert(STREAM_SPECIAL >> EVENT_ALLOCATOR_SHIFT == 0, "flags and allocator are apart");

/* at_ns of the calls never goes back. event_compact.lane is the index in recording.lane,
 * event_compact.stack the number of the stack. STREAM_WHOLE is set for events other than calls of the
 * malloc family, and for such calls whose sizes do not fit. */
struct stream_batch {
	struct event_compact call[STREAM_BATCH_CALLS];
	size_t n;
	struct event *rare;
	size_t n_rare, cap_rare;
	uint64_t n_blocks_read; /* of recording.n_blocks, so far */
	uint32_t n_stacks; /* stack numbers of this batch are less */
};

/* The usable bytes beyond the size of a call, as they are kept; UINT32_MAX: so many or more. */
static inline uint32_t stream_extra_bytes(const struct event *ev)
{
	uint64_t extra = ev->usable_extra_bytes;

	return extra < UINT32_MAX ? (uint32_t)extra : UINT32_MAX;
}

struct stream_counts {
	uint64_t calls; /* of the program; a realloc counts twice if its end is there */
	uint64_t truncated[STACK_N_ENDS]; /* events, by the reason why their stack ends */
	uint64_t guessed; /* events whose stack has guessed frames */
	uint64_t last_ticks; /* of the last event */
};

struct stream; /* opaque: defined in stream_i.h */

/* Makes a stream; its thread starts at the first stream_next(). sums: NULL, or to be filled with
 * what each stack allocated; it belongs to the reader until stream_next() returned 0. folder, for a
 * temporary file, is borrowed; NULL: temp_file_folder(). ERR_MEMORY. */
int stream_create(struct recording *r, struct alloc_sums *sums, const char *folder,
		  struct stream **ret, struct err *err);
void stream_destroy(struct stream *s); /* ends the thread; NULL does nothing */

/* 1: *ret is the next batch, *then the batch after it (NULL: *ret is the last); both are valid
 * until the next call. 0: there are no more. Less: an error of the reader. */
int stream_next(struct stream *s, const struct stream_batch **ret, const struct stream_batch **then,
		struct err *err);

/* Lets the stream read up to a checkpoint (NULL: to the end); then stream_next() returns 0. Before
 * the first stream_next(), or after it returned 0.
 *
 * At a checkpoint the stream keeps the last two batches: the last one because it is not full, the
 * one before it because questions about its calls (lookahead.h) need a full batch after it. */
void stream_resume(struct stream *s, const struct checkpoint_pos *pos);

/* After stream_next() returned 0. stream_take_stacks() moves the stacks to the caller. */
const struct stacks *stream_stacks(const struct stream *s);
struct stacks *stream_take_stacks(struct stream *s);
const struct stream_counts *stream_counts(const struct stream *s);
uint64_t stream_last_ns(const struct stream *s); /* time of the last event so far, or 0 */

/* ---- checkpoints (incremental.h), in stream_checkpoint.c ---- */

/* Writes the state of a stream that stands at a checkpoint. */
void stream_save(const struct stream *s, struct checkpoint_io_out *out);

/* Reads it into a stream that was just made, of the same recording, grown. ERR_REFUSED: the
 * recording has not just grown, or an event from before checkpoint_ns came late. ERR_FORMAT: the
 * contents are impossible. */
int stream_load(struct stream *s, struct checkpoint_io_in *in,
		const struct checkpoint_io_lanes *lanes, uint64_t checkpoint_ns);

#endif
