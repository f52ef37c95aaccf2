/* recording/recording.c - see recording.h. Opening, and the bytes of a block on demand. */
#include "recording/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/block.h"
#include "format/checksum.h"
#include "format/compress.h"
#include "recording/chunk_unpack.h"
#include "recording/header_page.h"
#include "recording/recording_i.h"
#include "util/vec.h"

int recording_read_scratch(struct recording *r, uint64_t offset, size_t len, struct err *err)
{
	size_t n_read = 0;
	int n = vec_reserve(&r->scratch, &r->cap_scratch, len + 1, 1, err); /* never NULL */

	if (n < 0)
		return n;
	n = file_read(&r->file, offset, r->scratch, len, &n_read, err);
	return n < 0 ? n : n_read == len;
}

static int read_header_page(struct recording *r, struct err *err)
{
	struct header_page page;
	int n = header_page_read(&r->file, &page, err);

	if (n < 0)
		return n;
	r->header = page.header;
	r->status = page.status;
	r->has_status = page.has_status;
	if (!r->has_status && page.n_bytes == FORMAT_HEADER_BYTES)
		damage_add(&r->damage, FILE_STATUS_OFFSET, 2 * FILE_STATUS_BYTES,
			   "no valid status in the header");
	return 0;
}

static const char *chunk_name(unsigned type)
{
	static const char *const name[] = {"?",
					   "PAD",
					   "AREA",
					   "EVENTS",
					   "PROCESS",
					   "MODULE",
					   "FILE",
					   "FILE_DATA",
					   "THREAD",
					   "SAMPLE",
					   "MAPS",
					   "NOTE",
					   "END",
					   "DROPPED",
					   "SYMBOLS",
					   "ALLOCATOR",
					   "ALLOCATOR_SAMPLE"};

	return type < ARRAY_LEN(name) ? name[type] : "unknown";
}

/* Takes a DROPPED chunk whose payload is in r->scratch. */
static int take_dropped(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	struct chunk_unpacked u = {0};
	int n = chunk_unpack(&p->header, r->scratch, 0, &u, err);

	if (n == 0)
		n = metadata_add_dropped(&r->metadata, u.data, u.len, err);
	free(u.buf);
	if (n != -ERR_FORMAT)
		return n;
	damage_add(&r->damage, p->offset, chunk_total_bytes(&p->header),
		   "DROPPED chunk: malformed");
	return 0;
}

/* Takes a MAPS chunk: keeps the newest one. */
static int take_maps(struct recording *r, const struct chunk_header *h, struct err *err)
{
	struct chunk_unpacked u = {0};
	char *text;
	int n = chunk_unpack(h, r->scratch, CHUNK_UNPACK_MAPS_HEAD, &u, err);

	r->metadata.n_maps++;
	if (n < 0)
		return n == -ERR_FORMAT ? 0 : n;
	text = malloc(u.len + 1);
	if (text) {
		memcpy(text, u.data, u.len);
		text[u.len] = 0;
		free(r->metadata.maps.bytes);
		r->metadata.maps = (struct metadata_text){text, u.len};
		r->metadata.maps_ticks = load_le64(r->scratch);
	}
	free(u.buf);
	return text ? 0 : err_set_memory(err, u.len + 1);
}

/* Takes a chunk that is read when the recording is opened: all but AREA and EVENTS. */
static int take_chunk(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	const struct chunk_header *h = &p->header;
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;
	int n = recording_read_scratch(r, payload, h->stored_bytes, err);

	if (n < 0)
		return n;
	if (n == 0 || !chunk_payload_ok(h, r->scratch)) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(h),
			   "%s chunk with a bad checksum", chunk_name(h->type));
		return 0;
	}
	if (h->type == CHUNK_DROPPED)
		return take_dropped(r, p, err);
	if (h->type == CHUNK_SYMBOLS) {
		r->metadata.n_symbols++;
		return 0;
	}
	if (h->type == CHUNK_MAPS)
		return take_maps(r, h, err);
	if (h->type == CHUNK_FILE_DATA) {
		if (h->stored_bytes >= CHUNK_UNPACK_FILE_DATA_HEAD)
			metadata_add_file_data(&r->metadata, r->scratch,
					       h->flags & CHUNK_FLAG_LZ4
						       ? h->raw_bytes
						       : h->stored_bytes -
								 CHUNK_UNPACK_FILE_DATA_HEAD);
		return 0;
	}
	n = metadata_add(&r->metadata, h->type, r->scratch, h->stored_bytes, err);
	if (n == -ERR_FORMAT) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(h),
			   "%s chunk: malformed fields", chunk_name(h->type));
		return 0;
	}
	return n;
}

static int handle_area(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;

	if (p->present_bytes < p->header.stored_bytes)
		damage_add(&r->damage, payload + p->present_bytes,
			   p->header.stored_bytes - p->present_bytes,
			   "missing: the file was cut inside an AREA");
	return area_read_add(r, payload, p->present_bytes, err);
}

static int handle_chunk(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	switch (p->header.type) {
	case CHUNK_PAD:
		return 0;
	case CHUNK_AREA:
		return handle_area(r, p, err);
	case CHUNK_EVENTS:
		area_read_set_horizon(r); /* appended after areas were read, if they were */
		return block_index_add_events(r, p, err);
	default:
		if (p->header.type > CHUNK_ALLOCATOR_SAMPLE) {
			r->metadata.n_unknown_chunks++;
			return 0;
		}
		return take_chunk(r, p, err);
	}
}

static int on_stray(void *user, uint64_t offset, struct err *err)
{
	return area_read_add(user, offset, FORMAT_BLOCK_BYTES, err);
}

static int walk_to_end(struct recording *r, struct chunk_reader *walk, struct err *err)
{
	struct chunk_ref chunk;
	int n;

	while ((n = chunk_reader_next(walk, &chunk, err)) > 0) {
		if (r->progress)
			progress_set(r->progress, chunk.offset);
		n = handle_chunk(r, &chunk, err);
		if (n < 0)
			break;
	}
	return n;
}

/* A block may leave its area before we look at the area; then it is in a chunk, which was appended
 * before that. So the order is: all chunks, then the areas, then the chunks that were appended
 * meanwhile (and new areas among them). */
static int walk_chunks(struct recording *r, struct err *err)
{
	struct chunk_reader walk;
	int n = chunk_reader_init(&walk, &r->file, &r->damage,
				  align_up(r->header.header_bytes, FORMAT_CHUNK_ALIGN), err);

	if (n < 0)
		return n;
	walk.on_stray = on_stray;
	walk.user = r;
	if (r->has_status)
		walk.complete_to = r->status.field[STATUS_END_OF_CHUNKS];
	do {
		n = chunk_reader_extend(&walk, err);
		if (n == 0)
			n = walk_to_end(r, &walk, err);
		if (n == 0)
			n = area_read(r, err);
	} while (n > 0);
	r->unfinished_bytes = walk.unfinished_bytes;
	if (n == 0 && r->has_status && walk.complete_to > r->file.size_bytes)
		damage_add(&r->damage, r->file.size_bytes, walk.complete_to - r->file.size_bytes,
			   "missing: the file was cut here");
	chunk_reader_fini(&walk);
	return n;
}

static void set_time(struct recording *r)
{
	const struct file_header *h = &r->header;

	timebase_init(&r->time, h->start_ticks, h->start_monotonic_ns,
		      h->clock_source == FORMAT_CLOCK_MONOTONIC);
	if (r->has_status && r->status.field[STATUS_STATE] == FORMAT_STATE_RECORDING) {
		for (size_t i = 0; i < r->metadata.n_samples; i++)
			timebase_add_steadily(&r->time, r->metadata.sample[i].ticks,
					      r->metadata.sample[i].monotonic_ns);
		if (timebase_is_steady(&r->time))
			return;
	}
	if (r->has_status)
		timebase_add(&r->time, r->status.field[STATUS_TICKS],
			     r->status.field[STATUS_MONOTONIC_NS]);
	for (size_t i = 0; i < r->metadata.n_samples; i++)
		timebase_add(&r->time, r->metadata.sample[i].ticks,
			     r->metadata.sample[i].monotonic_ns);
}

/* Reads everything but the events, and shows progress. */
static int read_chunks(struct recording *r, const char *path, struct err *err)
{
	struct progress progress;
	char label[PROGRESS_LABEL_BYTES];
	int n;

	snprintf(label, sizeof(label), "opening %s", path);
	progress_start(&progress, label, r->file.size_bytes, PROGRESS_BYTES);
	r->progress = &progress;
	n = walk_chunks(r, err);
	r->progress = NULL;
	progress_end(&progress);
	return n;
}

int recording_open(const char *path, struct recording **ret, struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	int n;

	if (!r)
		return err_set_memory(err, sizeof(*r));
	r->file = FILE_NONE;
	r->horizon_ticks = UINT64_MAX;
	n = file_open(path, &r->file, err);
	if (n == 0)
		n = read_header_page(r, err);
	if (n == 0)
		n = read_chunks(r, path, err);
	if (n == 0)
		n = block_index_finish(r, err);
	if (n < 0) {
		err_prefix(err, "%s", path);
		recording_close(r);
		return n;
	}
	set_time(r);
	*ret = r;
	return 0;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_blocks; i++)
		free(r->block[i].copy);
	free(r->block);
	free(r->lane);
	free(r->area);
	free(r->scratch);
	metadata_fini(&r->metadata);
	file_close(&r->file);
	free(r);
}

int recording_load_block(struct recording *r, const struct block_ref *b, uint8_t *out, size_t *len,
			 struct err *err)
{
	const char *problem = NULL;
	int n;

	*len = b->raw_bytes;
	if (r->progress)
		progress_add(r->progress, b->stored_bytes);
	if (b->copy) {
		memcpy(out, b->copy, b->raw_bytes);
		return 1;
	}
	n = recording_read_scratch(r, b->offset, b->stored_bytes, err);
	if (n < 0)
		return n;
	if (n == 0)
		problem = "EVENTS chunk that is gone: the file was cut meanwhile";
	else if (b->is_checked &&
		 checksum_bytes(r->scratch, b->stored_bytes) != b->payload_checksum)
		problem = "EVENTS chunk with a bad checksum";
	else if (!b->is_lz4)
		memcpy(out, r->scratch + BLOCK_HEADER_BYTES, b->raw_bytes);
	else if (!decompress_block(r->scratch + BLOCK_HEADER_BYTES,
				   b->stored_bytes - BLOCK_HEADER_BYTES, out, b->raw_bytes))
		problem = "EVENTS chunk that cannot be decompressed";
	if (!problem)
		return 1;
	r->n_bad_blocks++;
	damage_add(&r->damage, b->offset, b->stored_bytes,
		   "%s (thread %" PRIu32 ", block %" PRIu32 ")", problem, b->thread, b->lane_index);
	return 0;
}
