/* record/writer.h - the writer: a bare thread that moves events to the file and keeps house.
 *
 * It compresses full blocks, adds areas, samples memory use, writes down modules and threads,
 * embeds binaries piece by piece when there is nothing else to do, writes the log, and makes new
 * sessions. It uses raw system calls only: libc does not know this thread, so anything that
 * needs thread-local data of libc is forbidden here.
 */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include "record/record.h"

/* Starts the writer and waits until the first session is there or has failed. False: no
 * recording. */
bool writer_start(struct recorder *rec);

/* Starts it again after it has stepped aside (park.h). False: there is no writer any more. */
bool writer_restart(struct recorder *rec);

/* Waits until everything published before the call has been written out (and the end of the
 * recording, when it is ending). Gives up after timeout_ns. */
void writer_sync(struct recorder *rec, uint64_t timeout_ns);

#endif
