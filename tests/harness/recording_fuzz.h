/* harness/recording_fuzz.h - bytes of a fuzzer as a recording, for the targets that read recordings.
 *
 * Checksums would stop most inputs at once, so the first byte chooses: even - the rest is the file as
 * it stands; odd - the rest is a list of chunks that is given right headers and checksums here, so
 * that the contents are reached:
 *	u8 type, u8 flags, u16 length, then length bytes of payload
 * and in EVENTS and AREA chunks the payload is 16 bytes of block header fields, then events.
 */
#ifndef HARNESS_RECORDING_FUZZ_H
#define HARNESS_RECORDING_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "format/block.h"
#include "format/checksum.h"
#include "format/chunk.h"
#include "format/file_header.h"

#define MAX_FILE_BYTES (4u << 20)
#define BLOCK_FIELDS_BYTES 16
#define FLAG_BAD_CHECKSUM 0x80 /* in our flags byte: leave the payload's checksum wrong */

static uint8_t file[MAX_FILE_BYTES];
static size_t file_len;
static uint64_t n_blocks;

static void put(const void *bytes, size_t len)
{
	if (len > sizeof(file) - file_len)
		return;
	if (bytes)
		memcpy(file + file_len, bytes, len);
	else
		memset(file + file_len, 0, len);
	file_len += len;
}

static void begin_file(uint32_t flags)
{
	struct file_header h = {
		.version_major = FORMAT_VERSION_MAJOR,
		.header_bytes = FORMAT_HEADER_BYTES,
		.pointer_bytes = 8,
		.start_ticks = 1000,
		.clock_source = 1 + (flags >> 1 & 1),
		.block_bytes = FORMAT_BLOCK_BYTES,
		.flags = flags,
	};
	struct file_status s = {.sequence = 1};

	file_len = 0;
	n_blocks = 0;
	put(NULL, FORMAT_HEADER_BYTES);
	file_header_encode(&h, file);
	s.field[STATUS_TICKS] = 5000;
	s.field[STATUS_MONOTONIC_NS] = 20000;
	s.field[STATUS_END_OF_CHUNKS] = flags & 4 ? UINT64_MAX : FORMAT_HEADER_BYTES;
	s.field[STATUS_STATE] = flags >> 3 & 3;
	if (!(flags & 32))
		file_status_encode(&s, file);
}

/* A block header with right checksum from a few bytes of the input. */
static void put_block_head(struct cursor *c, uint32_t state, size_t used_bytes)
{
	uint8_t head[BLOCK_HEADER_BYTES] = {0};
	uint8_t same_sequence;

	store_le32(head, BLOCK_MAGIC);
	store_le32(head + 4, state);
	store_le32(head + 16, 1 + cursor_u8(c) % 8); /* thread */
	store_le32(head + 20, cursor_u8(c) % 5); /* lane, one too many */
	store_le32(head + 24, 100); /* tid */
	store_le32(head + 28, cursor_u8(c)); /* lane_index */
	same_sequence = cursor_u8(c);
	store_le64(head + 8, same_sequence & 1 ? n_blocks : ++n_blocks);
	store_le64(head + 32, cursor_u32(c)); /* start_ticks */
	store_le32(head + 40, cursor_u32(c)); /* first_stack */
	store_le32(head + 44, cursor_u16(c)); /* generation */
	store_le64(head + 48, cursor_u16(c)); /* lost_before */
	store_le32(head + 56, (uint32_t)used_bytes);
	store_le32(head + 60, block_checksum(head));
	put(head, sizeof(head));
}

static void put_chunk(unsigned type, unsigned flags, const uint8_t *payload, size_t len)
{
	struct chunk_header h = {.type = (uint16_t)type, .flags = flags & 3};
	struct cursor c = cursor_make(payload, len);
	size_t head_at = file_len;
	bool has_block = (type == CHUNK_EVENTS || type == CHUNK_AREA) && len >= BLOCK_FIELDS_BYTES;

	put(NULL, CHUNK_HEADER_BYTES);
	h.raw_bytes = (uint32_t)len;
	if (has_block) {
		h.raw_bytes = (uint32_t)len - BLOCK_FIELDS_BYTES;
		if (flags & CHUNK_FLAG_LZ4)
			h.raw_bytes *= 4;
		put_block_head(&c, type == CHUNK_AREA ? 1 + (flags >> 2 & 1) : 0,
			       len - BLOCK_FIELDS_BYTES);
		put(payload + BLOCK_FIELDS_BYTES, len - BLOCK_FIELDS_BYTES);
	} else {
		put(payload, len);
	}
	h.stored_bytes = (uint32_t)(file_len - head_at - CHUNK_HEADER_BYTES);
	h.payload_checksum = checksum_bytes(file + head_at + CHUNK_HEADER_BYTES, h.stored_bytes) ^
			     !!(flags & FLAG_BAD_CHECKSUM);
	if (head_at + CHUNK_HEADER_BYTES <= sizeof(file))
		chunk_encode(&h, file + head_at);
	put(NULL, align_up(file_len, 8) - file_len);
}

static void build(const uint8_t *data, size_t len)
{
	struct cursor c = cursor_make(data, len);

	begin_file(cursor_u8(&c));
	while (cursor_left(&c) >= 4 && file_len < sizeof(file) - 70000) {
		unsigned type = cursor_u8(&c) % 14;
		unsigned flags = cursor_u8(&c);
		size_t n = cursor_u16(&c);

		if (n > cursor_left(&c))
			n = cursor_left(&c);
		put_chunk(type, flags, cursor_take(&c, n), n);
	}
}

/* The recording of an input, as a file in memory; the path stays the same. NULL: there is none. */
static const char *recording_of(const uint8_t *data, size_t size_bytes)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("recording", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (size_bytes < 2)
		return NULL;
	if (data[0] & 1) {
		build(data + 1, size_bytes - 1);
	} else {
		file_len = 0;
		put(data + 1, size_bytes - 1);
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, file, file_len, 0) != (ssize_t)file_len)
		abort();
	return path;
}

#endif
