/* recording/chunk_walk.c - see chunk_walk.h. */
#include "recording/chunk_walk.h"

#include <stdlib.h>

#include "recording/chunk_reader.h"
#include "recording/chunk_unpack.h"
#include "util/vec.h"

static bool is_described(unsigned type)
{
	return type != CHUNK_PAD && type != CHUNK_AREA && type != CHUNK_EVENTS &&
	       type != CHUNK_PENDING;
}

static int walk_piece(const struct recording_piece *piece, chunk_walk_fn on_chunk, void *user,
		      struct err *err)
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
			n = on_chunk(user, &p.header, payload, err);
	}
	free(payload);
	chunk_reader_fini(&walk);
	return n;
}

int chunk_walk(const struct recording *r, chunk_walk_fn on_chunk, void *user, struct err *err)
{
	int n = 0;

	for (size_t i = 0; n == 0 && i < r->n_pieces; i++)
		n = walk_piece(&r->piece[i], on_chunk, user, err);
	return n;
}
