/* serve/answer.h - one answer on its way from the thread that makes it to the client's socket.
 *
 * The maker writes to a FILE; the bytes go through a small head buffer (so that what turns out to
 * be an error can still become an error status), the encoder, and a queue of bounded size. The
 * sender (the connection's thread) takes them out. A maker whose queue is full waits, and gives back
 * its turn (below) meanwhile: slow readers cost memory for a queue, not computing.
 *
 * The sender looks at the socket while it waits. A client that hangs up sets the answer's cancel
 * flag, which the query under way sees, and makes every further write fail.
 *
 * Threads: one maker, one sender. Each has a reference.
 */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

#include "serve/encoder.h"

#define ANSWER_QUEUE_BYTES (256u << 10)
#define ANSWER_COPY_BYTES (4u << 20) /* answers up to this size are kept for the cache */

/* How many handlers compute at the same time. */
struct compute_slots; /* opaque: defined in answer.c */
int compute_slots_create(unsigned n, struct compute_slots **ret, struct err *err);
void compute_slots_destroy(struct compute_slots *t);

struct answer; /* opaque: defined in answer.c */

/* encoding: what the client takes; small answers are sent as they are. */
int answer_create(struct compute_slots *slots, enum encoding encoding, struct answer **ret,
		  struct err *err);
void answer_unref(struct answer *a);

/* ---- for the maker ---- */

/* Waits for a turn. False: cancelled before. */
bool answer_begin(struct answer *a);

FILE *answer_file(struct answer *a);
const atomic_bool *answer_cancel_flag(const struct answer *a);

/* Before the first byte is written; texts must live as long as the answer. file_name may be NULL. */
void answer_set_type(struct answer *a, const char *content_type, const char *file_name);

/* Throws away what was written. False: part of it is on its way already. */
bool answer_restart(struct answer *a);

/* Ends the answer with an HTTP status and gives the turn and the maker's reference back. Has the
 * status been sent already, anything but 200 cuts the connection. */
void answer_finish(struct answer *a, unsigned status);

/* ---- for the sender ---- */

/* Waits until the status is known. False: the client at socket fd has gone; cancelled. */
bool answer_wait(struct answer *a, int fd);
unsigned answer_status(const struct answer *a); /* these after answer_wait() */
const char *answer_type(const struct answer *a);
const char *answer_file_name(const struct answer *a);
enum encoding answer_encoding(const struct answer *a);
bool answer_is_whole(struct answer *a, size_t *len); /* all of it lies in the queue */

/* Takes up to len bytes, waiting for the first: a count, 0 at the end, -1 when it ended badly. */
ssize_t answer_take(struct answer *a, int fd, void *buf, size_t len);

void answer_cancel(struct answer *a);

/* Called by the maker's thread when the answer is complete, has status 200 and was not too large
 * to keep: copy is the body as sent, the callee's to free. */
typedef void (*answer_done)(void *user, struct answer *a, uint8_t *copy, size_t len);

void answer_set_done(struct answer *a, answer_done done, void *user);

#endif
