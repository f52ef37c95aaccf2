/* The first page of a recording. */
#include "harness/test.h"

#include <string.h>

#include "base/bytes.h"
#include "format/checksum.h"
#include "format/file_header.h"

static const struct file_header sample = {
	.version_major = FORMAT_VERSION_MAJOR,
	.version_minor = 7,
	.features_optional = 0x80,
	.pointer_bytes = 8,
	.machine = 62,
	.page_bytes = 4096,
	.recording_id = "0123456789abcdef",
	.start_ticks = 11,
	.start_monotonic_ns = 22,
	.start_realtime_ns = 33,
	.clock_source = FORMAT_CLOCK_CPU,
	.pid = 4711,
	.block_bytes = FORMAT_BLOCK_BYTES,
	.flags = FORMAT_LATE_START,
	.header_bytes = FORMAT_HEADER_BYTES,
};

TEST(header_fields_are_where_the_format_says)
{
	static const uint8_t magic[8] = {0x89, 0x4d, 0x50, 0x52, 0x4f, 0x46, 0x0a, 0x1a};
	uint8_t page[FILE_HEADER_FIXED_BYTES];

	file_header_encode(&sample, page);
	CHECK_MEM_EQ(page, magic, 8);
	CHECK_EQ(load_le16(page + 8), 4);
	CHECK_EQ(load_le16(page + 10), 7);
	CHECK_EQ(load_le32(page + 12), 4096);
	CHECK_EQ(load_le64(page + 24), 0x80);
	CHECK_EQ(page[32], 1);
	CHECK_EQ(page[33], 8);
	CHECK_EQ(load_le16(page + 34), 62);
	CHECK_EQ(load_le32(page + 36), 4096);
	CHECK_MEM_EQ(page + 40, "0123456789abcdef", 16);
	CHECK_EQ(load_le64(page + 56), 11);
	CHECK_EQ(load_le64(page + 64), 22);
	CHECK_EQ(load_le64(page + 72), 33);
	CHECK_EQ(load_le32(page + 80), 1);
	CHECK_EQ(load_le32(page + 84), 4711);
	CHECK_EQ(load_le32(page + 88), 65536);
	CHECK_EQ(load_le32(page + 92), 1);
	CHECK_EQ(load_le32(page + 124), checksum_bytes(page, 124));
}

TEST(header_comes_back_as_it_was)
{
	uint8_t *page = guard_buf_create(NULL, FILE_HEADER_FIXED_BYTES);
	struct file_header h;

	file_header_encode(&sample, page);
	CHECK_EQ(file_header_decode(page, FILE_HEADER_FIXED_BYTES, &h), FILE_HEADER_OK);
	CHECK_EQ(h.version_minor, 7);
	CHECK_EQ(h.start_realtime_ns, 33);
	CHECK_EQ(h.flags, FORMAT_LATE_START);
	CHECK_MEM_EQ(h.recording_id, sample.recording_id, 16);
	guard_buf_destroy(page, FILE_HEADER_FIXED_BYTES);
}

TEST(every_cut_and_every_flipped_byte_gives_the_right_reason)
{
	uint8_t page[FILE_HEADER_FIXED_BYTES];
	struct file_header h;

	file_header_encode(&sample, page);
	for (size_t len = 0; len < sizeof(page); len++) {
		uint8_t *cut = guard_buf_create(page, len);

		CHECK_EQ(file_header_decode(cut, len, &h), FILE_HEADER_SHORT);
		guard_buf_destroy(cut, len);
	}
	for (size_t i = 0; i < sizeof(page); i++) {
		page[i] ^= 0xff;
		CHECK_EQ(file_header_decode(page, sizeof(page), &h),
			 i < 8 ? FILE_HEADER_FOREIGN : FILE_HEADER_DAMAGED);
		page[i] ^= 0xff;
	}
}

TEST(other_versions_and_unknown_required_features_are_errors)
{
	uint8_t page[FILE_HEADER_FIXED_BYTES];
	struct file_header h = sample, back;

	h.version_major = FORMAT_VERSION_MAJOR + 1;
	file_header_encode(&h, page);
	CHECK_EQ(file_header_decode(page, sizeof(page), &back), FILE_HEADER_NEWER);
	CHECK_EQ(back.version_major, FORMAT_VERSION_MAJOR + 1);
	h.version_major = FORMAT_VERSION_MAJOR - 1; /* its calls are laid out in another way */
	file_header_encode(&h, page);
	CHECK_EQ(file_header_decode(page, sizeof(page), &back), FILE_HEADER_OLDER);
	CHECK_EQ(back.version_major, FORMAT_VERSION_MAJOR - 1);
	h = sample;
	h.features_required = 1ull << 40;
	file_header_encode(&h, page);
	CHECK_EQ(file_header_decode(page, sizeof(page), &back), FILE_HEADER_NEWER);
	h = sample;
	h.version_minor = 99; /* additions that may be ignored */
	file_header_encode(&h, page);
	CHECK_EQ(file_header_decode(page, sizeof(page), &back), FILE_HEADER_OK);
}

TEST(the_newer_valid_status_counts)
{
	uint8_t *page = guard_buf_create(NULL, FORMAT_HEADER_BYTES);
	struct file_status s = {.sequence = 1}, back = {.sequence = 99};

	CHECK(!file_status_decode(page, FORMAT_HEADER_BYTES, &back));
	CHECK_EQ(back.sequence, 99);
	s.field[STATUS_STATE] = 100;
	file_status_encode(&s, page);
	s.sequence = 2;
	s.field[STATUS_STATE] = 200;
	file_status_encode(&s, page);
	CHECK(file_status_decode(page, FORMAT_HEADER_BYTES, &back));
	CHECK_EQ(back.field[STATUS_STATE], 200);
	page[1024 + 3 * 8] ^= 1; /* slot 0 holds sequence 2 */
	CHECK(file_status_decode(page, FORMAT_HEADER_BYTES, &back));
	CHECK_EQ(back.sequence, 1);
	CHECK_EQ(back.field[STATUS_STATE], 100);
	page[1536] ^= 1;
	CHECK(!file_status_decode(page, FORMAT_HEADER_BYTES, &back));
	guard_buf_destroy(page, FORMAT_HEADER_BYTES);
}

TEST(a_page_that_is_cut_has_the_status_that_is_whole)
{
	uint8_t *page = guard_buf_create(NULL, 1536);
	uint8_t full[FORMAT_HEADER_BYTES] = {0};
	struct file_status s = {.sequence = 2}, back;

	file_status_encode(&s, full);
	s.sequence = 3;
	file_status_encode(&s, full);
	memcpy(page, full, 1536);
	CHECK(file_status_decode(page, 1536, &back));
	CHECK_EQ(back.sequence, 2);
	CHECK(!file_status_decode(page, 1535, &back));
	guard_buf_destroy(page, 1536);
}
