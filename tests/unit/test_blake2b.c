/* BLAKE2b against the vectors of RFC 7693 and of the reference implementation. */
#include "base/blake2b.h"

#include <stdio.h>
#include <string.h>

#include "harness/test.h"

static void hash(const void *data, size_t len, size_t key_bytes, size_t hash_bytes, char *hex)
{
	uint8_t key[64], out[64];
	struct blake2b b;

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	blake2b_init(&b, hash_bytes, key, key_bytes);
	blake2b_add(&b, data, len);
	blake2b_finish(&b, out);
	for (size_t i = 0; i < hash_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", out[i]);
}

TEST(the_example_of_rfc_7693)
{
	char hex[129];

	hash("abc", 3, 0, 64, hex);
	CHECK_STR_EQ(hex, "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
			  "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}

TEST(no_bytes_at_all)
{
	char hex[129];

	hash("", 0, 0, 64, hex);
	CHECK_STR_EQ(hex, "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
			  "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce");
}

/* blake2b-kat.txt of the reference implementation: key 00 01 .. 3f, input 00 01 02 .. */
TEST(keyed_hashes_of_the_reference_implementation)
{
	uint8_t in[256];
	char hex[129];

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	hash(in, 0, 64, 64, hex);
	CHECK_STR_EQ(hex, "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
			  "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568");
	hash(in, 255, 64, 64, hex);
	CHECK_STR_EQ(hex, "142709d62e28fcccd0af97fad0f8465b971e82201dc51070faa0372aa43e9248"
			  "4be1c1e73ba10906d5d1853db6a4106e0a7bf9800d373d6dee2d46d62ef2a461");
}

/* The bytes of RFC 7693, appendix E, that are hashed and used as keys. */
static void fill(uint8_t *out, size_t len)
{
	uint32_t a = 0xdead4bad * (uint32_t)len, b = 1, t;

	for (size_t i = 0; i < len; i++) {
		t = a + b;
		a = b;
		b = t;
		out[i] = (uint8_t)(t >> 24);
	}
}

static void add_hash(struct blake2b *all, size_t in_bytes, size_t hash_bytes, bool keyed)
{
	uint8_t in[1024], md[64], key[64];
	struct blake2b one;

	fill(in, in_bytes);
	fill(key, hash_bytes);
	blake2b_init(&one, hash_bytes, key, keyed ? hash_bytes : 0);
	blake2b_add(&one, in, in_bytes);
	blake2b_finish(&one, md);
	blake2b_add(all, md, hash_bytes);
}

/* A hash over hashes of many lengths of input, key and result. */
TEST(the_self_test_of_rfc_7693)
{
	static const uint8_t expected[32] = {
		0xc2, 0x3a, 0x78, 0x00, 0xd9, 0x81, 0x23, 0xbd, 0x10, 0xf5, 0x06,
		0xc6, 0x1e, 0x29, 0xda, 0x56, 0x03, 0xd7, 0x63, 0xb8, 0xbb, 0xad,
		0x2e, 0x73, 0x7f, 0x5e, 0x76, 0x5a, 0x7b, 0xcc, 0xd4, 0x75,
	};
	static const size_t hash_bytes[4] = {20, 32, 48, 64};
	static const size_t in_bytes[6] = {0, 3, 128, 129, 255, 1024};
	struct blake2b all;
	uint8_t md[64];

	blake2b_init(&all, 32, NULL, 0);
	for (unsigned i = 0; i < 24; i++) {
		add_hash(&all, in_bytes[i % 6], hash_bytes[i / 6], false);
		add_hash(&all, in_bytes[i % 6], hash_bytes[i / 6], true);
	}
	blake2b_finish(&all, md);
	CHECK_MEM_EQ(md, expected, sizeof(expected));
}

TEST(pieces_give_the_hash_of_the_whole)
{
	uint8_t in[700], whole[32], pieces[32];
	struct blake2b b;

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 7);
	blake2b_init(&b, 32, "key", 3);
	blake2b_add(&b, in, sizeof(in));
	blake2b_finish(&b, whole);
	for (size_t step = 1; step < 300; step += 13) {
		blake2b_init(&b, 32, "key", 3);
		for (size_t at = 0; at < sizeof(in); at += step)
			blake2b_add(&b, in + at, sizeof(in) - at < step ? sizeof(in) - at : step);
		blake2b_finish(&b, pieces);
		CHECK_MEM_EQ(pieces, whole, sizeof(whole));
	}
}

TEST(a_difference_anywhere_is_seen)
{
	uint8_t a[16] = {0}, b[16] = {0};

	CHECK(blake2b_is_same(a, b, sizeof(a)));
	for (unsigned i = 0; i < sizeof(a); i++) {
		b[i] ^= 0x80;
		CHECK(!blake2b_is_same(a, b, sizeof(a)));
		b[i] ^= 0x80;
	}
}
