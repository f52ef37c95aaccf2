/* format/stream_message.h - the payloads of the stream that have several fields, and the datagram
 * that announces a recorder. docs/STREAM.md is the specification.
 *
 * The decode functions take bytes from anybody. They return false for bytes that make no sense, and
 * *ret is untouched then.
 */
#ifndef FORMAT_STREAM_MESSAGE_H
#define FORMAT_STREAM_MESSAGE_H

#include "format/stream_frame.h"

#define STREAM_ID_BYTES 16
#define STREAM_BROADCAST_PORT 43512
#define STREAM_ANNOUNCE_MAX 256
#define STREAM_PIECE_BYTES 40

/* A process that is recorded. */
struct stream_process {
	uint8_t id[STREAM_ID_BYTES]; /* of its first recording */
	uint32_t pid;
	uint32_t first_piece; /* pieces that the client can have */
	uint32_t last_piece;
	char name[STREAM_MAX_NAME]; /* of the executable, ended by a zero */
};

/* One recording file of that process. */
struct stream_piece {
	uint8_t id[STREAM_ID_BYTES]; /* recording_id of the file */
	uint64_t start_realtime_ns;
	uint32_t number; /* from 1 */
	uint32_t flags; /* 0; STREAM_WANTS_ACKS is reserved */
	uint64_t n_bytes; /* of the file at present */
};

/* A datagram by which a recorder says where its server is. */
struct stream_announcement {
	uint8_t id[STREAM_ID_BYTES]; /* as in struct stream_process */
	uint32_t pid;
	uint16_t port;
	bool needs_token;
	char name[STREAM_MAX_NAME];
};

size_t stream_process_encode(const struct stream_process *p, uint8_t *out);
bool stream_process_decode(const uint8_t *data, size_t len, struct stream_process *ret);

size_t stream_piece_encode(const struct stream_piece *p, uint8_t *out);
bool stream_piece_decode(const uint8_t *data, size_t len, struct stream_piece *ret);

size_t stream_announcement_encode(const struct stream_announcement *a, uint8_t *out);
bool stream_announcement_decode(const uint8_t *data, size_t len, struct stream_announcement *ret);

#endif
