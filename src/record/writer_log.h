/* record/writer_log.h - the writer's end of the log: the log file, or the stderr of the program's
 * start.
 *
 * The writer only, unless a function says otherwise. What cannot be written is lost silently:
 * there is nowhere left to say so.
 */
#ifndef RECORD_WRITER_LOG_H
#define RECORD_WRITER_LOG_H

#include "record/record.h"

struct writer_log {
	int fd; /* 2: stderr; -1: no log is wanted, or its file cannot be opened */
	bool has_stderr; /* at the start: lines that the user must see go there */
	uint64_t written_bytes; /* to the current file */
	char path[RECORD_PATH_BYTES];
};

/* Opens the log that the options ask for. */
void writer_log_open(struct writer_log *l, struct recorder *rec);

/* The recording has begun: no line goes to stderr any more unless a log there is wanted. */
void writer_log_settle(struct writer_log *l);

/* Writes out all lines of the ring. Begins a new file where the options limit its size. */
void writer_log_flush(struct writer_log *l, struct recorder *rec);

/* For the thread that failed to start a writer: writes out all lines itself, with a descriptor that
 * is open only meanwhile. */
void writer_log_without_writer(struct recorder *rec);

#endif
