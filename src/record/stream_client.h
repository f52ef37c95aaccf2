/* record/stream_client.h - one connection to the embedded server, from the recorder's side.
 *
 * A piece is one recording file of this process: rotation begins new ones. What the client and the
 * recorder say to each other, by state of the connection:
 *
 *	           recorder sends    client answers
 *	HANDSHAKE  HELLO             PROOF: the client knows the token
 *	LISTED     WELCOME, PROCESS  OPEN: which piece the client wants (0: which ones are there?)
 *	OPENED     PIECE             START: from which offset of the piece
 *	SENDING    DATA, BLOCK       -
 *	           PIECE_END         OPEN: the state is LISTED again
 *	           END               SEEN_END: the client has all
 *
 * A client takes one frame's memory of the writer in each direction, whatever the client sends or
 * does not read. Before the proof a client has EARLY_BYTES only. Nothing here waits.
 * Threads: the writer.
 */
#ifndef RECORD_STREAM_CLIENT_H
#define RECORD_STREAM_CLIENT_H

#include "format/stream_message.h"
#include "record/stream_socket.h"
#include "record/stream_source.h"

#define STREAM_CLIENT_MAX_FILES 16
#define STREAM_CLIENT_OUT_BYTES (STREAM_HEAD_BYTES + STREAM_MAX_PAYLOAD + STREAM_MAC_BYTES)
#define STREAM_CLIENT_IN_BYTES (STREAM_HEAD_BYTES + STREAM_MAX_REQUEST + STREAM_MAC_BYTES)
#define STREAM_CLIENT_EARLY_BYTES 256 /* what is sent before the client has proved anything */

enum stream_client_state {
	STREAM_CLIENT_NONE, /* the slot is free */
	STREAM_CLIENT_HANDSHAKE,
	STREAM_CLIENT_LISTED,
	STREAM_CLIENT_OPENED,
	STREAM_CLIENT_SENDING,
};

/* What all clients can have. */
struct stream_offer {
	struct stream_process process;
	struct stream_file file[STREAM_CLIENT_MAX_FILES]; /* in the order of their numbers */
	uint32_t n_files;
	uint8_t token_key[STREAM_KEY_BYTES];
	bool needs_token;
};

/* Memory for a client that has proved that it knows the token. */
struct stream_client_memory {
	bool is_taken;
	uint8_t *out; /* STREAM_CLIENT_OUT_BYTES */
	struct stream_sent *sent; /* STREAM_SOURCE_MAX_BLOCKS */
};

struct stream_client {
	enum stream_client_state state;
	int fd;
	struct sockaddr_in6 peer;
	uint64_t began_ns;
	uint64_t last_sent_ns;
	uint64_t retry_ns; /* the socket is full: pause before the next try; 0: it has room */
	struct stream_handshake handshake;
	struct stream_seal in, out; /* of the frames of each direction, since LISTED */
	uint8_t in_buf[STREAM_CLIENT_IN_BYTES];
	size_t n_in;
	uint8_t early[STREAM_CLIENT_EARLY_BYTES];
	size_t out_bytes, out_done; /* of the frame being sent: its length, and how much is sent */
	struct stream_client_memory *memory; /* NULL in HANDSHAKE */
	const struct stream_file *file; /* since OPENED */
	struct stream_source source; /* since SENDING */
	bool has_seen_end; /* the client has answered END */
	const char *why; /* a constant: why the connection is to be closed; NULL: it is not */
};

/* Begins with a connection that was accepted: sends HELLO. */
void stream_client_begin(struct stream_client *c, int fd, const struct sockaddr_in6 *peer,
			 const struct stream_offer *offer, uint64_t now_ns);

/* Receives and sends what is possible at once, about 1 MiB at most. A client that proves that it
 * knows the token takes one of the n_memory elements; if all are taken, the client is refused.
 * False: the connection is over (c->why says why; NULL: the client left), and stream_client_end()
 * must come next. */
bool stream_client_step(struct stream_client *c, const struct stream_offer *offer,
			struct stream_client_memory *memory, unsigned n_memory, uint64_t now_ns);

/* Closes the connection and frees the slot. */
void stream_client_end(struct stream_client *c);

/* How long the writer may sleep before this client needs the next step. */
uint64_t stream_client_pause_ns(const struct stream_client *c, uint64_t now_ns);

/* Does the client lack something that the writer could send now? After the end of the recording:
 * until the client has answered END. */
bool stream_client_is_behind(const struct stream_client *c);

#endif
