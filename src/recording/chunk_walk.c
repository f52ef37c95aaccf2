/* recording/chunk_walk.c - see chunk_walk.h. */
#include "recording/chunk_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/checksum.h"
#include "format/field.h"
#include "recording/chunk_reader.h"
#include "recording/chunk_unpack.h"
#include "recording/shared_binary.h"
#include "util/vec.h"

static bool is_described(unsigned type)
{
	return type != CHUNK_PAD && type != CHUNK_AREA && type != CHUNK_EVENTS &&
	       type != CHUNK_PENDING;
}

/* The file of a FILE chunk, if its contents are beside the recording and were found when it was
 * opened; else NULL. */
static const struct metadata_file *find_beside(const struct recording *r,
					       const struct chunk_header *h, const uint8_t *payload)
{
	struct cursor c = cursor_make(payload, h->stored_bytes);
	const uint64_t *at = NULL;
	bool is_beside = false;
	struct field f;

	while (h->type == CHUNK_FILE && field_next(&c, &f)) {
		if (f.tag == FILE_ID)
			at = map_find(&r->metadata.embedded_at, field_u64(&f));
		is_beside = is_beside || (f.tag == FILE_IS_BESIDE && field_u64(&f));
	}
	return at && is_beside && r->metadata.embedded[*at].is_complete ? &r->metadata.embedded[*at]
									: NULL;
}

/* Visits a FILE chunk as if its contents were in the recording. */
static int visit_file(const struct chunk_header *h, const uint8_t *payload, chunk_walk_fn on_chunk,
		      void *user, struct err *err)
{
	uint8_t *copy = malloc(h->stored_bytes + 1);
	struct field_writer w = field_writer_make(copy, h->stored_bytes);
	struct cursor c = cursor_make(payload, h->stored_bytes);
	struct chunk_header changed = *h;
	struct field f;
	int n;

	if (!copy)
		return err_set_memory(err, h->stored_bytes);
	while (field_next(&c, &f)) {
		if (f.tag != FILE_IS_BESIDE)
			field_put_bytes(&w, (unsigned)f.tag, f.bytes, f.len);
	}
	changed.stored_bytes = changed.raw_bytes = (uint32_t)w.len;
	changed.payload_checksum = checksum_bytes(copy, w.len);
	n = on_chunk(user, &changed, copy, err);
	free(copy);
	return n;
}

/* Visits the contents of a file that lies beside the recording. */
static int visit_contents(const struct recording *r, const struct metadata_file *file,
			  chunk_walk_fn on_chunk, void *user, struct err *err)
{
	struct shared_binary *b = NULL;
	uint8_t *payload = NULL;
	size_t cap_payload = 0;
	struct chunk_ref p;
	int n = shared_binary_open(r->folder, r->owner, file, &b, err);

	while (n == 0 && (n = shared_binary_next(b, &p, err)) > 0) {
		n = vec_reserve(&payload, &cap_payload, (size_t)p.header.stored_bytes + 1, 1, err);
		if (n == 0)
			n = file_read_all(&b->file, p.offset + CHUNK_HEADER_BYTES, payload,
					  p.header.stored_bytes, err);
		if (n < 0 || !chunk_payload_ok(&p.header, payload))
			continue;
		store_le32(payload, (uint32_t)file->id);
		p.header.payload_checksum = checksum_bytes(payload, p.header.stored_bytes);
		n = on_chunk(user, &p.header, payload, err);
	}
	shared_binary_close(b);
	free(payload);
	return n;
}

static int visit(const struct recording *r, const struct chunk_header *h, const uint8_t *payload,
		 chunk_walk_fn on_chunk, void *user, struct err *err)
{
	const struct metadata_file *beside = find_beside(r, h, payload);
	int n;

	if (!beside)
		return on_chunk(user, h, payload, err);
	n = visit_file(h, payload, on_chunk, user, err);
	return n == 0 ? visit_contents(r, beside, on_chunk, user, err) : n;
}

static int walk_piece(const struct recording *r, const struct recording_piece *piece,
		      chunk_walk_fn on_chunk, void *user, struct err *err)
{
	struct damage ignored = {0}; /* opening has reported it already */
	struct file file = piece->file; /* a copy, with the end at the time of opening */
	struct chunk_reader walk;
	struct chunk_ref p;
	uint8_t *payload = NULL;
	size_t cap_payload = 0;
	int n = chunk_reader_init(&walk, &file, &ignored,
				  align_up(piece->header.header_bytes, FORMAT_CHUNK_ALIGN), err);

	while (n == 0 && (n = chunk_reader_next(&walk, &p, err)) > 0) {
		size_t n_read = 0;

		n = 0;
		if (!is_described(p.header.type))
			continue;
		n = vec_reserve(&payload, &cap_payload, (size_t)p.header.stored_bytes + 1, 1, err);
		if (n == 0)
			n = file_read(&file, p.offset + CHUNK_HEADER_BYTES, payload,
				      p.header.stored_bytes, &n_read, err);
		if (n == 0 && n_read == p.header.stored_bytes &&
		    chunk_payload_ok(&p.header, payload))
			n = visit(r, &p.header, payload, on_chunk, user, err);
	}
	free(payload);
	chunk_reader_fini(&walk);
	return n;
}

int chunk_walk(const struct recording *r, chunk_walk_fn on_chunk, void *user, struct err *err)
{
	int n = 0;

	for (size_t i = 0; n == 0 && i < r->n_pieces; i++)
		n = walk_piece(r, &r->piece[i], on_chunk, user, err);
	return n;
}
