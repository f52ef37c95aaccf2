/* ingest/stream.h - the calls of a recording in order of time, made ready by a thread of its own.
 *
 * The thread decodes the blocks, takes in the definitions of stacks, finds the stack of each call
 * and merges the lanes: the same order as that of merge.h, but many times as fast, because
 * calls are decoded, translated and passed on in runs, where one lane goes on alone without a copy.
 * What is left for the caller comes in batches: calls of the malloc family as small structs, rare
 * events whole. So reading and pairing run at the same time.
 *
 * The counts and the stacks are the thread's until stream_next() gave 0; the recording is borrowed
 * and nobody else may use it meanwhile. Threads: one caller.
 */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include "ingest/births.h"
#include "ingest/stacks.h"
#include "recording/cut.h"
#include "recording/recording.h"

#define STREAM_BATCH_CALLS 4096u

/* event_compact.flags */
enum stream_flags {
	STREAM_AFTER_GAP = 1, /* events of this lane before it are missing */
	STREAM_WHOLE = 2, /* size_bytes is the index in stream_batch.rare, where all of it is */
};

/* at_ns of the calls never goes back; lane is the index in recording.lane. Calls of the malloc
 * family whose sizes have no room, and all other events, are there as a whole. */
struct stream_batch {
	struct event_compact call[STREAM_BATCH_CALLS];
	size_t n;
	struct event *rare;
	size_t n_rare, cap_rare;
	uint64_t n_blocks_read; /* of recording.n_blocks, so far */
	uint32_t n_stacks; /* numbers of stacks that were given, so far */
};

/* What of the usable bytes beyond the size of a call is kept; UINT32_MAX: so much or more. */
static inline uint32_t stream_extra_bytes(const struct event *ev)
{
	uint64_t extra = ev->usable_extra_bytes;

	return extra < UINT32_MAX ? (uint32_t)extra : UINT32_MAX;
}

struct stream_counts {
	uint64_t calls; /* of the program; a realloc counts twice if its end is there */
	uint64_t truncated[STACK_N_ENDS]; /* events, by the reason their stack ends */
	uint64_t guessed; /* events whose stack has guessed frames */
	uint64_t last_ticks; /* of the last event */
};

struct stream; /* opaque: defined in stream.c */

/* births: NULL, or filled as calls are read; the thread's until stream_next() gave 0. It begins to read
 * at the first stream_next(). */
int stream_create(struct recording *r, struct births *births, struct stream **ret, struct err *err);
void stream_destroy(struct stream *s); /* ends the thread; NULL does nothing */

/* 1: *ret is the next batch and *then the one after it (NULL: it is the last), good until the next
 * call. 0: no more. Less: what went wrong. */
int stream_next(struct stream *s, const struct stream_batch **ret, const struct stream_batch **then,
		struct err *err);

/* Before the first stream_next(), or after it gave 0: reads to a cut (NULL: to the end), and then gives
 * 0. At a cut the batch that is not full yet, and the one before it, whose calls may ask for more of
 * those that follow, stay here. */
void stream_go_on(struct stream *s, const struct cut *cut);

/* For follow.h: at a cut, which was at cut_ns. Loaded into one that was just made, of the same recording
 * when it has grown. ERR_REFUSED: it is not what it was with something more. */
void stream_save(const struct stream *s, struct state_out *out);
int stream_load(struct stream *s, struct state_in *in, const struct state_lanes *lanes,
		uint64_t cut_ns);

/* After the last batch. stream_take_stacks(): they are the caller's from then on. */
const struct stacks *stream_stacks(const struct stream *s);
struct stacks *stream_take_stacks(struct stream *s);
const struct stream_counts *stream_counts(const struct stream *s);
uint64_t stream_last_ns(const struct stream *s); /* time of the last event so far, or 0 */

#endif
