/* format/stream_frame.h - how a recorder and a client talk over TCP; docs/STREAM.md is the
 * specification.
 *
 * A connection carries frames. Before both sides have proved that they know the token, a frame is
 * plain; afterwards each frame ends in a code that only the two can make (a MAC), and that counts
 * the frames, so that none can be changed, left out, repeated or moved.
 *
 * Works on memory of the caller; the recorder and the client both use it.
 */
#ifndef FORMAT_STREAM_FRAME_H
#define FORMAT_STREAM_FRAME_H

#include "base/compiler.h"

#define STREAM_VERSION 1
#define STREAM_MAGIC "MPSTREAM" /* the first bytes of the payload of HELLO; 8 bytes */
#define STREAM_DEFAULT_PORT 8100
#define STREAM_N_PORTS 100
#define STREAM_HEAD_BYTES 8
#define STREAM_MAC_BYTES 16
#define STREAM_KEY_BYTES 32
#define STREAM_NONCE_BYTES 32
#define STREAM_PROOF_BYTES 32
#define STREAM_MIN_TOKEN_BYTES 16 /* a shorter one can be guessed */
#define STREAM_MAX_PAYLOAD (66u * 1024) /* what a recorder sends */
#define STREAM_MAX_REQUEST 256 /* what a client sends */
#define STREAM_MAX_NAME 64 /* of an executable, in PROCESS */

enum stream_frame_type {
	STREAM_HELLO = 1, /* recorder: magic, u32 version, u32 flags, nonce */
	STREAM_PROOF = 2, /* client: u32 version, u32 zero, nonce, proof */
	STREAM_REFUSED = 3, /* recorder: text; the connection ends */
	STREAM_WELCOME = 4, /* recorder: proof. All later frames have a MAC, both ways */
	STREAM_PROCESS = 5, /* recorder: struct stream_process */
	STREAM_OPEN = 6, /* client: u32 number of a piece */
	STREAM_PIECE = 7, /* recorder: struct stream_piece */
	STREAM_START = 8, /* client: u64 offset from which the client needs the piece */
	STREAM_DATA = 9, /* recorder: u64 offset, bytes of the file */
	STREAM_BLOCK = 10, /* recorder: u64 offset, u32 from, u32 zero, header, event bytes */
	STREAM_PIECE_END = 11, /* recorder: u32 piece; the client has all of it */
	STREAM_END = 12, /* recorder: the process is ending in order; a little may follow */
	STREAM_GONE = 13, /* recorder: u32 piece, u32 first piece that is left */
	STREAM_IDLE = 14, /* recorder: nothing new; the connection works */
	STREAM_ACK = 15, /* client, reserved: u32 piece, u32 zero, u64 offset. Is ignored */
	STREAM_SEEN_END = 16, /* client: it has written all that came before END */
};

#define STREAM_NEEDS_TOKEN 1u /* flag in HELLO */
#define STREAM_WANTS_ACKS 1u /* flag in PIECE. Reserved: no recorder sets it */

struct stream_frame {
	unsigned type;
	uint8_t *payload; /* in the buffer that was parsed */
	size_t n_bytes; /* of the payload */
};

/* One direction of a connection. Zeroed: frames have no MAC yet. */
struct stream_seal {
	uint8_t key[STREAM_KEY_BYTES];
	uint64_t n_frames; /* so far */
	bool is_on;
};

/* Completes the frame whose payload begins at buf + STREAM_HEAD_BYTES. The buffer has
 * STREAM_MAC_BYTES of room behind the payload. Returns the bytes of the whole frame. */
size_t stream_frame_seal(struct stream_seal *s, unsigned type, uint8_t *buf, size_t payload_bytes);

enum stream_parse {
	STREAM_PARSE_MORE, /* the frame is not complete */
	STREAM_PARSE_OK,
	STREAM_PARSE_BAD, /* too long, or not made by the other side: end the connection */
};

/* Looks for a whole frame at the start of buf. On OK *used is its length. *ret is written on OK
 * only. */
enum stream_parse stream_frame_parse(struct stream_seal *s, uint8_t *buf, size_t len,
				     size_t max_payload, struct stream_frame *ret, size_t *used);

/* What both sides know after the client's PROOF. */
struct stream_handshake {
	uint8_t token_key[STREAM_KEY_BYTES];
	uint8_t recorder_nonce[STREAM_NONCE_BYTES];
	uint8_t client_nonce[STREAM_NONCE_BYTES];
};

/* The key of a token. "" where the recorder has none: then anybody can make it. */
void stream_token_key(const char *token, uint8_t key[STREAM_KEY_BYTES]);

enum stream_role {
	STREAM_CLIENT,
	STREAM_RECORDER
};

/* What proves that the one in this role knows the token. */
void stream_handshake_proof(const struct stream_handshake *h, enum stream_role who,
			    uint8_t proof[STREAM_PROOF_BYTES]);

/* Turns the MAC on for the frames that this role sends. */
void stream_handshake_seal(const struct stream_handshake *h, enum stream_role sender,
			   struct stream_seal *s);

#endif
