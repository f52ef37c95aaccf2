/* Compression of answers. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "serve/encoder.h"

struct collected {
	uint8_t bytes[1 << 20];
	size_t len, max;
};

static bool collect(void *user, const uint8_t *bytes, size_t len)
{
	struct collected *c = user;

	if (len > c->max - c->len)
		return false;
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
	return true;
}

static size_t gunzip(const struct collected *c, uint8_t *out, size_t cap)
{
	z_stream z = {0};
	size_t n;

	CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)c->bytes;
	z.avail_in = (uInt)c->len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
	n = cap - z.avail_out;
	inflateEnd(&z);
	return n;
}

static void round_trip(enum encoding e)
{
	static uint8_t text[300000], back[300001];
	struct collected *c = calloc(1, sizeof(*c));
	struct encoder *enc = NULL;
	struct err err = {0};
	size_t n;

	c->max = sizeof(c->bytes);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("{\"size\":12345}"[i % 14] + (i % 977 == 0));
	CHECK_OK(encoder_create(e, collect, c, &enc, &err));
	for (size_t at = 0, step = 1; at < sizeof(text); at += step, step = step * 3 % 70001 + 1) {
		if (step > sizeof(text) - at)
			step = sizeof(text) - at;
		CHECK(encoder_write(enc, text + at, step));
	}
	CHECK(encoder_finish(enc));
	encoder_destroy(enc);
	if (e == ENCODING_GZIP) {
		n = gunzip(c, back, sizeof(back));
	} else if (e == ENCODING_ZSTD) {
		n = ZSTD_decompress(back, sizeof(back), c->bytes, c->len);
	} else {
		n = c->len;
		memcpy(back, c->bytes, n);
	}
	CHECK_EQ(n, sizeof(text));
	CHECK_MEM_EQ(back, text, sizeof(text));
	if (e != ENCODING_NONE)
		CHECK(c->len < sizeof(text) / 4);
	free(c);
}

TEST(what_goes_in_comes_out_again)
{
	round_trip(ENCODING_NONE);
	round_trip(ENCODING_GZIP);
	round_trip(ENCODING_ZSTD);
}

TEST(a_sink_that_is_full_ends_the_writing)
{
	static uint8_t noise[200000];
	struct collected *c = calloc(1, sizeof(*c));
	uint64_t x = 1;

	for (size_t i = 0; i < sizeof(noise); i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		noise[i] = (uint8_t)(x >> 56);
	}
	c->max = 50000;
	for (enum encoding e = ENCODING_NONE; e <= ENCODING_ZSTD; e++) {
		struct encoder *enc = NULL;
		struct err err = {0};

		c->len = 0;
		CHECK_OK(encoder_create(e, collect, c, &enc, &err));
		CHECK(!encoder_write(enc, noise, sizeof(noise)) || !encoder_finish(enc));
		encoder_destroy(enc);
	}
	free(c);
}

TEST(the_client_chooses_the_encoding)
{
	static const struct {
		const char *header;
		enum encoding expected;
	} table[] = {
		{NULL, ENCODING_NONE},
		{"", ENCODING_NONE},
		{"gzip", ENCODING_GZIP},
		{"GZIP, deflate", ENCODING_GZIP},
		{"gzip, deflate, br, zstd", ENCODING_ZSTD},
		{"zstd;q=0.5, gzip;q=1.0", ENCODING_ZSTD},
		{"zstd;q=0, gzip", ENCODING_GZIP},
		{"gzip;q=0.000", ENCODING_NONE},
		{"gzip;q=0.001", ENCODING_GZIP},
		{"xgzip, zstdx", ENCODING_NONE},
		{"identity;q=1, *;q=0", ENCODING_NONE},
		{",,,gzip", ENCODING_GZIP},
		{"gzip;q=", ENCODING_GZIP},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		CHECK_EQ(encoding_choose(table[i].header), table[i].expected);
}
