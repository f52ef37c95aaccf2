/* recording_synth.h - builds small recordings in memory, for the tests of ingest/.
 *
 *	struct synth s; struct synth_lane a;
 *	synth_begin(&s, 0);
 *	synth_lane_begin(&a, 1, 0);
 *	synth_malloc(&a, 100, 0x1000, 32, 0);
 *	synth_flush(&s, &a, true);
 *	synth_end(&s, END_BY_EXIT);
 *	path = synth_save(&s);
 */
#ifndef UNIT_RECORDING_SYNTH_H
#define UNIT_RECORDING_SYNTH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/block.h"
#include "format/checksum.h"
#include "format/chunk.h"
#include "format/compress.h"
#include "format/event_encode.h"
#include "format/field.h"
#include "format/file_header.h"

#define SYNTH_START_TICKS 1000000ull
#define SYNTH_PID 4711

struct synth {
	uint8_t *data;
	size_t len, cap;
	uint64_t n_chunks;
	uint64_t n_blocks;
	uint64_t status_sequence;
	uint64_t last_ticks;
	char path[64];
};

struct synth_lane {
	struct event_encoder enc;
	uint32_t thread;
	uint32_t lane;
	uint32_t lane_index;
	uint32_t generation;
	uint64_t lost_before;
	uint64_t start_ticks;
	uint32_t first_stack;
	uint8_t data[BLOCK_DATA_BYTES];
};

static inline void synth_append(struct synth *s, const void *bytes, size_t len)
{
	if (s->len + len > s->cap) {
		s->cap = (s->len + len) * 2;
		s->data = realloc(s->data, s->cap);
		if (!s->data)
			abort();
	}
	if (bytes && len)
		memcpy(s->data + s->len, bytes, len);
	else if (len)
		memset(s->data + s->len, 0, len);
	s->len += len;
}

/* Writes the status with the chunks so far; the state is one of FORMAT_STATE_. */
static inline void synth_status(struct synth *s, uint64_t state)
{
	struct file_status st = {.sequence = ++s->status_sequence};

	st.field[STATUS_TICKS] = s->last_ticks;
	st.field[STATUS_MONOTONIC_NS] = 5000 + (s->last_ticks - SYNTH_START_TICKS) * 2; /* 2 ns */
	st.field[STATUS_STATE] = state;
	st.field[STATUS_END_OF_CHUNKS] = s->len;
	file_status_encode(&st, s->data);
}

static inline void synth_begin(struct synth *s, uint32_t flags)
{
	struct file_header h = {
		.version_major = FORMAT_VERSION_MAJOR,
		.header_bytes = FORMAT_HEADER_BYTES,
		.pointer_bytes = 8,
		.machine = 62,
		.page_bytes = 4096,
		.start_ticks = SYNTH_START_TICKS,
		.start_monotonic_ns = 5000,
		.start_realtime_ns = 1700000000000000000ull,
		.clock_source = FORMAT_CLOCK_CPU,
		.pid = SYNTH_PID,
		.block_bytes = FORMAT_BLOCK_BYTES,
		.flags = flags,
	};

	memset(s, 0, sizeof(*s));
	s->last_ticks = SYNTH_START_TICKS;
	synth_append(s, NULL, FORMAT_HEADER_BYTES);
	file_header_encode(&h, s->data);
}

/* Appends a chunk; raw_bytes as the header shall say. */
static inline void synth_chunk(struct synth *s, unsigned type, unsigned flags, const void *payload,
			       size_t len, size_t raw_bytes)
{
	struct chunk_header h = {
		.type = (uint16_t)type,
		.flags = (uint16_t)flags,
		.stored_bytes = (uint32_t)len,
		.raw_bytes = (uint32_t)raw_bytes,
		.sequence = s->n_chunks++,
	};
	uint8_t head[CHUNK_HEADER_BYTES];

	if (!(flags & CHUNK_FLAG_UNCHECKED))
		h.payload_checksum = checksum_bytes(payload, len);
	chunk_encode(&h, head);
	synth_append(s, head, sizeof(head));
	synth_append(s, payload, len);
	synth_append(s, NULL, align_up(len, FORMAT_CHUNK_ALIGN) - len);
}

static inline void synth_process(struct synth *s, uint64_t parent_pid)
{
	uint8_t buf[512];
	struct field_writer w = field_writer_make(buf, sizeof(buf));

	field_put_u64(&w, PROCESS_PID, SYNTH_PID);
	field_put_text(&w, PROCESS_EXECUTABLE, "/usr/bin/app");
	field_put_bytes(&w, PROCESS_CMDLINE, "app\0two words\0", 14);
	field_put_text(&w, PROCESS_ARCH, "x86_64");
	if (parent_pid)
		field_put_u64(&w, PROCESS_PARENT, parent_pid);
	synth_chunk(s, CHUNK_PROCESS, 0, buf, w.len, w.len);
}

static inline void synth_module(struct synth *s, uint64_t id, const char *path, uint64_t start,
				uint64_t end, uint64_t generation)
{
	uint8_t buf[512];
	struct field_writer w = field_writer_make(buf, sizeof(buf));

	field_put_u64(&w, MODULE_ID, id);
	field_put_text(&w, MODULE_PATH, path);
	field_put_u64(&w, MODULE_BASE, start);
	field_put_u64(&w, MODULE_START, start);
	field_put_u64(&w, MODULE_END, end);
	field_put_bytes(&w, MODULE_BUILD_ID, "\x01\x02\x03", 3);
	field_put_u64(&w, MODULE_GENERATION, generation);
	synth_chunk(s, CHUNK_MODULE, 0, buf, w.len, w.len);
}

/* Starts the next block of the lane; ids, time and index go on. */
static inline void synth_lane_reset(struct synth_lane *l)
{
	l->start_ticks = l->enc.ticks;
	l->first_stack = l->enc.next_stack;
	l->enc = (struct event_encoder){
		.pos = l->data,
		.end = l->data + sizeof(l->data),
		.ticks = l->start_ticks,
		.next_stack = l->first_stack,
	};
}

static inline void synth_lane_begin(struct synth_lane *l, uint32_t thread, uint32_t lane)
{
	memset(l, 0, offsetof(struct synth_lane, data));
	l->thread = thread;
	l->lane = lane;
	l->enc.ticks = SYNTH_START_TICKS;
	l->enc.next_stack = 1;
	synth_lane_reset(l);
}

/* kind 1 to 6, at ticks after the start. */
static inline void synth_call(struct synth_lane *l, unsigned kind, uint64_t ticks, uint64_t addr,
			      uint64_t size_bytes, uint32_t stack)
{
	struct event_call c = {
		.ticks = SYNTH_START_TICKS + ticks,
		.addr = addr,
		.size_bytes = size_bytes,
		.stack = stack,
	};

	event_put_call(&l->enc, kind, &c);
}

static inline void synth_malloc(struct synth_lane *l, uint64_t ticks, uint64_t addr, uint64_t size,
				uint32_t stack)
{
	synth_call(l, EVENT_MALLOC, ticks, addr, size, stack);
}

static inline void synth_free(struct synth_lane *l, uint64_t ticks, uint64_t addr)
{
	synth_call(l, EVENT_FREE, ticks, addr, 0, 0);
}

static inline void synth_rare(struct synth_lane *l, unsigned kind, uint64_t ticks, uint64_t field)
{
	event_put_rare(&l->enc, kind, SYNTH_START_TICKS + ticks, &field, 1);
}

/* The header of the lane's block with the bytes so far. */
static inline void synth_block_head(struct synth *s, const struct synth_lane *l, uint32_t state,
				    uint64_t sequence, uint8_t *head)
{
	memset(head, 0, BLOCK_HEADER_BYTES);
	store_le32(head, BLOCK_MAGIC);
	store_le32(head + 4, state);
	store_le64(head + 8, sequence);
	store_le32(head + 16, l->thread);
	store_le32(head + 20, l->lane);
	store_le32(head + 24, 100 + l->thread);
	store_le32(head + 28, l->lane_index);
	store_le64(head + 32, l->start_ticks);
	store_le32(head + 40, l->first_stack);
	store_le32(head + 44, l->generation);
	store_le64(head + 48, l->lost_before);
	store_le32(head + 56, (uint32_t)(l->enc.pos - l->data));
	store_le32(head + 60, block_checksum(head));
	if (l->enc.ticks > s->last_ticks)
		s->last_ticks = l->enc.ticks;
}

/* Appends the block of the lane as an EVENTS chunk under a given sequence. */
static inline void synth_events(struct synth *s, const struct synth_lane *l, uint64_t sequence,
				bool use_lz4)
{
	static uint64_t state[COMPRESS_STATE_BYTES / 8];
	static uint8_t payload[BLOCK_HEADER_BYTES + COMPRESS_BOUND(BLOCK_DATA_BYTES)];
	size_t raw = (size_t)(l->enc.pos - l->data);
	size_t len = raw;

	synth_block_head(s, l, 0, sequence, payload);
	if (use_lz4)
		len = compress_block(state, COMPRESS_WELL, l->data, raw,
				     payload + BLOCK_HEADER_BYTES,
				     sizeof(payload) - BLOCK_HEADER_BYTES);
	else
		memcpy(payload + BLOCK_HEADER_BYTES, l->data, raw);
	synth_chunk(s, CHUNK_EVENTS, use_lz4 ? CHUNK_FLAG_LZ4 : 0, payload,
		    BLOCK_HEADER_BYTES + len, raw);
}

/* Appends the lane's block and begins its next one. */
static inline void synth_flush(struct synth *s, struct synth_lane *l, bool use_lz4)
{
	synth_events(s, l, ++s->n_blocks, use_lz4);
	l->lane_index++;
	synth_lane_reset(l);
}

/* Appends an AREA (after a PAD that aligns it) with a block in use per lane given. */
static inline void synth_area(struct synth *s, const struct synth_lane *const *lanes, size_t n,
			      uint64_t first_sequence)
{
	size_t area = n * FORMAT_BLOCK_BYTES;
	uint8_t *payload = calloc(1, area);
	size_t at = s->len + 2 * CHUNK_HEADER_BYTES;
	size_t pad = align_up(at, FORMAT_HEADER_BYTES) - at;

	for (size_t i = 0; payload && i < n; i++) {
		uint8_t *block = payload + i * FORMAT_BLOCK_BYTES;

		if (!lanes[i])
			continue;
		synth_block_head(s, lanes[i], BLOCK_OPEN, first_sequence + i, block);
		memcpy(block + BLOCK_HEADER_BYTES, lanes[i]->data,
		       (size_t)(lanes[i]->enc.pos - lanes[i]->data));
	}
	synth_chunk(s, CHUNK_PAD, CHUNK_FLAG_UNCHECKED, NULL, pad, pad);
	synth_chunk(s, CHUNK_AREA, CHUNK_FLAG_UNCHECKED, payload, area, area);
	free(payload);
}

static inline void synth_end(struct synth *s, uint64_t how)
{
	uint8_t buf[64];
	struct field_writer w = field_writer_make(buf, sizeof(buf));

	field_put_u64(&w, END_TICKS, s->last_ticks);
	field_put_u64(&w, END_HOW, how);
	field_put_u64(&w, END_STATUS, 0);
	synth_chunk(s, CHUNK_END, 0, buf, w.len, w.len);
	synth_status(s, FORMAT_STATE_ENDED);
}

/* Writes the file under a temporary name, which is in s->path until synth_fini(). */
static inline const char *synth_save(struct synth *s)
{
	int fd;

	if (s->path[0])
		unlink(s->path);
	strcpy(s->path, "/tmp/synth_XXXXXX");
	fd = mkstemp(s->path);
	if (fd < 0 || write(fd, s->data, s->len) != (ssize_t)s->len)
		abort();
	close(fd);
	return s->path;
}

static inline void synth_fini(struct synth *s)
{
	if (s->path[0])
		unlink(s->path);
	free(s->data);
	memset(s, 0, sizeof(*s));
}

#endif
