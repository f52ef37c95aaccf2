/* recording/peek.h - who made a recording, from its first chunks only: fast whatever its size. */
#ifndef RECORDING_PEEK_H
#define RECORDING_PEEK_H

#include "format/file_header.h"
#include "util/err.h"

struct peek {
	struct file_header header;
	uint64_t file_bytes;
	uint64_t ppid; /* 0: not known */
	uint64_t parent_pid; /* of a forked child whose parent was recorded; else 0 */
};

/* Fails for files that are no recording of this version; errors are those of header_page_read(),
 * and ERR_IO. */
int peek_recording(const char *path, struct peek *ret, struct err *err);

#endif
