/* record/stream_source.c - see stream_source.h. */
#include "record/stream_source.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/stream_frame.h"
#include "record/sys.h"

#define DATA_BYTES (64 * KIB)
#define DATA_HEAD 8
#define BLOCK_HEAD 16
#define TAIL_BYTES 16 /* the last event may still change; it then has at most 10 bytes */
#define STATUS_BYTES (2 * FILE_STATUS_BYTES)

void stream_source_begin(struct stream_source *s, const struct stream_file *file, uint64_t offset,
			 struct stream_sent *sent)
{
	*s = (struct stream_source){.file = file, .next = offset, .sent = sent};
	if (sent) /* gives the pages back and makes zeros of them */
		sys_madvise(sent, STREAM_SOURCE_MAX_BLOCKS * sizeof(*sent), MADV_DONTNEED);
}

uint64_t stream_source_end(const struct stream_file *file)
{
	return file->session ? file->session->end_offset : file->end_offset;
}

bool stream_source_has_ended(const struct stream_file *file)
{
	return !file->session || file->session->is_ended;
}

bool stream_source_is_abreast(const struct stream_source *s)
{
	return s->next >= stream_source_end(s->file);
}

static uint32_t count_areas(const struct stream_file *file)
{
	return file->session ? atomic_load(&file->session->n_areas) : file->n_areas;
}

static struct stream_area get_area(const struct stream_file *file, uint32_t i)
{
	if (!file->session)
		return file->area[i];
	return (struct stream_area){file->session->area[i].file_offset,
				    file->session->area[i].n_blocks};
}

/* A part of the file that is not sent as chunks are. */
struct gap {
	uint64_t first, behind;
};

/* Number n_areas is the PENDING chunk. */
static struct gap get_gap(const struct stream_file *file, uint32_t i)
{
	struct stream_area area;
	uint64_t first = file->pending_offset, bytes = file->pending_bytes;

	if (i < count_areas(file)) {
		area = get_area(file, i);
		first = area.file_offset;
		bytes = (uint64_t)area.n_blocks * FORMAT_BLOCK_BYTES;
	} else if (file->session) {
		first = file->session->pending_offset;
		bytes = file->session->pending_bytes;
	}
	return (struct gap){first, first + bytes};
}

static bool is_culled(const struct stream_file *file)
{
	struct gap pending = get_gap(file, count_areas(file));

	return pending.behind > pending.first;
}

void stream_source_keep(struct stream_file *file)
{
	file->end_offset = stream_source_end(file);
	file->n_areas = count_areas(file);
	for (uint32_t i = 0; i < file->n_areas; i++)
		file->area[i] = get_area(file, i);
	file->pending_offset = file->session->pending_offset;
	file->pending_bytes = file->session->pending_bytes;
	file->session = NULL;
}

static long read_exactly(const struct stream_source *s, uint64_t offset, void *buf, size_t len)
{
	long n = sys_pread(s->file->fd, buf, len, offset);

	if (n < 0)
		return n;
	return (size_t)n == len ? 0 : SYS_EIO;
}

/* Moves `next` over the blocks of an AREA or over what is pending. Returns where the chunks that
 * begin there end. */
static uint64_t end_of_run(struct stream_source *s)
{
	uint32_t n_gaps = count_areas(s->file) + 1;
	uint64_t end = stream_source_end(s->file);

	for (uint32_t i = 0; i < n_gaps; i++) {
		struct gap gap = get_gap(s->file, i);

		if (s->next < gap.first) {
			end = gap.first < end ? gap.first : end;
		} else if (s->next < gap.behind) {
			s->next = gap.behind;
			end = stream_source_end(s->file);
			i = UINT32_MAX; /* look at all of them again: they are in no order */
		}
	}
	return end;
}

static long next_chunks(struct stream_source *s, uint8_t *out, size_t *n_bytes)
{
	uint64_t end = end_of_run(s);
	size_t len;
	long ret;

	if (s->next >= end)
		return 0;
	len = end - s->next < DATA_BYTES ? (size_t)(end - s->next) : DATA_BYTES;
	store_le64(out, s->next);
	ret = read_exactly(s, s->next, out + DATA_HEAD, len);
	if (ret < 0)
		return ret;
	/* until the first pass has ended, nothing that is sent of a culled file is complete */
	if (s->next == 0 && is_culled(s->file) && len >= FILE_STATUS_OFFSET + STATUS_BYTES)
		file_status_set_field(out + DATA_HEAD + FILE_STATUS_OFFSET, STATUS_COMPLETE_TICKS,
				      1);
	s->next += len;
	*n_bytes = DATA_HEAD + len;
	return STREAM_DATA;
}

/* Copies what the client lacks of a block. 0: nothing, or the block changed meanwhile and the next
 * pass takes it. */
static long copy_block(struct stream_source *s, uint64_t offset, struct stream_sent *sent,
		       uint8_t *out, size_t *n_bytes)
{
	uint8_t *head = out + BLOCK_HEAD, *data = head + BLOCK_HEADER_BYTES;
	uint8_t again[BLOCK_HEADER_BYTES], tail[TAIL_BYTES] = {0};
	struct block_header h;
	uint32_t from = 0, n_tail, hash;
	long ret = read_exactly(s, offset, head, BLOCK_HEADER_BYTES);

	if (ret < 0)
		return ret;
	if (!block_decode(head, &h) || h.state == BLOCK_FREE || h.used_bytes == 0)
		return 0;
	if (h.sequence == sent->sequence && h.used_bytes >= sent->used_bytes)
		from = sent->used_bytes > TAIL_BYTES ? sent->used_bytes - TAIL_BYTES : 0;
	ret = read_exactly(s, offset + BLOCK_HEADER_BYTES + from, data, h.used_bytes - from);
	if (ret == 0)
		ret = read_exactly(s, offset, again, sizeof(again));
	if (ret < 0)
		return ret;
	if (memcmp(again + 8, head + 8, 48) != 0 || load_le32(again + 4) == BLOCK_FREE)
		return 0;
	n_tail = h.used_bytes - from < TAIL_BYTES ? h.used_bytes - from : TAIL_BYTES;
	memcpy(tail, data + h.used_bytes - from - n_tail, n_tail);
	hash = (uint32_t)hash_bytes(tail, sizeof(tail));
	if (h.sequence == sent->sequence && h.used_bytes == sent->used_bytes && sent->tail == hash)
		return 0;
	sent->sequence = h.sequence;
	sent->used_bytes = h.used_bytes;
	sent->tail = hash;
	store_le64(out, offset);
	store_le32(out + 8, from);
	store_le32(out + 12, 0);
	*n_bytes = BLOCK_HEAD + BLOCK_HEADER_BYTES + h.used_bytes - from;
	return STREAM_BLOCK;
}

/* Is it certain that what the block holds stays? */
static bool is_for_clients(const struct stream_source *s, uint32_t area, uint32_t slot)
{
	const struct session *session = s->file->session;

	return !session || !session->cull || (session->writer_blocks[area] >> slot & 1);
}

/* The next block of this pass that has news. 0: the pass is over. */
static long next_block(struct stream_source *s, uint8_t *out, size_t *n_bytes)
{
	for (; s->area < count_areas(s->file); s->area++, s->slot = 0) {
		struct stream_area area = get_area(s->file, s->area);

		while (s->slot < area.n_blocks) {
			uint32_t slot = s->slot++;
			uint64_t at = area.file_offset + (uint64_t)slot * FORMAT_BLOCK_BYTES;
			struct stream_sent *sent = &s->sent[s->area * RECORD_AREA_BLOCKS + slot];
			long ret = is_for_clients(s, s->area, slot)
					   ? copy_block(s, at, sent, out, n_bytes)
					   : 0;

			if (ret != 0)
				return ret;
		}
	}
	return 0;
}

static long next_status(struct stream_source *s, uint8_t *out, size_t *n_bytes)
{
	const struct session *session = s->file->session;
	uint64_t sequence = session ? session->status.sequence : UINT64_MAX;
	long ret;

	if (sequence == s->status_sequence && s->complete_ticks == s->complete_sent)
		return 0;
	s->status_sequence = sequence;
	s->complete_sent = s->complete_ticks;
	store_le64(out, FILE_STATUS_OFFSET);
	ret = read_exactly(s, FILE_STATUS_OFFSET, out + DATA_HEAD, STATUS_BYTES);
	if (s->complete_ticks)
		file_status_set_field(out + DATA_HEAD, STATUS_COMPLETE_TICKS, s->complete_ticks);
	*n_bytes = DATA_HEAD + STATUS_BYTES;
	return ret < 0 ? ret : STREAM_DATA;
}

static void begin_pass(struct stream_source *s, uint64_t now_ns)
{
	s->phase = STREAM_SOURCE_BLOCKS;
	s->area = s->slot = 0;
	s->pass_due_ns = now_ns + STREAM_SOURCE_PASS_NS;
	s->complete_ticks = s->file->session ? s->file->session->complete_ticks : 0;
	s->ended_before_pass = stream_source_has_ended(s->file);
	s->is_end_sent = s->is_end_sent && s->ended_before_pass; /* an exec may fail */
}

/* A pass is over: is the whole file over? */
static long end_pass(struct stream_source *s, uint8_t *out, size_t *n_bytes)
{
	s->phase = STREAM_SOURCE_PAUSE;
	*n_bytes = 4;
	store_le32(out, s->file->number);
	/* A thread may have been in the middle of an event when the file was over: one more pass. */
	if (!s->file->is_current && ++s->n_last_passes >= 2)
		return STREAM_PIECE_END;
	if (s->file->is_current && s->ended_before_pass && !s->is_end_sent) {
		s->is_end_sent = true;
		return STREAM_END;
	}
	return 0;
}

long stream_source_next(struct stream_source *s, uint64_t now_ns, uint8_t *out, size_t *n_bytes)
{
	long ret;

	if (s->phase == STREAM_SOURCE_PAUSE &&
	    (now_ns >= s->pass_due_ns || stream_source_has_ended(s->file) != s->ended_before_pass))
		begin_pass(s, now_ns);
	/* Chunks first, always: see stream_source.h. */
	ret = next_chunks(s, out, n_bytes);
	if (ret != 0)
		return ret;
	if (s->phase == STREAM_SOURCE_CHUNKS)
		begin_pass(s, now_ns);
	if (s->phase == STREAM_SOURCE_BLOCKS) {
		ret = next_block(s, out, n_bytes);
		if (ret != 0)
			return ret;
		s->phase = STREAM_SOURCE_STATUS;
	}
	if (s->phase == STREAM_SOURCE_STATUS) {
		ret = next_status(s, out, n_bytes);
		return ret != 0 ? ret : end_pass(s, out, n_bytes);
	}
	return 0;
}
