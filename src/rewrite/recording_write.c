/* rewrite/recording_write.c - see recording_write.h. */
#include "rewrite/recording_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/block.h"
#include "format/checksum.h"
#include "format/chunk.h"
#include "format/compress.h"
#include "format/field.h"
#include "util/atomic_file.h"
#include "util/vec.h"

#define NOTE_MAX_BYTES 1024

/* A lane of the new recording. While data is NULL no block is open, and of enc only ticks and
 * next_stack are valid. */
struct writer_lane {
	struct event_encoder enc;
	uint8_t *data; /* BLOCK_DATA_BYTES */
	uint64_t start_ticks;
	uint64_t lost_before;
	uint32_t first_stack;
	uint32_t start_generation;
	uint32_t generation;
	uint32_t lane_index; /* of the next block */
	bool has_begun;
};

struct recording_writer {
	const struct recording *source;
	struct atomic_file *file;
	struct writer_lane *lane; /* source->n_lanes */
	size_t n_open; /* lanes with a block in memory */
	size_t hand; /* the lane whose block is the next candidate to be written early */
	uint64_t n_chunks;
	uint64_t n_blocks;
	uint64_t embedded_bytes;
	bool is_compressed;
	uint8_t *payload; /* of the chunk that is being written */
	size_t cap_payload;
	uint8_t *end; /* payload of the END chunk, for the commit; NULL: none */
	size_t end_bytes;
	uint64_t lz4_state[COMPRESS_STATE_BYTES / 8];
	uint8_t page[FORMAT_HEADER_BYTES];
};

static void make_header(struct recording_writer *w, const char *purpose)
{
	struct file_header h = w->source->header;
	uint64_t half[2];

	memcpy(half, h.recording_id, sizeof(half));
	half[0] = hash_pair64(half[0], checksum_bytes(purpose, strlen(purpose)));
	half[1] = hash_pair64(half[1], half[0]);
	memcpy(h.recording_id, half, sizeof(half));
	h.version_minor = FORMAT_VERSION_MINOR; /* the contents are those that this program knows */
	h.header_bytes = FORMAT_HEADER_BYTES;
	h.block_bytes = FORMAT_BLOCK_BYTES;
	file_header_encode(&h, w->page);
}

int recording_writer_create(const char *path, const struct recording *source, const char *purpose,
			    bool is_compressed, struct recording_writer **ret, struct err *err)
{
	struct recording_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set_memory(err, sizeof(*w));
	w->source = source;
	w->is_compressed = is_compressed;
	w->lane = calloc(source->n_lanes + 1, sizeof(*w->lane));
	r = w->lane ? atomic_file_create(path, 0600, 0, &w->file, err)
		    : err_set_memory(err, (source->n_lanes + 1) * sizeof(*w->lane));
	if (r == 0) {
		make_header(w, purpose);
		r = atomic_file_append(w->file, w->page, sizeof(w->page), err);
	}
	if (r < 0) {
		recording_writer_discard(w);
		return r;
	}
	*ret = w;
	return 0;
}

void recording_writer_discard(struct recording_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; w->lane && i < w->source->n_lanes; i++)
		free(w->lane[i].data);
	atomic_file_discard(w->file);
	free(w->lane);
	free(w->payload);
	free(w->end);
	free(w);
}

/* ---- chunks ---- */

/* Writes header, payload and the padding up to the next chunk. */
static int append_chunk(struct recording_writer *w, struct chunk_header *h, const uint8_t *payload,
			struct err *err)
{
	static const uint8_t zeros[FORMAT_CHUNK_ALIGN];
	uint8_t head[CHUNK_HEADER_BYTES];
	int r;

	h->sequence = w->n_chunks++;
	chunk_encode(h, head);
	r = atomic_file_append(w->file, head, sizeof(head), err);
	if (r == 0)
		r = atomic_file_append(w->file, payload, h->stored_bytes, err);
	if (r == 0)
		r = atomic_file_append(w->file, zeros,
				       chunk_total_bytes(h) - CHUNK_HEADER_BYTES - h->stored_bytes,
				       err);
	if (h->type == CHUNK_FILE_DATA)
		w->embedded_bytes += h->stored_bytes;
	return r;
}

static int keep_end(struct recording_writer *w, const uint8_t *payload, size_t len, struct err *err)
{
	uint8_t *copy = malloc(len + 1);

	if (!copy)
		return err_set_memory(err, len + 1);
	memcpy(copy, payload, len);
	free(w->end);
	w->end = copy;
	w->end_bytes = len;
	return 0;
}

int recording_writer_put_stored(struct recording_writer *w, const struct chunk_header *h,
				const uint8_t *payload, struct err *err)
{
	struct chunk_header copy = *h;

	if (h->type == CHUNK_END)
		return keep_end(w, payload, h->stored_bytes, err);
	return append_chunk(w, &copy, payload, err);
}

int recording_writer_put(struct recording_writer *w, const struct recording_chunk *c,
			 struct err *err)
{
	struct chunk_header h = {.type = (uint16_t)c->type, .raw_bytes = (uint32_t)c->data_bytes};
	size_t capacity = c->head_bytes + COMPRESS_BOUND(c->data_bytes);
	size_t stored = 0;
	int r;

	if (c->data_bytes + c->head_bytes > FORMAT_CHUNK_MAX_BYTES)
		return err_set(err, ERR_LIMIT, "a chunk of %zu bytes is too large",
			       c->data_bytes + c->head_bytes);
	if (c->type == CHUNK_END)
		return keep_end(w, c->data, c->data_bytes, err);
	r = vec_reserve(&w->payload, &w->cap_payload, capacity, 1, err);
	if (r < 0)
		return r;
	if (c->head_bytes)
		memcpy(w->payload, c->head, c->head_bytes);
	if (w->is_compressed && !c->is_plain && c->data_bytes)
		stored = compress_block(w->lz4_state, COMPRESS_WELL, c->data, c->data_bytes,
					w->payload + c->head_bytes, capacity - c->head_bytes);
	if (stored && stored < c->data_bytes) {
		h.flags |= CHUNK_FLAG_LZ4;
	} else {
		stored = c->data_bytes;
		if (stored)
			memcpy(w->payload + c->head_bytes, c->data, stored);
	}
	h.stored_bytes = (uint32_t)(c->head_bytes + stored);
	h.payload_checksum = checksum_bytes(w->payload, h.stored_bytes);
	return append_chunk(w, &h, w->payload, err);
}

int recording_writer_note(struct recording_writer *w, unsigned level, const char *text,
			  struct err *err)
{
	uint8_t fields[NOTE_MAX_BYTES + 64];
	struct field_writer f = field_writer_make(fields, sizeof(fields));
	struct recording_chunk c = {.type = CHUNK_NOTE, .data = fields, .is_plain = true};

	field_put_u64(&f, NOTE_TICKS, w->source->time.last_ticks);
	field_put_u64(&f, NOTE_LEVEL, level);
	field_put_bytes(&f, NOTE_TEXT, text, strnlen(text, NOTE_MAX_BYTES));
	c.data_bytes = f.len;
	return recording_writer_put(w, &c, err);
}

/* ---- blocks ---- */

static int write_block(struct recording_writer *w, uint32_t lane, struct err *err)
{
	struct writer_lane *l = &w->lane[lane];
	const struct lane_ref *source = &w->source->lane[lane];
	uint8_t head[BLOCK_HEADER_BYTES] = {0};
	struct recording_chunk c = {
		.type = CHUNK_EVENTS,
		.head = head,
		.head_bytes = sizeof(head),
		.data = l->data,
		.data_bytes = (size_t)(l->enc.pos - l->data),
	};

	store_le32(head, BLOCK_MAGIC);
	store_le64(head + 8, ++w->n_blocks);
	store_le32(head + 16, source->thread);
	store_le32(head + 20, source->lane);
	store_le32(head + 24, w->source->block[source->first_block].tid);
	store_le32(head + 28, l->lane_index++);
	store_le64(head + 32, l->start_ticks);
	store_le32(head + 40, l->first_stack);
	store_le32(head + 44, l->start_generation);
	store_le64(head + 48, l->lost_before);
	store_le32(head + 56, (uint32_t)c.data_bytes);
	store_le32(head + 60, block_checksum(head));
	return recording_writer_put(w, &c, err);
}

/* Writes the lane's block, if it has one. */
static int close_block(struct recording_writer *w, uint32_t lane, struct err *err)
{
	struct writer_lane *l = &w->lane[lane];
	int r = 0;

	if (!l->data)
		return 0;
	if (l->enc.pos > l->data)
		r = write_block(w, lane, err);
	free(l->data);
	l->data = NULL;
	w->n_open--;
	return r;
}

static int close_some_block(struct recording_writer *w, struct err *err)
{
	while (!w->lane[w->hand].data)
		w->hand = (w->hand + 1) % w->source->n_lanes;
	return close_block(w, (uint32_t)w->hand, err);
}

static int open_block(struct recording_writer *w, uint32_t lane, struct err *err)
{
	struct writer_lane *l = &w->lane[lane];
	int r = w->n_open >= RECORDING_WRITER_MAX_OPEN ? close_some_block(w, err) : 0;

	if (r < 0)
		return r;
	l->data = malloc(BLOCK_DATA_BYTES);
	if (!l->data)
		return err_set_memory(err, BLOCK_DATA_BYTES);
	w->n_open++;
	l->start_ticks = l->enc.ticks;
	l->first_stack = l->enc.next_stack;
	l->start_generation = l->generation;
	event_encoder_begin(&l->enc, l->data, l->data + BLOCK_DATA_BYTES, l->start_ticks);
	return 0;
}

/* Gives the lane's encoder with room for n_bytes; begins a new block if need be. */
static int make_room(struct recording_writer *w, uint32_t lane, size_t n_bytes,
		     struct event_encoder **ret, struct err *err)
{
	struct writer_lane *l = &w->lane[lane];
	int r = 0;

	ASSERT(l->has_begun);
	if (l->data && (size_t)(l->enc.end - l->enc.pos) < n_bytes)
		r = close_block(w, lane, err);
	if (r == 0 && !l->data)
		r = open_block(w, lane, err);
	*ret = &l->enc;
	return r;
}

int recording_writer_restart(struct recording_writer *w, uint32_t lane,
			     const struct recording_writer_start *start, struct err *err)
{
	struct writer_lane *l = &w->lane[lane];
	int r = close_block(w, lane, err);

	l->has_begun = true;
	l->enc.ticks = start->ticks;
	l->enc.next_stack = start->first_stack;
	l->generation = start->generation;
	l->lost_before = start->lost_before;
	l->lane_index += start->n_missing;
	return r;
}

uint32_t recording_writer_next_stack(const struct recording_writer *w, uint32_t lane)
{
	return w->lane[lane].enc.next_stack;
}

/* ---- events ---- */

/* Of the rare kinds that are no definitions: the number of fields, the bits of those that are
 * signed, and the index of the one that is a stack id (7: none). */
static const struct rare_kind {
	uint8_t n_fields;
	uint8_t signed_mask;
	uint8_t stack_field;
} rare_kinds[] = {
	[EVENT_TIME & 0x7f] = {0, 0, 7},
	[EVENT_REALLOC_CANCEL & 0x7f] = {0, 0, 7},
	[EVENT_REALLOC_FREED & 0x7f] = {0, 0, 7},
	[EVENT_REALLOC_UNTRACKED & 0x7f] = {0, 0, 7},
	[EVENT_STACK_END & 0x7f] = {1, 0, 7},
	[EVENT_STACK_GUESS & 0x7f] = {1, 0, 7},
	[EVENT_GENERATION & 0x7f] = {1, 0, 7},
	[EVENT_MMAP & 0x7f] = {7, 1u << 4, 6},
	[EVENT_MUNMAP & 0x7f] = {3, 0, 2},
	[EVENT_MREMAP & 0x7f] = {6, 0, 5},
	[EVENT_BRK & 0x7f] = {3, 0, 2},
	[EVENT_MALLOPT & 0x7f] = {4, 7, 3},
	[EVENT_MALLOC_TRIM & 0x7f] = {3, 0, 2},
	[EVENT_MARKER & 0x7f] = {1, 0, 7},
	[EVENT_TIMESTAMP_OVERRIDE & 0x7f] = {1, 0, 7},
	[EVENT_LOST & 0x7f] = {1, 0, 7},
	[EVENT_SWITCH & 0x7f] = {1, 0, 7},
	[EVENT_PROCESS_END & 0x7f] = {2, 0, 7},
	[EVENT_EXEC_FAILED & 0x7f] = {1, 0, 7},
	[EVENT_FORK & 0x7f] = {1, 0, 7},
	[EVENT_CULLED & 0x7f] = {7, 0, CULLED_STACK},
	[EVENT_CULLED_REALLOCS & 0x7f] = {7, 0, CULLED_STACK},
};

bool recording_writer_knows(unsigned kind)
{
	if (kind & EVENT_RARE)
		return kind >= EVENT_TIME && (kind & 0x7f) < ARRAY_LEN(rare_kinds) &&
		       rare_kinds[kind & 0x7f].stack_field; /* 0: no entry */
	return kind >= EVENT_MALLOC && kind <= EVENT_STACK;
}

static void put_rare(struct event_encoder *e, const struct event *ev, uint32_t stack)
{
	const struct rare_kind *k = &rare_kinds[ev->kind & 0x7f];
	uint64_t field[EVENT_MAX_FIELDS];
	unsigned n = EVENT_MAX_FIELDS;

	for (unsigned i = 0; i < EVENT_MAX_FIELDS; i++)
		field[i] = k->signed_mask >> i & 1 ? zigzag((int64_t)ev->field[i]) : ev->field[i];
	if (k->stack_field < EVENT_MAX_FIELDS)
		field[k->stack_field] = stack;
	while (n > k->n_fields && field[n - 1] == 0)
		n--;
	event_put_rare(e, ev->kind, ev->ticks, field, n);
}

static void put_call(struct event_encoder *e, const struct event *ev, uint32_t stack)
{
	uint64_t usual = event_usual_usable(ev->size_bytes) - ev->size_bytes;
	struct event_call c = {
		.ticks = ev->ticks,
		.addr = ev->addr,
		.size_bytes = ev->size_bytes,
		.usable_extra_bytes = ev->usable_extra_bytes,
		.alignment = ev->alignment,
		.stack = stack,
	};

	if (ev->usable_extra_bytes != usual)
		c.extras |= EVENT_EXTRA_USABLE;
	if (ev->alignment)
		c.extras |= EVENT_EXTRA_ALIGNMENT;
	if (ev->allocator != e->allocator)
		event_put_allocator(e, ev->allocator);
	event_put_call(e, ev->kind, &c);
}

int recording_writer_event(struct recording_writer *w, uint32_t lane, const struct event *ev,
			   uint32_t stack, struct err *err)
{
	struct event_encoder *e;
	int r = make_room(w, lane, (size_t)3 * EVENT_MAX_BYTES, &e, err);

	if (r < 0)
		return r;
	switch (ev->kind) {
	case EVENT_STACK:
		event_put_stack(e, ev->addr, ev->parent);
		break;
	case EVENT_STACK_END:
		event_put_rare(e, ev->kind, ev->ticks, ev->field, 1);
		e->next_stack++;
		break;
	case EVENT_STACK_GUESS:
		event_put_rare(e, ev->kind, ev->ticks, (uint64_t[]){e->next_stack - 1 - ev->parent},
			       1);
		e->next_stack++;
		break;
	case EVENT_GENERATION:
		put_rare(e, ev, 0);
		w->lane[lane].generation = (uint32_t)ev->field[0];
		break;
	default:
		if (ev->kind & EVENT_RARE)
			put_rare(e, ev, stack);
		else
			put_call(e, ev, stack);
		break;
	}
	return 0;
}

int recording_writer_rare(struct recording_writer *w, uint32_t lane, const struct event *ev,
			  const uint8_t *fields, size_t len, struct err *err)
{
	uint8_t time[ULEB_MAX_BYTES];
	size_t time_bytes;
	struct event_encoder *e;
	int r;

	if (len + 1 + (size_t)2 * ULEB_MAX_BYTES > BLOCK_DATA_BYTES)
		return 0;
	r = make_room(w, lane, len + 1 + (size_t)2 * ULEB_MAX_BYTES, &e, err);
	if (r < 0)
		return r;
	time_bytes = (size_t)(uleb_put(time, zigzag((int64_t)(ev->ticks - e->ticks))) - time);
	*e->pos++ = ev->kind;
	e->pos = uleb_put(e->pos, time_bytes + len);
	memcpy(e->pos, time, time_bytes);
	if (len)
		memcpy(e->pos + time_bytes, fields, len);
	e->pos += time_bytes + len;
	e->ticks = ev->ticks;
	return 1;
}

/* ---- the end ---- */

static void set_status(struct recording_writer *w, uint64_t n_lost_blocks)
{
	const struct recording *source = w->source;
	struct file_status s = source->status;
	uint64_t *f = s.field;

	if (!source->has_status) {
		memset(&s, 0, sizeof(s));
		f[STATUS_STATE] =
			source->metadata.end.is_known ? FORMAT_STATE_ENDED : FORMAT_STATE_RECORDING;
	}
	/* The latest reading of the clocks. If the status is lost, a sample may have it. */
	if (source->time.last_ticks > f[STATUS_TICKS]) {
		f[STATUS_TICKS] = source->time.last_ticks;
		f[STATUS_MONOTONIC_NS] = source->time.last_ns;
		f[STATUS_REALTIME_NS] = source->header.start_realtime_ns +
					(source->time.last_ns - source->time.start_ns);
	}
	if (f[STATUS_LOST_BLOCKS] < n_lost_blocks)
		f[STATUS_LOST_BLOCKS] = n_lost_blocks;
	f[STATUS_N_BLOCKS] = w->n_blocks;
	f[STATUS_BYTES_EMBEDDED] = w->embedded_bytes;
	f[STATUS_END_OF_CHUNKS] = atomic_file_size(w->file);
	s.sequence = 1;
	file_status_encode(&s, w->page);
}

static int finish(struct recording_writer *w, uint64_t n_lost_blocks, struct err *err)
{
	struct chunk_header end = {.type = CHUNK_END};
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->source->n_lanes; i++)
		r = close_block(w, (uint32_t)i, err);
	if (r == 0 && w->end) {
		end.stored_bytes = end.raw_bytes = (uint32_t)w->end_bytes;
		end.payload_checksum = checksum_bytes(w->end, w->end_bytes);
		r = append_chunk(w, &end, w->end, err);
	}
	if (r < 0)
		return r;
	set_status(w, n_lost_blocks);
	return atomic_file_pwrite(w->file, 0, w->page, sizeof(w->page), err);
}

int recording_writer_commit(struct recording_writer *w, uint64_t n_lost_blocks,
			    uint64_t *size_bytes, struct err *err)
{
	int r = finish(w, n_lost_blocks, err);

	if (r == 0) {
		*size_bytes = atomic_file_size(w->file);
		r = atomic_file_commit(w->file, err);
		w->file = NULL;
	}
	recording_writer_discard(w);
	return r;
}
