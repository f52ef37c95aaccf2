/* recording/recording.c - see recording.h. Opening, and the bytes of a block on demand. */
#include "recording/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/block.h"
#include "format/checksum.h"
#include "format/compress.h"
#include "recording/chunk_unpack.h"
#include "recording/header_page.h"
#include "recording/pieces.h"
#include "recording/recording_i.h"
#include "recording/shared_binary.h"
#include "recording/writer_wait.h"
#include "util/vec.h"

#define TORN_TRIES 1000u /* 3 s */
#define TORN_PAUSE_NS 3000000

int recording_read_scratch(struct recording *r, size_t piece, uint64_t offset, size_t len,
			   struct err *err)
{
	size_t n_read = 0;
	int n = vec_reserve(&r->scratch, &r->cap_scratch, len + 1, 1, err); /* never NULL */

	if (n < 0)
		return n;
	n = file_read(&r->piece[piece].file, offset, r->scratch, len, &n_read, err);
	return n < 0 ? n : n_read == len;
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

/* Takes a MAPS chunk: keeps the newest one, and what is resident. */
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
		n = map_residency_add(&r->metadata.residency, text, u.len, err);
		if (n > 0)
			r->metadata.residency_ticks = r->metadata.maps_ticks;
	} else {
		n = err_set_memory(err, u.len + 1);
	}
	free(u.buf);
	return n < 0 ? n : 0;
}

/* Takes a chunk that is read when the recording is opened: all but AREA and EVENTS. */
static int take_chunk(struct recording *r, const struct chunk_ref *p, struct err *err)
{
	const struct chunk_header *h = &p->header;
	uint64_t payload = p->offset + CHUNK_HEADER_BYTES;
	int n = recording_read_scratch(r, r->at_piece, payload, h->stored_bytes, err);

	if (n < 0)
		return n;
	if (n == 0 || !chunk_payload_ok(h, r->scratch)) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(h),
			   "%s chunk with a bad checksum", chunk_reader_type_name(h->type));
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
	if (r->at_piece == 0 && h->type == CHUNK_PROCESS && r->metadata.process.is_known) {
		/* its facts would take the place of the first one's */
		damage_add(&r->damage, p->offset, chunk_total_bytes(h),
			   "PROCESS chunk of a second recording in this file");
		return 0;
	}
	if (r->at_piece > 0)
		n = metadata_add_again(&r->metadata, h->type, r->scratch, h->stored_bytes, err);
	else
		n = metadata_add(&r->metadata, h->type, r->scratch, h->stored_bytes, err);
	if (n == -ERR_FORMAT) {
		damage_add(&r->damage, p->offset, chunk_total_bytes(h),
			   "%s chunk: malformed fields", chunk_reader_type_name(h->type));
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
	case CHUNK_PENDING:
		r->pending_offset = p->offset + CHUNK_HEADER_BYTES;
		r->pending_bytes = p->present_bytes;
		return 0;
	case CHUNK_EVENTS:
		r->is_growing |= r->n_areas_read > 0; /* appended after areas were read */
		return block_index_add_events(r, p, err);
	default:
		if (p->header.type > CHUNK_PENDING) {
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
static int read_snapshot(struct recording *r, struct chunk_reader *walk, struct snapshot *s,
			 struct err *err)
{
	bool is_begun = false;
	int n;

	s->n_glimpses = s->n_copies = s->n_bytes = 0;
	r->n_areas_read = 0;
	r->is_growing = false;
	do {
		n = chunk_reader_extend(walk, err);
		if (n == 0)
			n = walk_to_end(r, walk, err);
		if (n == 0 && !is_begun)
			n = pending_read_begin(r, s, err);
		is_begun = true;
		if (n == 0)
			n = area_read(r, s, err);
	} while (n > 0);
	return n < 0 ? n : pending_read(r, s, err);
}

/* A copy that a stream makes of a culled recording has no PENDING chunk, and newer events of some
 * threads than of others. What is later than the time up to which it is complete is left out. */
static void limit_horizon(struct recording *r, const struct snapshot *s)
{
	const struct recording_piece *p = &r->piece[r->at_piece];
	uint64_t complete = p->has_status ? p->status.field[STATUS_COMPLETE_TICKS] : 0;

	if (r->pending_bytes && !s->first_step && complete &&
	    p->status.field[STATUS_STATE] == FORMAT_STATE_RECORDING &&
	    complete - 1 < r->horizon_ticks)
		r->horizon_ticks = complete - 1;
}

/* A recorder that culls moves events with each step. Makes copies until there was no step meanwhile. */
static int read_untorn(struct recording *r, struct chunk_reader *walk, struct snapshot *s,
		       struct err *err)
{
	const struct timespec pause = {.tv_nsec = TORN_PAUSE_NS};
	int n = read_snapshot(r, walk, s, err);

	for (unsigned i = 1; n == 0 && s->is_torn && i < TORN_TRIES; i++) {
		nanosleep(&pause, NULL); /* who has slept is less likely to be interrupted */
		n = read_snapshot(r, walk, s, err);
	}
	return n;
}

/* Reads the chunks of a piece, and what the recorder may still be changing. */
static int read_piece(struct recording *r, struct chunk_reader *walk, struct err *err)
{
	struct snapshot s = {0};
	int n = read_untorn(r, walk, &s, err);

	r->horizon_ticks = UINT64_MAX; /* only the last piece can have one */
	if (n == 0 && s.is_torn)
		damage_add(&r->damage, r->pending_offset, r->pending_bytes,
			   "the recorder moved events while they were read: some are missing");
	else if (n == 0)
		n = area_read_finish(r, &s, err);
	if (n == 0 && !s.is_torn)
		n = pending_read_finish(r, &s, err);
	limit_horizon(r, &s);
	free(s.glimpse);
	free(s.copy);
	free(s.bytes);
	free(s.pending);
	return n;
}

static int walk_chunks(struct recording *r, struct err *err)
{
	struct recording_piece *p = &r->piece[r->at_piece];
	struct chunk_reader walk;
	int n = chunk_reader_init(&walk, &p->file, &r->damage,
				  align_up(p->header.header_bytes, FORMAT_CHUNK_ALIGN), err);

	if (n < 0)
		return n;
	walk.on_stray = on_stray;
	walk.user = r;
	if (p->has_status)
		walk.complete_to = p->status.field[STATUS_END_OF_CHUNKS];
	r->n_areas = 0;
	r->pending_bytes = 0;
	n = read_piece(r, &walk, err);
	r->unfinished_bytes += walk.unfinished_bytes;
	if (n == 0 && p->has_status && walk.complete_to > p->file.size_bytes)
		damage_add(&r->damage, p->file.size_bytes, walk.complete_to - p->file.size_bytes,
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

/* Reads everything of a piece but the events, and shows progress. */
static int read_chunks(struct recording *r, const char *path, struct err *err)
{
	struct progress progress;
	char label[PROGRESS_LABEL_BYTES];
	int n;

	snprintf(label, sizeof(label), "opening %s", path);
	progress_start(&progress, label, r->piece[r->at_piece].file.size_bytes, PROGRESS_BYTES);
	r->progress = &progress;
	n = walk_chunks(r, err);
	r->progress = NULL;
	progress_end(&progress);
	if (n < 0)
		err_prefix(err, "%s", path);
	return n;
}

/* ---- opening ---- */

void recording_id_of(const struct file_header **piece, size_t n, uint8_t ret[16])
{
	memcpy(ret, piece[0]->recording_id, 16);
	for (size_t i = 1; i < n; i++) {
		uint8_t both[32];

		memcpy(both, ret, 16);
		memcpy(both + 16, piece[i]->recording_id, 16);
		for (unsigned k = 0; k < 16; k += 4) {
			both[31] ^= (uint8_t)(k + 1);
			store_le32(ret + k, checksum_bytes(both, sizeof(both)));
		}
	}
}

static int open_piece(struct recording_piece *p, const char *path, struct err *err)
{
	struct header_page page;
	int n;

	p->file = FILE_NONE;
	n = file_open(path, &p->file, err);
	if (n == 0) {
		writer_wait(&p->file);
		n = header_page_read(&p->file, &page, err);
	}
	if (n < 0) {
		err_prefix(err, "%s", path);
		return n;
	}
	p->header = page.header;
	p->status = page.status;
	p->has_status = page.has_status;
	return 0;
}

/* Puts the status of all pieces together. */
static void join_status(struct recording *r)
{
	const struct recording_piece *last = &r->piece[r->n_pieces - 1];

	r->status = last->status;
	r->has_status = last->has_status;
	for (size_t i = 0; i + 1 < r->n_pieces; i++) {
		const uint64_t *f = r->piece[i].status.field;
		uint64_t *sum = r->status.field;

		if (!r->piece[i].has_status)
			continue;
		for (unsigned k = STATUS_LOST_EVENTS; k <= STATUS_N_ESTIMATED_TIMES; k++) {
			if (k == STATUS_FIRST_ERROR)
				sum[k] = f[k] ? f[k] : sum[k];
			else if (k == STATUS_RECORDER_BYTES || k == STATUS_N_THREADS)
				sum[k] = f[k] > sum[k] ? f[k] : sum[k];
			else
				sum[k] += f[k];
		}
	}
}

/* Puts the headers of all pieces together. */
static void join_headers(struct recording *r)
{
	const struct file_header **header = calloc(r->n_pieces, sizeof(struct file_header *));
	size_t n = header ? r->n_pieces : 0;

	r->header = r->piece[0].header;
	for (size_t i = 0; i < n; i++)
		header[i] = &r->piece[i].header;
	if (n > 1) {
		recording_id_of(header, n, r->header.recording_id);
		r->header.piece = 0;
	}
	free(header);
	for (size_t i = 0; i < r->n_pieces; i++) {
		r->file_bytes += r->piece[i].file.size_bytes;
		if (!r->piece[i].has_status && r->piece[i].file.size_bytes >= FORMAT_HEADER_BYTES)
			damage_add(&r->damage, FILE_STATUS_OFFSET, 2 * FILE_STATUS_BYTES,
				   "no valid status in the header");
		if (i > 0)
			r->n_missing_pieces +=
				r->piece[i].header.piece - r->piece[i - 1].header.piece - 1;
	}
}

/* Looks for the binaries that lie beside the recording. */
static int find_shared(struct recording *r, const char *path, struct err *err)
{
	struct stat st;

	r->owner = fstat(r->piece[0].file.fd, &st) == 0 ? st.st_uid : geteuid();
	r->folder = file_folder(path);
	if (!r->folder)
		return err_set_memory(err, strlen(path));
	return shared_binary_mark(r->folder, r->owner, &r->metadata, err);
}

static int open_pieces(struct recording *r, const char **path, size_t n_paths, struct err *err)
{
	int n = pieces_sort(path, n_paths, err);

	r->piece = n == 0 ? calloc(n_paths, sizeof(*r->piece)) : NULL;
	if (n == 0 && !r->piece)
		n = err_set_memory(err, n_paths * sizeof(*r->piece));
	while (n == 0 && r->n_pieces < n_paths) {
		r->n_pieces++;
		n = open_piece(&r->piece[r->n_pieces - 1], path[r->n_pieces - 1], err);
	}
	if (n == 0)
		join_headers(r);
	for (; n == 0 && r->at_piece < r->n_pieces; r->at_piece++)
		n = read_chunks(r, path[r->at_piece], err);
	if (n == 0)
		n = find_shared(r, path[0], err);
	if (n < 0)
		return n;
	join_status(r);
	set_time(r);
	return block_index_finish(r, err);
}

int recording_open_pieces(const char *const *path, size_t n_paths, struct recording **ret,
			  struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	const char **sorted = calloc(n_paths, sizeof(*sorted));
	int n;

	ASSERT(n_paths > 0);
	if (r && sorted) {
		memcpy(sorted, path, n_paths * sizeof(*sorted));
		n = open_pieces(r, sorted, n_paths, err);
	} else {
		n = err_set_memory(err, sizeof(*r));
	}
	free(sorted);
	if (n < 0) {
		recording_close(r);
		return n;
	}
	*ret = r;
	return 0;
}

int recording_open(const char *path, struct recording **ret, struct err *err)
{
	return recording_open_pieces(&path, 1, ret, err);
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_blocks; i++)
		free(r->block[i].copy);
	free(r->gap);
	free(r->block);
	free(r->lane);
	free(r->area);
	free(r->scratch);
	metadata_fini(&r->metadata);
	free(r->folder);
	for (size_t i = 0; i < r->n_pieces; i++)
		file_close(&r->piece[i].file);
	free(r->piece);
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
	n = recording_read_scratch(r, b->piece, b->offset, b->stored_bytes, err);
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
