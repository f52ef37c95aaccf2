/* serve/answer.h - one answer on its way from the thread that makes it to the client's socket.
 *
 * The maker writes to a FILE, the sender (the connection's thread) takes the bytes out:
 *
 *	maker -> FILE -> head buffer -> encoder -> queue (bounded) -> sender -> socket
 *
 * The head buffer is small. An error that happens while the bytes are still there becomes an error
 * status. A maker whose queue is full waits, and gives its compute slot to another maker
 * meanwhile. So a slow client costs the memory of one queue, but no computing time.
 *
 * The sender watches the socket while it waits. If the client hangs up, the sender sets the
 * answer's cancel flag. The running query sees the flag, and every further write fails.
 *
 * serve.c makes the response around the bytes: status, headers, ETag.
 *
 * Others may wait for the end of an answer, to take it from the cache of answers: they share it. If
 * the sender leaves while others share the answer, the answer goes on without a queue: bytes go to
 * the copy for the cache only. If nobody is left, the answer is cancelled, unless the last one said
 * that it comes back (answer_unshare()).
 *
 * Threads: one maker, at most one sender, any number that share. Each has one reference.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

#include "query/query.h"
#include "serve/compute_slots.h"
#include "serve/encoder.h"

#define ANSWER_QUEUE_BYTES (256u << 10)
#define ANSWER_FILE_NAME_BYTES 128
#define ANSWER_COPY_BYTES (4u << 20) /* a larger answer is not kept for the cache */

struct answer; /* opaque: defined in answer.c */

/* encoding: what the client accepts; small answers are sent without encoding. */
int answer_create(struct compute_slots *slots, enum encoding encoding, struct answer **ret,
		  struct err *err);
void answer_ref(struct answer *a);
void answer_unref(struct answer *a);

/* Makes an answer without a sender: the sender's reference becomes one that shares. Before the
 * maker begins. */
void answer_set_unsent(struct answer *a);

/* Says whose answer it is and how long it may take (compute_slots.h). Before answer_begin(). */
void answer_set_turn(struct answer *a, const char *client, bool is_instant, bool is_long);

/* How much memory it may come to hold while it computes. Before answer_begin(). */
void answer_set_needs(struct answer *a, uint64_t n_bytes);

/* Its client gets an estimate: others come first. Before answer_begin(). */
void answer_set_last(struct answer *a);

void answer_set_guess(struct answer *a, uint64_t cpu_ns); /* 0: nobody knows */
void answer_set_quick(struct answer *a); /* it takes milliseconds */

/* ---- for the maker ---- */

/* Gives the compute slot back: what is left to do is little. */
void answer_pause(struct answer *a);

/* The processor time that the maker's thread took until answer_pause(). */
uint64_t answer_cpu_ns(const struct answer *a);

/* The compute slot, for a query that waits for what another one computes. */
struct query_turn answer_turn(struct answer *a);

/* Waits for a compute slot. False: the answer was cancelled before. */
bool answer_begin(struct answer *a);

FILE *answer_file(struct answer *a);
const atomic_bool *answer_cancel_flag(const struct answer *a);

/* Call before the first byte is written. content_type must live as long as the answer. file_name is
 * copied, without quotes and backslashes in it; NULL: the answer is not to be saved as a file. */
void answer_set_type(struct answer *a, const char *content_type, const char *file_name);

/* Everything that is written and flushed is sent at once and as it is: the answer is a stream of
 * events. Before the first byte. */
void answer_set_stream(struct answer *a);

/* Discards what was written. False: a part of it was already sent to the encoder. */
bool answer_restart(struct answer *a);

/* Ends the answer with an HTTP status, and gives back the compute slot and the maker's reference.
 * If the status was already sent, any status but 200 cuts the connection. */
void answer_finish(struct answer *a, unsigned status);

/* ---- for the sender ---- */

/* Waits until the status is known. False: the client at socket fd has gone, and the answer is
 * cancelled. */
bool answer_wait(struct answer *a, int fd);

/* Is the status known? Waits at most max_ms. */
bool answer_is_known(struct answer *a, unsigned max_ms);
unsigned answer_status(const struct answer *a); /* these five only after answer_wait() */
const char *answer_type(const struct answer *a);
const char *answer_file_name(const struct answer *a);
enum encoding answer_encoding(const struct answer *a);
bool answer_is_whole(struct answer *a, size_t *len); /* the whole answer is in the queue */

/* Takes up to len bytes; waits for the first byte. Returns the number of bytes, 0 at the end, -1
 * if the answer failed. */
ssize_t answer_take(struct answer *a, int fd, void *buf, size_t len);

/* The sender leaves: cancels the answer unless others share it. */
void answer_cancel(struct answer *a);

/* ---- for those who share ---- */

void answer_share(struct answer *a); /* takes a reference */

/* Ends what answer_share() or answer_set_unsent() began, with the reference. comes_back: the answer
 * goes on even if nobody waits for it now. */
void answer_unshare(struct answer *a, bool comes_back);

/* Cancels the answer if nobody waits for it. */
void answer_cancel_unwanted(struct answer *a);
bool answer_is_unwanted(struct answer *a); /* nobody waits for it */
unsigned answer_n_waiting(struct answer *a); /* senders and those who share */

enum answer_end {
	ANSWER_ENDED, /* it is complete, or failed */
	ANSWER_STALLED, /* its client is slow: it ends when the client has taken it */
	ANSWER_LATE, /* not yet */
	ANSWER_LEFT /* the client at socket fd has gone */
};

/* Waits for the end of a shared answer; at most max_ms, 0: for ever. */
enum answer_end answer_wait_end(struct answer *a, int fd, unsigned max_ms);

/* Called by the maker's thread when the answer is complete, has status 200 and is not larger than
 * ANSWER_COPY_BYTES. copy is the body as sent; the callee frees it. */
typedef void (*answer_done)(void *user, struct answer *a, uint8_t *copy, size_t len);

void answer_set_done(struct answer *a, answer_done done, void *user);

#endif
