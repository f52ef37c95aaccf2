/* Frames of the stream: what is accepted, and what nobody but the two can make. */
#include "format/stream_frame.h"

#include <string.h>

#include "harness/guard.h"
#include "harness/test.h"

static struct stream_handshake handshake_of(const char *token)
{
	struct stream_handshake h;

	memset(&h, 0, sizeof(h));
	stream_token_key(token, h.token_key);
	memset(h.recorder_nonce, 1, sizeof(h.recorder_nonce));
	memset(h.client_nonce, 2, sizeof(h.client_nonce));
	return h;
}

/* Both ends of the direction from the recorder to the client. */
static void connect_ends(struct stream_seal *sender, struct stream_seal *receiver)
{
	struct stream_handshake h = handshake_of("a token of 23 characters");

	stream_handshake_seal(&h, STREAM_RECORDER, sender);
	stream_handshake_seal(&h, STREAM_RECORDER, receiver);
}

static size_t make_frame(struct stream_seal *s, uint8_t *buf, const char *text)
{
	memcpy(buf + STREAM_HEAD_BYTES, text, strlen(text));
	return stream_frame_seal(s, STREAM_DATA, buf, strlen(text));
}

TEST(a_frame_comes_out_as_it_went_in)
{
	struct stream_seal sender, receiver;
	struct stream_frame f;
	uint8_t buf[64];
	size_t used = 0;

	connect_ends(&sender, &receiver);
	for (int i = 0; i < 3; i++) {
		size_t len = make_frame(&sender, buf, "some bytes");

		CHECK_EQ(stream_frame_parse(&receiver, buf, len, 100, &f, &used), STREAM_PARSE_OK);
		CHECK_EQ(used, len);
		CHECK_EQ(f.type, STREAM_DATA);
		CHECK_EQ(f.n_bytes, 10);
		CHECK_MEM_EQ(f.payload, "some bytes", 10);
	}
}

TEST(a_frame_that_is_not_complete_waits_for_more)
{
	struct stream_seal plain = {0};
	struct stream_frame f;
	uint8_t buf[64];
	size_t used, len = make_frame(&plain, buf, "some bytes");

	for (size_t n = 0; n < len; n++) {
		uint8_t *exact = guard_buf_create(buf, n);

		CHECK_EQ(stream_frame_parse(&plain, exact, n, 100, &f, &used), STREAM_PARSE_MORE);
		guard_buf_destroy(exact, n);
	}
}

TEST(a_frame_longer_than_the_limit_is_bad_at_once)
{
	struct stream_seal plain = {0};
	struct stream_frame f;
	uint8_t head[8] = {STREAM_DATA, 0, 0, 0, 101, 0, 0, 0};
	size_t used;

	CHECK_EQ(stream_frame_parse(&plain, head, sizeof(head), 100, &f, &used), STREAM_PARSE_BAD);
}

TEST(any_changed_bit_is_noticed)
{
	struct stream_seal sender, receiver;
	struct stream_frame f;
	uint8_t buf[64], copy[64];
	size_t used, len;

	connect_ends(&sender, &receiver);
	len = make_frame(&sender, buf, "some bytes");
	for (size_t bit = 0; bit < len * 8; bit++) {
		memcpy(copy, buf, len);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK_NE(stream_frame_parse(&receiver, copy, len, 100, &f, &used), STREAM_PARSE_OK);
	}
	CHECK_EQ(stream_frame_parse(&receiver, buf, len, 100, &f, &used), STREAM_PARSE_OK);
}

TEST(a_frame_that_is_repeated_or_left_out_is_noticed)
{
	struct stream_seal sender, receiver;
	struct stream_frame f;
	uint8_t first[64], second[64];
	size_t used, n_first, n_second;

	connect_ends(&sender, &receiver);
	n_first = make_frame(&sender, first, "first");
	n_second = make_frame(&sender, second, "second");
	CHECK_EQ(stream_frame_parse(&receiver, second, n_second, 100, &f, &used), STREAM_PARSE_BAD);
	CHECK_EQ(stream_frame_parse(&receiver, first, n_first, 100, &f, &used), STREAM_PARSE_OK);
	CHECK_EQ(stream_frame_parse(&receiver, first, n_first, 100, &f, &used), STREAM_PARSE_BAD);
	CHECK_EQ(stream_frame_parse(&receiver, second, n_second, 100, &f, &used), STREAM_PARSE_OK);
}

TEST(a_frame_of_the_other_direction_is_noticed)
{
	struct stream_handshake h = handshake_of("a token of 23 characters");
	struct stream_seal sender, receiver;
	struct stream_frame f;
	uint8_t buf[64];
	size_t used, len;

	stream_handshake_seal(&h, STREAM_CLIENT, &sender);
	stream_handshake_seal(&h, STREAM_RECORDER, &receiver);
	len = make_frame(&sender, buf, "mirrored");
	CHECK_EQ(stream_frame_parse(&receiver, buf, len, 100, &f, &used), STREAM_PARSE_BAD);
}

TEST(proofs_depend_on_the_token_the_role_and_both_nonces)
{
	struct stream_handshake h = handshake_of("a token of 23 characters");
	struct stream_handshake other = handshake_of("b token of 23 characters");
	uint8_t proof[STREAM_PROOF_BYTES], again[STREAM_PROOF_BYTES];

	stream_handshake_proof(&h, STREAM_CLIENT, proof);
	stream_handshake_proof(&h, STREAM_CLIENT, again);
	CHECK_MEM_EQ(proof, again, sizeof(proof));
	stream_handshake_proof(&other, STREAM_CLIENT, again);
	CHECK(memcmp(proof, again, sizeof(proof)) != 0);
	stream_handshake_proof(&h, STREAM_RECORDER, again);
	CHECK(memcmp(proof, again, sizeof(proof)) != 0);
	other = h;
	other.recorder_nonce[31] ^= 1;
	stream_handshake_proof(&other, STREAM_CLIENT, again);
	CHECK(memcmp(proof, again, sizeof(proof)) != 0);
	other = h;
	other.client_nonce[0] ^= 1;
	stream_handshake_proof(&other, STREAM_CLIENT, again);
	CHECK(memcmp(proof, again, sizeof(proof)) != 0);
}
