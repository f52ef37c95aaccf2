/* recording/chunk_reader.c - see chunk_reader.h. */
#include "recording/chunk_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"

int chunk_reader_init(struct chunk_reader *r, struct file *file, struct damage *damage,
		      uint64_t offset, struct err *err)
{
	*r = (struct chunk_reader){
		.file = file,
		.damage = damage,
		.offset = offset,
		.complete_to = UINT64_MAX,
		.window = malloc(CHUNK_READER_WINDOW_BYTES),
	};
	return r->window ? 0 : err_set_memory(err, CHUNK_READER_WINDOW_BYTES);
}

void chunk_reader_fini(struct chunk_reader *r)
{
	free(r->window);
	r->window = NULL;
}

int chunk_reader_extend(struct chunk_reader *r, struct err *err)
{
	r->unfinished_bytes = 0;
	return file_update_size(r->file, err);
}

static bool is_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i])
			return false;
	}
	return true;
}

/* Is there a valid header whose payload ends inside the file? AREA blocks are useful one by one, so
 * an AREA that the end of the file cuts off counts as well, if nothing comes after it. */
static bool read_header(struct chunk_reader *r, uint64_t offset, const uint8_t *data,
			struct chunk_ref *ret)
{
	uint64_t left = r->file->size_bytes - offset - CHUNK_HEADER_BYTES;
	struct chunk_header h;

	if (!chunk_decode(data, &h))
		return false;
	if (h.stored_bytes > left && h.type != CHUNK_AREA)
		return false;
	*ret = (struct chunk_ref){
		.header = h,
		.offset = offset,
		.present_bytes = h.stored_bytes < left ? h.stored_bytes : left,
	};
	return true;
}

/* Reports the blocks of an AREA whose chunk header is lost: each block begins at a page and has a
 * header of its own. */
static int find_stray_blocks(struct chunk_reader *r, uint64_t offset, size_t len, struct err *err)
{
	for (uint64_t at = align_up(offset, FORMAT_HEADER_BYTES);
	     at + BLOCK_HEADER_BYTES <= offset + len; at += FORMAT_HEADER_BYTES) {
		const uint8_t *data = r->window + (at - offset);
		struct block_header h;
		int n;

		if (load_le32(data) != BLOCK_MAGIC || !block_decode(data, &h) ||
		    h.state == BLOCK_FREE || !r->on_stray)
			continue;
		n = r->on_stray(r->user, at, err);
		if (n < 0)
			return n;
	}
	return 0;
}

/* Skips ranges that the file system knows to be holes. */
static uint64_t skip_hole(const struct chunk_reader *r, uint64_t offset)
{
	off_t data = lseek(r->file->fd, (off_t)offset, SEEK_DATA);
	uint64_t aligned = align_down((uint64_t)data, FORMAT_CHUNK_ALIGN);

	if (data < 0)
		return errno == ENXIO ? r->file->size_bytes : offset;
	return aligned > offset ? aligned : offset;
}

struct search_result {
	struct chunk_ref chunk;
	bool is_found;
	bool only_zeros; /* in the range that was skipped */
};

/* How far a window of len bytes moves on: a header that its end cuts must be whole in the next
 * window. */
static size_t step(size_t len)
{
	if (len > 2 * BLOCK_HEADER_BYTES)
		return align_down(len, FORMAT_CHUNK_ALIGN) - BLOCK_HEADER_BYTES;
	return align_down(len, FORMAT_CHUNK_ALIGN) - CHUNK_HEADER_BYTES + FORMAT_CHUNK_ALIGN;
}

/* Looks for the next valid header at `from` or later. */
static int search(struct chunk_reader *r, uint64_t from, struct search_result *ret, struct err *err)
{
	uint64_t offset = align_up(from, FORMAT_CHUNK_ALIGN);
	size_t len = 0;
	int n;

	*ret = (struct search_result){.only_zeros = true};
	for (; offset + CHUNK_HEADER_BYTES <= r->file->size_bytes; offset += step(len)) {
		size_t at = 0;

		offset = skip_hole(r, offset);
		n = file_read(r->file, offset, r->window, CHUNK_READER_WINDOW_BYTES, &len, err);
		if (n < 0)
			return n;
		if (len > r->file->size_bytes - offset)
			len = (size_t)(r->file->size_bytes - offset);
		if (len < CHUNK_HEADER_BYTES)
			break;
		for (;;) {
			at = chunk_search(r->window, len, at);
			if (at >= len || read_header(r, offset + at, r->window + at, &ret->chunk))
				break;
			at += FORMAT_CHUNK_ALIGN;
		}
		if (!is_zero(r->window, at < len ? at : len)) {
			ret->only_zeros = false;
			n = find_stray_blocks(r, offset, at < len ? at : len, err);
			if (n < 0)
				return n;
		}
		ret->is_found = at < len;
		if (ret->is_found)
			return 0;
	}
	return 0;
}

/* Adds the range from r->offset to end to the damage, unless the bytes are merely unused. */
static void report_skipped(struct chunk_reader *r, const struct search_result *s, uint64_t end,
			   bool is_cut)
{
	uint64_t n_bytes = end - r->offset;

	if (r->offset >= r->complete_to && s->is_found && s->only_zeros)
		r->unfinished_bytes += n_bytes;
	else if (is_cut && !s->is_found)
		damage_add(r->damage, r->offset, n_bytes, "chunk cut off by the end of the file");
	else if (!s->only_zeros)
		damage_add(r->damage, r->offset, n_bytes, "damaged chunk header");
	else if (s->is_found || r->complete_to != UINT64_MAX)
		damage_add(r->damage, r->offset, n_bytes, "nothing but zeros where chunks were");
}

int chunk_reader_next(struct chunk_reader *r, struct chunk_ref *ret, struct err *err)
{
	uint8_t data[CHUNK_HEADER_BYTES];
	struct chunk_header cut;
	struct search_result s;
	size_t n_read = 0;
	bool is_cut;
	int n;

	if (r->offset >= r->file->size_bytes)
		return 0;
	n = file_read(r->file, r->offset, data, sizeof(data), &n_read, err);
	if (n < 0)
		return n;
	if (n_read == sizeof(data) && r->offset + sizeof(data) <= r->file->size_bytes &&
	    read_header(r, r->offset, data, ret)) {
		r->offset += chunk_total_bytes(&ret->header);
		return 1;
	}
	is_cut = n_read == sizeof(data) && chunk_decode(data, &cut);
	n = search(r, r->offset, &s, err);
	if (n < 0)
		return n;
	if (!s.is_found && r->offset >= r->complete_to) {
		r->unfinished_bytes = r->file->size_bytes - r->offset;
		return 0; /* it may be whole after chunk_reader_extend() */
	}
	if (!s.is_found && n_read < sizeof(data) && !is_zero(data, n_read))
		is_cut = true;
	report_skipped(r, &s, s.is_found ? s.chunk.offset : r->file->size_bytes, is_cut);
	if (!s.is_found) {
		r->offset = r->file->size_bytes;
		return 0;
	}
	*ret = s.chunk;
	r->offset = s.chunk.offset + chunk_total_bytes(&s.chunk.header);
	return 1;
}

const char *chunk_reader_type_name(unsigned type)
{
	static const char *const name[] = {"unknown",
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
					   "ALLOCATOR_SAMPLE",
					   "PENDING"};

	return type < ARRAY_LEN(name) ? name[type] : name[0];
}
