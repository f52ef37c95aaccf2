/* Chunk headers: worked bytes, limits, finding the next one after damage. */
#include "harness/test.h"

#include <string.h>

#include "base/bytes.h"
#include "format/checksum.h"
#include "format/chunk.h"

static const struct chunk_header sample = {
	.type = CHUNK_EVENTS,
	.flags = CHUNK_FLAG_LZ4,
	.stored_bytes = 0x01020304,
	.raw_bytes = 0x00fedcba,
	.sequence = 0x1122334455667788,
	.payload_checksum = 0xdeadbeef,
};

TEST(header_has_these_bytes)
{
	static const uint8_t bytes[28] = {
		'M',  'P',  'C',  'K',  0x03, 0x00, 0x01, 0x00, 0x04, 0x03, 0x02, 0x00, 0xba, 0xdc,
		0xfe, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xef, 0xbe, 0xad, 0xde};
	struct chunk_header h = sample;
	uint8_t out[CHUNK_HEADER_BYTES];

	h.stored_bytes = 0x00020304;
	chunk_encode(&h, out);
	CHECK_MEM_EQ(out, bytes, sizeof(bytes));
	CHECK_EQ(load_le32(out + 28), checksum_bytes(out, 28));
}

TEST(header_comes_back_as_it_was)
{
	struct chunk_header h = sample, back;
	uint8_t *out = guard_buf_create(NULL, CHUNK_HEADER_BYTES);

	h.stored_bytes = FORMAT_CHUNK_MAX_BYTES;
	chunk_encode(&h, out);
	CHECK(chunk_decode(out, &back));
	CHECK_EQ(back.type, h.type);
	CHECK_EQ(back.flags, h.flags);
	CHECK_EQ(back.stored_bytes, h.stored_bytes);
	CHECK_EQ(back.raw_bytes, h.raw_bytes);
	CHECK_EQ(back.sequence, h.sequence);
	CHECK_EQ(back.payload_checksum, h.payload_checksum);
	guard_buf_destroy(out, CHUNK_HEADER_BYTES);
}

TEST(every_flipped_bit_is_noticed)
{
	struct chunk_header h = sample, back;
	uint8_t out[CHUNK_HEADER_BYTES];

	h.stored_bytes = 100;
	chunk_encode(&h, out);
	for (unsigned bit = 0; bit < 8 * CHUNK_HEADER_BYTES; bit++) {
		out[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!chunk_decode(out, &back));
		out[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CHECK(chunk_decode(out, &back));
}

TEST(only_area_and_pad_may_be_large)
{
	struct chunk_header h = {.type = CHUNK_EVENTS, .stored_bytes = 16 * 1024 * 1024 + 1};
	struct chunk_header back;
	uint8_t out[CHUNK_HEADER_BYTES];

	chunk_encode(&h, out);
	CHECK(!chunk_decode(out, &back));
	h.type = CHUNK_AREA;
	chunk_encode(&h, out);
	CHECK(chunk_decode(out, &back));
	h = (struct chunk_header){.type = CHUNK_MAPS, .raw_bytes = 16 * 1024 * 1024 + 1};
	chunk_encode(&h, out);
	CHECK(!chunk_decode(out, &back));
}

TEST(total_counts_header_and_padding)
{
	struct chunk_header h = {.stored_bytes = 0};

	CHECK_EQ(chunk_total_bytes(&h), 32);
	h.stored_bytes = 1;
	CHECK_EQ(chunk_total_bytes(&h), 40);
	h.stored_bytes = 8;
	CHECK_EQ(chunk_total_bytes(&h), 40);
	h.stored_bytes = UINT32_MAX;
	CHECK_EQ(chunk_total_bytes(&h), 0x100000020ull);
}

TEST(checksum_is_the_specified_one)
{
	/* by hand from docs/FORMAT.md 1.3: h = K ^ 0, then the finish alone */
	uint64_t h = 0x9e3779b97f4a7c15ull;

	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	CHECK_EQ(checksum_bytes("", 0), (uint32_t)(h ^ h >> 32));
	CHECK_EQ(checksum_bytes("a", 1), 0x2cebae39u);
	CHECK_EQ(checksum_bytes("123456789", 9), 0x4ea045beu);
	CHECK_NE(checksum_bytes("a\0", 2), checksum_bytes("a", 1)); /* the length counts */
}

/* Values of a program in another language, made from docs/FORMAT.md 1.3. */
TEST(checksum_of_long_data_is_the_specified_one)
{
	uint8_t data[1100];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(7 * i + 3);
	CHECK_EQ(checksum_bytes(data, 1023), 0x266579cdu);
	CHECK_EQ(checksum_bytes(data, 1024), 0x84033e69u);
	CHECK_EQ(checksum_bytes(data, 1055), 0x06aa60a1u);
	CHECK_EQ(checksum_bytes(data, 1100), 0xdd91118au);
}

/* One bit anywhere, and two words in each other's place. */
TEST(checksum_of_long_data_sees_every_change)
{
	uint64_t data[160];
	uint32_t sum;

	for (unsigned i = 0; i < ARRAY_LEN(data); i++)
		data[i] = i * 0x0101010101010101ull;
	sum = checksum_bytes(data, sizeof(data));
	for (unsigned i = 0; i < 64 * ARRAY_LEN(data); i++) {
		data[i / 64] ^= 1ull << (i % 64);
		CHECK_NE(checksum_bytes(data, sizeof(data)), sum);
		data[i / 64] ^= 1ull << (i % 64);
	}
	for (unsigned i = 1; i < ARRAY_LEN(data); i++) {
		uint64_t first = data[0];

		data[0] = data[i];
		data[i] = first;
		CHECK_NE(checksum_bytes(data, sizeof(data)), sum);
		data[i] = data[0];
		data[0] = first;
	}
}

TEST(payload_is_checked_unless_the_flag_says_otherwise)
{
	struct chunk_header h = {.stored_bytes = 4, .payload_checksum = checksum_bytes("data", 4)};

	CHECK(chunk_payload_ok(&h, (const uint8_t *)"data"));
	CHECK(!chunk_payload_ok(&h, (const uint8_t *)"dota"));
	h.flags = CHUNK_FLAG_UNCHECKED;
	CHECK(chunk_payload_ok(&h, (const uint8_t *)"dota"));
}

TEST(search_finds_the_next_header_at_a_multiple_of_8)
{
	size_t len = 256;
	uint8_t *buf = guard_buf_create(NULL, len);
	struct chunk_header h = {.type = CHUNK_NOTE, .stored_bytes = 3};

	chunk_encode(&h, buf + 104);
	CHECK_EQ(chunk_search(buf, len, 0), 104);
	CHECK_EQ(chunk_search(buf, len, 97), 104);
	CHECK_EQ(chunk_search(buf, len, 104), 104);
	CHECK_EQ(chunk_search(buf, len, 105), len);
	memset(buf + 104, 0, 32);
	chunk_encode(&h, buf + 100); /* not at a multiple */
	CHECK_EQ(chunk_search(buf, len, 0), len);
	memset(buf + 100, 0, 32);
	chunk_encode(&h, buf + len - 32); /* the last place where one fits */
	CHECK_EQ(chunk_search(buf, len, 0), len - 32);
	store_le32(buf, CHUNK_MAGIC); /* the magic alone does not count */
	CHECK_EQ(chunk_search(buf, len, 0), len - 32);
	CHECK_EQ(chunk_search(buf, 31, 0), 31);
	guard_buf_destroy(buf, len);
}
