/* gather/received_file.h - a recording that arrives over a stream: the copy on this side.
 *
 * The copy has each byte at the offset that it has in the file of the recorder, so it is an
 * ordinary recording at every moment, and receiving goes on where it stopped: after a break, and
 * also in another run of the program. Threads: one.
 */
#ifndef GATHER_RECEIVED_FILE_H
#define GATHER_RECEIVED_FILE_H

#include "format/file_header.h"
#include "format/stream_message.h"
#include "util/err.h"

struct received_file {
	int fd; /* -1: not open */
	char *path; /* owned */
	uint8_t id[STREAM_ID_BYTES];
	uint64_t next; /* every byte before it is here, but for the blocks that are in use */
	uint64_t size_bytes;
	uint8_t page[FORMAT_HEADER_BYTES]; /* the first page as it was received */
};

#define RECEIVED_FILE_NONE ((struct received_file){.fd = -1})

/* Opens folder/YYYYMMDD_HHMMSS_PID_name.dat (time of the start, UTC) for a piece. If the file is
 * there and holds the beginning of the same piece, receiving goes on behind it. If the file is
 * another recording, a number is added to the name; nothing is ever replaced. ERR_IO, ERR_MEMORY;
 * ERR_REFUSED: another process receives into it. */
int received_file_open(const char *folder, const struct stream_process *process,
		       const struct stream_piece *piece, struct received_file *ret,
		       struct err *err);
void received_file_close(struct received_file *f); /* RECEIVED_FILE_NONE does nothing */

/* Take the payload of a DATA and of a BLOCK frame. ERR_FORMAT: it makes no sense. ERR_IO. */
int received_file_data(struct received_file *f, const uint8_t *payload, size_t len,
		       struct err *err);
int received_file_block(struct received_file *f, const uint8_t *payload, size_t len,
			struct err *err);

#endif
