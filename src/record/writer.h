/* record/writer.h - the writer: a bare thread that moves events to the file and looks after the
 * recording.
 *
 * The writer compresses full blocks and appends them, adds areas, samples memory use, describes
 * modules and threads, embeds binaries piece by piece when there is nothing else to do, writes the
 * log, and creates new sessions. It uses raw system calls only (sys.h): libc does not know this
 * thread, so anything that needs thread-local data of libc is forbidden here.
 */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include "record/record.h"

/* Starts the writer and waits, five seconds at most, for its first session. False: there is none,
 * and nothing is recorded; the log says why. */
bool writer_start(struct recorder *rec);

/* Starts the writer again after writer_stop_begin(). False: there is no writer any more. */
bool writer_restart(struct recorder *rec);

/* Waits until the writer has written out everything that was published before the call, and the end
 * of the recording if it is ending; timeout_ns at most. Threads: the program's. */
void writer_sync(struct recorder *rec, uint64_t timeout_ns);

#endif
