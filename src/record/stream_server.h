/* record/stream_server.h - the embedded server: other processes, here or on another host, receive
 * the recording while it is written (MEMORY_PROFILER_ENABLE_SERVER).
 *
 * The server has no thread of its own. The writer calls stream_server_step() in each of its turns,
 * and sleeps no longer than stream_server_pause_ns() says. All sockets are non-blocking. So the writer
 * never waits for a client, and the program only at its exit: the recording is in its file, and the
 * server reads from the file what a slow client still needs.
 *
 * Without MEMORY_PROFILER_SERVER_TOKEN the server listens on 127.0.0.1 only. With a token it listens
 * everywhere, and a client proves that it knows the token; the token is never sent
 * (format/stream_frame.h, docs/STREAM.md).
 *
 * Threads: the writer.
 */
#ifndef RECORD_STREAM_SERVER_H
#define RECORD_STREAM_SERVER_H

#include "record/record.h"

struct stream_server; /* opaque: defined in stream_server.c */

/* Does MEMORY_PROFILER_ENABLE_SERVER ask for a server? Then makes its memory; it listens from the
 * first step on. NULL: not wanted, or the log says why there is none. */
struct stream_server *stream_server_create(struct recorder *rec);

/* Accepts, receives and sends what is possible at once, and announces the program. session: the
 * current one. NULL server: does nothing, and so do all functions below. */
void stream_server_step(struct stream_server *server, struct session *session);

/* The session is about to be destroyed. Its file can still be received. */
void stream_server_keep(struct stream_server *server, const struct session *session);

/* How long the writer may sleep. */
uint64_t stream_server_pause_ns(const struct stream_server *server);

/* Does any client lack something that can be sent now? When the recording has ended, the writer goes on
 * for such a client, as long as MEMORY_PROFILER_SERVER_EXIT_WAIT allows. The program waits only where
 * it waits for the writer (ending.h). */
bool stream_server_is_behind(const struct stream_server *server);

/* The writer is another process, without the sockets: closes everything. The next step listens
 * again, and the clients come back by themselves. */
void stream_server_suspend(struct stream_server *server);

#endif
