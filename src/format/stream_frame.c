/* format/stream_frame.c - see stream_frame.h. */
#include "format/stream_frame.h"

#include <string.h>

#include "base/blake2b.h"
#include "base/bytes.h"

static void compute_mac(const struct stream_seal *s, const uint8_t *frame, size_t len, uint8_t *mac)
{
	struct blake2b b;
	uint8_t number[8];

	store_le64(number, s->n_frames);
	blake2b_init(&b, STREAM_MAC_BYTES, s->key, sizeof(s->key));
	blake2b_add(&b, number, sizeof(number));
	blake2b_add(&b, frame, len);
	blake2b_finish(&b, mac);
}

size_t stream_frame_seal(struct stream_seal *s, unsigned type, uint8_t *buf, size_t payload_bytes)
{
	size_t len = STREAM_HEAD_BYTES + payload_bytes;

	store_le32(buf, type);
	store_le32(buf + 4, (uint32_t)payload_bytes);
	if (!s->is_on)
		return len;
	compute_mac(s, buf, len, buf + len);
	s->n_frames++;
	return len + STREAM_MAC_BYTES;
}

enum stream_parse stream_frame_parse(struct stream_seal *s, uint8_t *buf, size_t len,
				     size_t max_payload, struct stream_frame *ret, size_t *used)
{
	uint8_t mac[STREAM_MAC_BYTES];
	size_t n_payload, total;

	if (len < STREAM_HEAD_BYTES)
		return STREAM_PARSE_MORE;
	n_payload = load_le32(buf + 4);
	if (n_payload > max_payload)
		return STREAM_PARSE_BAD;
	total = STREAM_HEAD_BYTES + n_payload + (s->is_on ? STREAM_MAC_BYTES : 0);
	if (len < total)
		return STREAM_PARSE_MORE;
	if (s->is_on) {
		compute_mac(s, buf, STREAM_HEAD_BYTES + n_payload, mac);
		if (!blake2b_is_same(mac, buf + STREAM_HEAD_BYTES + n_payload, sizeof(mac)))
			return STREAM_PARSE_BAD;
		s->n_frames++;
	}
	*ret = (struct stream_frame){
		.type = load_le32(buf),
		.payload = buf + STREAM_HEAD_BYTES,
		.n_bytes = n_payload,
	};
	*used = total;
	return STREAM_PARSE_OK;
}

void stream_token_key(const char *token, uint8_t key[STREAM_KEY_BYTES])
{
	static const char purpose[] = "memory-profiler stream token";
	struct blake2b b;

	blake2b_init(&b, STREAM_KEY_BYTES, purpose, sizeof(purpose) - 1);
	blake2b_add(&b, token, strlen(token));
	blake2b_finish(&b, key);
}

/* Hashes a purpose and both nonces with the key of the token. */
static void derive(const struct stream_handshake *h, const char *purpose, uint8_t ret[32])
{
	struct blake2b b;

	blake2b_init(&b, 32, h->token_key, sizeof(h->token_key));
	blake2b_add(&b, purpose, strlen(purpose) + 1);
	blake2b_add(&b, h->recorder_nonce, sizeof(h->recorder_nonce));
	blake2b_add(&b, h->client_nonce, sizeof(h->client_nonce));
	blake2b_finish(&b, ret);
}

void stream_handshake_proof(const struct stream_handshake *h, enum stream_role who,
			    uint8_t proof[STREAM_PROOF_BYTES])
{
	derive(h, who == STREAM_CLIENT ? "proof of the client" : "proof of the recorder", proof);
}

void stream_handshake_seal(const struct stream_handshake *h, enum stream_role sender,
			   struct stream_seal *s)
{
	derive(h, sender == STREAM_CLIENT ? "frames of the client" : "frames of the recorder",
	       s->key);
	s->n_frames = 0;
	s->is_on = true;
}
