/* record/stream_client.h - one connection to the embedded server, from the recorder's side.
 *
 *	HANDSHAKE  HELLO is sent; the client must answer with a proof that it knows the token
 *	LISTED     it has proved it, and knows which pieces there are; it opens one
 *	OPENED     it knows what the piece is; it says from which offset it needs it
 *	SENDING    it gets the piece
 *
 * A client costs the writer what fits into one frame each way, whatever it sends or does not read.
 * Nothing here waits. Threads: the writer.
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
	uint64_t retry_ns; /* the peer takes nothing: how long until the next try; 0: it takes */
	struct stream_handshake handshake;
	struct stream_seal in, out;
	uint8_t in_buf[STREAM_CLIENT_IN_BYTES];
	size_t n_in;
	uint8_t early[STREAM_CLIENT_EARLY_BYTES];
	size_t out_bytes, out_done; /* of the frame that is on its way */
	struct stream_client_memory *memory; /* NULL in HANDSHAKE */
	const struct stream_file *file; /* since OPENED */
	struct stream_source source; /* since SENDING */
	bool has_seen_end;
	const char *why; /* the connection is to be closed; a constant */
};

/* Begins with a connection that was accepted: sends HELLO. */
void stream_client_begin(struct stream_client *c, int fd, const struct sockaddr_in6 *peer,
			 const struct stream_offer *offer, uint64_t now_ns);

/* Receives and sends what is possible at once, budget bytes at most. A client that proves that it
 * knows the token takes one of the n_memory. False: the connection is over (c->why says why, NULL:
 * the client left), and stream_client_end() must come next. */
bool stream_client_step(struct stream_client *c, const struct stream_offer *offer,
			struct stream_client_memory *memory, unsigned n_memory, uint64_t now_ns);

/* Closes the connection and frees the slot. */
void stream_client_end(struct stream_client *c);

/* How long the writer may sleep because of this client. */
uint64_t stream_client_pause_ns(const struct stream_client *c, uint64_t now_ns);

/* Will the client have all of the recording soon, but has not yet? */
bool stream_client_is_behind(const struct stream_client *c);

#endif
