/* recording/embedded.c - see embedded.h. */
#include "recording/embedded.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/compress.h"
#include "recording/chunk_reader.h"
#include "recording/header_page.h"
#include "recording/shared_binary.h"
#include "util/temp_file.h"
#include "util/vec.h"

#define HEAD_BYTES 16 /* of FILE_DATA: file id, zero, offset */

/* One FILE_DATA chunk. */
struct piece {
	uint64_t file_id;
	uint64_t file_offset;
	size_t in_file; /* index in embedded.file: the recording that holds it */
	uint64_t chunk_offset; /* of the payload */
	struct chunk_header header;
};

struct embedded {
	struct file *file; /* pieces of the recording */
	size_t n_files, cap_files; /* the last one is being read, or all are open */
	struct metadata metadata; /* only its embedded files are filled */
	struct piece *piece; /* in the order of the recording */
	size_t n_pieces, cap_pieces;
	size_t *complete; /* indexes in metadata.embedded */
	size_t n_complete, cap_complete;
	bool has_symbols; /* there are SYMBOLS chunks */
};

static struct file *current_file(const struct embedded *e)
{
	return &e->file[e->n_files - 1];
}

static int take_file(struct embedded *e, const struct chunk_ref *p, struct err *err)
{
	size_t len = p->header.stored_bytes;
	uint8_t *payload = malloc(len + 1);
	int n;

	if (!payload)
		return err_set_memory(err, len + 1);
	n = file_read_all(current_file(e), p->offset + CHUNK_HEADER_BYTES, payload, len, err);
	if (n == 0 && chunk_payload_ok(&p->header, payload))
		n = metadata_add(&e->metadata, CHUNK_FILE, payload, len, err);
	free(payload);
	return n == -ERR_FORMAT ? 0 : n;
}

/* id: of the file, in place of the one in the chunk; 0: that one. */
static int take_piece(struct embedded *e, const struct chunk_ref *p, uint32_t id, struct err *err)
{
	const struct chunk_header *h = &p->header;
	uint8_t head[HEAD_BYTES];
	struct piece *piece;
	int n;

	if (h->stored_bytes < HEAD_BYTES)
		return 0;
	n = file_read_all(current_file(e), p->offset + CHUNK_HEADER_BYTES, head, sizeof(head), err);
	if (n < 0)
		return n == -ERR_FORMAT ? 0 : n;
	if (id)
		store_le32(head, id);
	n = vec_reserve(&e->piece, &e->cap_pieces, e->n_pieces + 1, sizeof(*piece), err);
	if (n < 0)
		return n;
	piece = &e->piece[e->n_pieces++];
	*piece = (struct piece){
		.file_id = load_le32(head),
		.file_offset = load_le64(head + 8),
		.in_file = e->n_files - 1,
		.chunk_offset = p->offset + CHUNK_HEADER_BYTES,
		.header = *h,
	};
	metadata_add_file_data(&e->metadata, head,
			       h->flags & CHUNK_FLAG_LZ4 ? h->raw_bytes
							 : h->stored_bytes - HEAD_BYTES);
	return 0;
}

static int walk(struct embedded *e, uint64_t start, struct err *err)
{
	struct damage *damage = calloc(1, sizeof(*damage));
	struct chunk_reader reader;
	struct chunk_ref chunk;
	int n;

	if (!damage)
		return err_set_memory(err, sizeof(*damage));
	n = chunk_reader_init(&reader, current_file(e), damage, start, err);
	if (n < 0) {
		free(damage);
		return n;
	}
	while ((n = chunk_reader_next(&reader, &chunk, err)) > 0) {
		n = 0;
		if (chunk.header.type == CHUNK_FILE)
			n = take_file(e, &chunk, err);
		else if (chunk.header.type == CHUNK_FILE_DATA)
			n = take_piece(e, &chunk, 0, err);
		else if (chunk.header.type == CHUNK_SYMBOLS)
			e->has_symbols = true;
		if (n < 0)
			break;
	}
	chunk_reader_fini(&reader);
	free(damage);
	return n;
}

static int list_complete(struct embedded *e, struct err *err)
{
	for (size_t i = 0; i < e->metadata.n_embedded; i++) {
		int n;

		if (!e->metadata.embedded[i].is_complete)
			continue;
		n = vec_reserve(&e->complete, &e->cap_complete, e->n_complete + 1,
				sizeof(*e->complete), err);
		if (n < 0)
			return n;
		e->complete[e->n_complete++] = i;
	}
	return 0;
}

/* Reads one piece of the recording. On failure it is left out. */
static int add_recording(struct embedded *e, const char *path, struct err *err)
{
	struct header_page page;
	int n;

	e->n_files++;
	*current_file(e) = FILE_NONE;
	n = file_open(path, current_file(e), err);
	if (n == 0)
		n = header_page_read(current_file(e), &page, err);
	if (n == 0)
		n = walk(e, align_up(page.header.header_bytes, FORMAT_CHUNK_ALIGN), err);
	if (n < 0)
		err_prefix(err, "%s", path);
	return n;
}

/* Takes the pieces of a file that lies beside the recording. The reader of b and e have the same file
 * open. */
static int take_shared(struct embedded *e, struct shared_binary *b, uint32_t id, struct err *err)
{
	struct chunk_ref chunk;
	int n = vec_reserve(&e->file, &e->cap_files, e->n_files + 1, sizeof(*e->file), err);

	if (n < 0)
		return n;
	e->n_files++;
	*current_file(e) = b->file;
	current_file(e)->fd = fcntl(b->file.fd, F_DUPFD_CLOEXEC, 0);
	while (n == 0 && (n = shared_binary_next(b, &chunk, err)) > 0)
		n = take_piece(e, &chunk, id, err);
	return n;
}

/* Adds the files that the recording only refers to. Those that are not there, or not believed, are left
 * out. */
static int add_shared(struct embedded *e, const char *path, struct err *err)
{
	char *folder = file_folder(path);
	struct stat st = {.st_uid = geteuid()};
	int n = folder ? 0 : err_set_memory(err, strlen(path));

	stat(path, &st);
	for (size_t i = 0; n != -ERR_MEMORY && i < e->metadata.n_embedded; i++) {
		const struct metadata_file *f = &e->metadata.embedded[i];
		const uint64_t *at = map_find(&e->metadata.embedded_at, f->id);
		struct shared_binary *b = NULL;

		if (!f->is_beside || f->is_complete || !at || *at != i)
			continue;
		n = shared_binary_open(folder, st.st_uid, f, &b, err);
		if (n == 0)
			n = take_shared(e, b, (uint32_t)f->id, err);
		shared_binary_close(b);
	}
	free(folder);
	return n == -ERR_MEMORY ? n : 0;
}

int embedded_open_pieces(const char *const *path, size_t n_paths, struct embedded **ret,
			 struct err *err)
{
	struct embedded *e = calloc(1, sizeof(*e));
	size_t n_read = 0;
	int n = 0;

	if (!e)
		return err_set_memory(err, sizeof(*e));
	n = vec_reserve(&e->file, &e->cap_files, n_paths, sizeof(*e->file), err);
	if (n < 0) {
		free(e);
		return n;
	}
	for (size_t i = 0; i < n_paths && n != -ERR_MEMORY; i++) {
		n = add_recording(e, path[i], err);
		n_read += n == 0;
	}
	if (n_read > 0 && n != -ERR_MEMORY)
		n = add_shared(e, path[0], err);
	if (n_read > 0 && n != -ERR_MEMORY)
		n = list_complete(e, err);
	if (n < 0) {
		embedded_close(e);
		return n;
	}
	*ret = e;
	return 0;
}

int embedded_open(const char *path, struct embedded **ret, struct err *err)
{
	return embedded_open_pieces(&path, 1, ret, err);
}

void embedded_close(struct embedded *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_files; i++)
		file_close(&e->file[i]);
	free(e->file);
	metadata_fini(&e->metadata);
	free(e->piece);
	free(e->complete);
	free(e);
}

bool embedded_has_symbols(const struct embedded *e)
{
	return e->has_symbols;
}

size_t embedded_count(const struct embedded *e)
{
	return e->n_complete;
}

const struct metadata_file *embedded_get(const struct embedded *e, size_t i)
{
	return &e->metadata.embedded[e->complete[i]];
}

const struct metadata_file *embedded_find_module(const struct embedded *e, uint64_t file_id,
						 const char *path, const uint8_t *build_id,
						 size_t build_id_bytes)
{
	for (size_t i = 0; file_id != 0 && i < e->n_complete; i++) {
		if (embedded_get(e, i)->id == file_id)
			return embedded_get(e, i);
	}
	for (size_t i = 0; build_id_bytes > 0 && i < e->n_complete; i++) {
		const struct metadata_file *f = embedded_get(e, i);

		if (f->build_id.len == build_id_bytes && f->path.bytes &&
		    memcmp(f->build_id.bytes, build_id, build_id_bytes) == 0 &&
		    strcmp(f->path.bytes, path) == 0)
			return f;
	}
	return NULL;
}

/* Writes the contents of a piece to fd, at the piece's offset. raw and stored have room for the
 * greatest chunk. */
static int put_piece(const struct embedded *e, const struct piece *p, uint8_t *stored, uint8_t *raw,
		     int fd, struct err *err)
{
	const struct chunk_header *h = &p->header;
	const uint8_t *bytes = stored + HEAD_BYTES;
	size_t len = h->stored_bytes - HEAD_BYTES;
	int n = file_read_all(&e->file[p->in_file], p->chunk_offset, stored, h->stored_bytes, err);

	if (n < 0)
		return n;
	if (!chunk_payload_ok(h, stored))
		return err_set(err, ERR_FORMAT, "offset %" PRIu64 ": bad checksum",
			       p->chunk_offset);
	if (h->flags & CHUNK_FLAG_LZ4) {
		if (!decompress_block(bytes, len, raw, h->raw_bytes))
			return err_set(err, ERR_FORMAT, "offset %" PRIu64 ": bad compressed data",
				       p->chunk_offset);
		bytes = raw;
		len = h->raw_bytes;
	}
	return len ? temp_file_write(fd, p->file_offset, bytes, len, err) : 0;
}

/* The size of the greatest piece of a file. */
static size_t greatest(const struct embedded *e, uint64_t file_id, bool is_raw)
{
	size_t most = 1;

	for (size_t i = 0; i < e->n_pieces; i++) {
		const struct chunk_header *h = &e->piece[i].header;
		size_t len = is_raw ? h->raw_bytes : h->stored_bytes;

		if (e->piece[i].file_id == file_id && len > most)
			most = len;
	}
	return most;
}

int embedded_extract(const struct embedded *e, const struct metadata_file *file, const char *folder,
		     int *ret, struct err *err)
{
	uint8_t *stored = malloc(greatest(e, file->id, false));
	uint8_t *raw = malloc(greatest(e, file->id, true));
	uint64_t covered = 0;
	int fd = -1;
	int n = stored && raw ? temp_file_create(folder, &fd, err) : err_set_memory(err, 1);

	for (size_t i = 0; i < e->n_pieces && n == 0; i++) {
		const struct piece *p = &e->piece[i];

		if (p->file_id != file->id || p->file_offset != covered)
			continue; /* as in metadata_add_file_data(): only pieces in order count */
		n = put_piece(e, p, stored, raw, fd, err);
		covered += p->header.flags & CHUNK_FLAG_LZ4 ? p->header.raw_bytes
							    : p->header.stored_bytes - HEAD_BYTES;
	}
	free(stored);
	free(raw);
	if (n < 0 && fd >= 0) {
		close(fd);
		return n;
	}
	if (n == 0)
		*ret = fd;
	return n;
}
