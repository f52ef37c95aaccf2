/* record/writer.h - the writer: a process with the memory of the target that moves events to the
 * file and looks after the recording (writer_process.h).
 *
 * The writer compresses full blocks and appends them, adds areas, samples memory use, describes
 * modules and threads, embeds binaries piece by piece when there is nothing else to do, writes the
 * log, and creates new sessions. It uses raw system calls only (sys.h): libc does not know this
 * process, so anything that needs thread-local data of libc is forbidden here.
 *
 * A brief writer. A program that looks after a sandbox (firejail) is process 1 of a pid namespace
 * and may wait until no other process is left there: its writer would be one for ever. So the
 * writer of a forked process 1 ends as soon as there is nothing to do, and whoever starts it waits
 * for its end. It starts again when a thread needs a block, and for the end of the recording.
 */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include "record/record.h"

/* Starts the writer and waits, five seconds at most, for its first session. False: there is none,
 * and nothing is recorded; the log says why. */
bool writer_start(struct recorder *rec);

/* If the writer was killed, starts another, which goes on where the last one was. Every event is in
 * the file meanwhile. Where the file cannot be opened again, or no process can be started, the
 * blocks are not moved any more; what finds no room is counted. */
void writer_ensure(struct recorder *rec);

/* No new writer can be started from now on: a brief one stays. */
void writer_stay(struct recorder *rec);

/* Ends the writer, which does not come back. Waits a second at most. */
void writer_end(struct recorder *rec);

/* Waits until the writer has written out everything that was published before the call, and the end
 * of the recording if it is ending; timeout_ns at most. Threads: the program's. */
void writer_sync(struct recorder *rec, uint64_t timeout_ns);

#endif
