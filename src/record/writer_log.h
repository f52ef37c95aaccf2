/* record/writer_log.h - the writer's end of the log: the file or the stderr that was there at the
 * start. Writer thread only. */
#ifndef RECORD_WRITER_LOG_H
#define RECORD_WRITER_LOG_H

#include "record/record.h"

struct writer_log {
	int fd; /* -1: none */
	uint64_t written_bytes;
	char path[RECORD_PATH_BYTES];
};

void writer_log_open(struct writer_log *l, struct recorder *rec);
void writer_log_flush(struct writer_log *l, struct recorder *rec);

/* Without a writer thread: writes out what is there, with a descriptor that is open only
 * meanwhile. For the thread that failed to start one. */
void writer_log_without_writer(struct recorder *rec);

#endif
