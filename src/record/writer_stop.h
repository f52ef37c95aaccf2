/* record/writer_stop.h - the process without its writer thread, for a moment or for good.
 *
 * Some system calls are open to processes with a single thread only (another user namespace). The
 * writer is a second thread, which the program did not make. So the writer ends, the program makes
 * the call, and a new writer goes on where the old one was (fd_handover.h). Nothing is lost
 * meanwhile: events are in the file. Threads: the program's only. Signals are blocked from begin to
 * end.
 */
#ifndef RECORD_WRITER_STOP_H
#define RECORD_WRITER_STOP_H

#include "record/record.h"

/* Ends the writer until writer_stop_end(). False, with nothing changed: the process has more
 * threads than the caller and the writer, or the writer's files cannot be held. */
bool writer_stop_begin(struct recorder *rec);

/* Starts the writer again. If that fails, recording is off; what was recorded stays in the file. */
void writer_stop_end(struct recorder *rec);

/* Ends the writer, which does not come back. Waits a second at most. */
void writer_stop_for_good(struct recorder *rec);

#endif
