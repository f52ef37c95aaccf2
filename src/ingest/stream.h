/* ingest/stream.h - the calls of a recording in order of time, made ready by a thread of its own.
 *
 * The thread decodes the blocks, takes in the definitions of stacks, finds the stack of each call
 * and merges the lanes: the same order as that of merge.h, but many times as fast, because
 * calls are decoded, translated and passed on in runs. What is left for the caller comes in batches:
 * calls of the malloc family as small structs, rare events whole. So reading and pairing run at the
 * same time.
 *
 * The counts and the stacks are the thread's until stream_next() gave 0; the recording is borrowed
 * and nobody else may use it meanwhile. Threads: one caller.
 */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include "ingest/recording.h"
#include "ingest/stacks.h"

#define STREAM_BATCH_CALLS 4096u

struct stream_call {
	uint64_t at_ns; /* since the start; never goes back */
	uint64_t addr;
	uint64_t size_bytes; /* of a rare event: index in stream_batch.rare */
	uint32_t stack; /* number of struct stacks */
	uint32_t extra_bytes; /* usable beyond size_bytes; UINT32_MAX: so much or more */
	uint32_t lane; /* index in recording.lane */
	uint8_t kind; /* enum event_kind */
	bool is_after_gap; /* events of this lane before it are missing */
};

struct stream_batch {
	struct stream_call call[STREAM_BATCH_CALLS];
	size_t n;
	struct event *rare;
	size_t n_rare, cap_rare;
	uint64_t n_blocks_read; /* of recording.n_blocks, so far */
};

struct stream_counts {
	uint64_t events; /* calls of the program */
	uint64_t truncated[STACK_N_ENDS]; /* events, by the reason their stack ends */
	uint64_t guessed; /* events whose stack has guessed frames */
	uint64_t last_ticks; /* of the last event */
};

struct stream; /* opaque: defined in stream.c */

int stream_create(struct recording *r, struct stream **ret, struct err *err);
void stream_destroy(struct stream *s); /* ends the thread; NULL does nothing */

/* 1: *ret is the next batch and *then the one after it (NULL: it is the last), good until the next
 * call. 0: no more. Less: what went wrong. */
int stream_next(struct stream *s, const struct stream_batch **ret, const struct stream_batch **then,
		struct err *err);

/* After the last batch. stream_take_stacks(): they are the caller's from then on. */
const struct stacks *stream_stacks(const struct stream *s);
struct stacks *stream_take_stacks(struct stream *s);
const struct stream_counts *stream_counts(const struct stream *s);

#endif
