/* ingest/row_scratch.c - see row_scratch.h. */
#include "ingest/row_scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pack.h"
#include "util/spill.h"
#include "util/temp_file.h"

#define N_END_COLUMNS 6
#define BUFFER_BYTES (4u << 20) /* are written at a time */
#define INDEX_BUDGET_BYTES (16u << 20)

_Static_assert(STORE_BLOCK_ROWS <= PACK_MAX_VALUES, "a block of rows is a block of the packer");

static const enum store_column end_columns[N_END_COLUMNS] = {
	STORE_LIFETIME_NS, STORE_FLAGS, STORE_FREE_STACK,
	STORE_FREE_THREAD, STORE_CHAIN, STORE_CHAIN_POSITION,
};

/* Where a block lies in the file. n_bytes 0: it is not there. */
struct scratch_range {
	uint64_t offset;
	uint32_t n_bytes;
	uint32_t n_rows;
};

struct row_scratch {
	const char *folder;
	int fd;
	uint64_t file_bytes; /* without those in the buffer */
	uint8_t *buffer; /* BUFFER_BYTES */
	size_t n_buffer;
	struct spill *index; /* struct scratch_range by block */
	uint64_t column[STORE_BLOCK_ROWS];
	uint64_t packed[(sizeof(struct pack_head) + PACK_MAX_BYTES) * N_END_COLUMNS / 8];
};

int row_scratch_create(const char *folder, struct row_scratch **ret, struct err *err)
{
	struct row_scratch *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->folder = folder;
	s->fd = -1;
	s->buffer = malloc(BUFFER_BYTES);
	r = s->buffer ? spill_create(folder, INDEX_BUDGET_BYTES, &s->index, err)
		      : err_set_memory(err, BUFFER_BYTES);
	if (r < 0) {
		row_scratch_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void row_scratch_destroy(struct row_scratch *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	spill_destroy(s->index);
	free(s->buffer);
	free(s);
}

uint64_t *row_scratch_column(struct row_scratch *s)
{
	return s->column;
}

static uint64_t get_field(const struct row_end *e, enum store_column c)
{
	switch (c) {
	case STORE_LIFETIME_NS:
		return e->lifetime_ns;
	case STORE_FLAGS:
		return e->flags;
	case STORE_FREE_STACK:
		return e->free_stack;
	case STORE_FREE_THREAD:
		return e->free_thread;
	case STORE_CHAIN:
		return e->chain;
	default:
		return e->chain_position;
	}
}

static void set_field(struct row_end *e, enum store_column c, uint64_t value)
{
	switch (c) {
	case STORE_LIFETIME_NS:
		e->lifetime_ns = value;
		break;
	case STORE_FLAGS:
		e->flags = (uint32_t)value;
		break;
	case STORE_FREE_STACK:
		e->free_stack = (uint32_t)value;
		break;
	case STORE_FREE_THREAD:
		e->free_thread = (uint32_t)value;
		break;
	case STORE_CHAIN:
		e->chain = value;
		break;
	default:
		e->chain_position = (uint32_t)value;
		break;
	}
}

static void make_column(struct row_scratch *s, enum store_column c, const struct row_end *end,
			uint32_t n_rows)
{
	for (uint32_t i = 0; i < n_rows; i++)
		s->column[i] = get_field(&end[i], c);
}

int row_scratch_put_ends(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 const struct row_end *end, uint32_t n_rows, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_END_COLUMNS; i++) {
		make_column(s, end_columns[i], end, n_rows);
		r = store_writer_put_block(w, end_columns[i], block, s->column, n_rows, err);
	}
	return r;
}

static int flush(struct row_scratch *s, struct err *err)
{
	int r = 0;

	if (s->fd < 0)
		r = temp_file_create(s->folder, &s->fd, err);
	if (r == 0)
		r = temp_file_write(s->fd, s->file_bytes, s->buffer, s->n_buffer, err);
	if (r < 0)
		return r;
	s->file_bytes += s->n_buffer;
	s->n_buffer = 0;
	return 0;
}

/* Gives the index entry of a block; makes room if need be. */
static int range_of(struct row_scratch *s, uint64_t block, struct scratch_range **ret,
		    struct err *err)
{
	size_t need = (size_t)(block + 1) * sizeof(struct scratch_range);
	int r = 0;

	if (need > spill_size(s->index))
		r = spill_resize(s->index, need + need / 2 + 65536, err);
	if (r == 0)
		*ret = (struct scratch_range *)spill_data(s->index) + block;
	return r;
}

int row_scratch_save(struct row_scratch *s, uint64_t block, const struct row_end *end,
		     uint32_t n_rows, struct err *err)
{
	uint8_t *at = (uint8_t *)s->packed;
	struct scratch_range *range = NULL;
	size_t n_bytes;
	int r = 0;

	for (size_t i = 0; i < N_END_COLUMNS; i++) {
		struct pack_head head;

		make_column(s, end_columns[i], end, n_rows);
		n_bytes = pack_encode(s->column, n_rows, false, &head, at + sizeof(head));
		memcpy(at, &head, sizeof(head));
		at += sizeof(head) + n_bytes;
	}
	n_bytes = (size_t)(at - (uint8_t *)s->packed);
	if (s->n_buffer + n_bytes > BUFFER_BYTES)
		r = flush(s, err);
	if (r == 0)
		r = range_of(s, block, &range, err);
	if (r < 0)
		return r;
	memcpy(s->buffer + s->n_buffer, s->packed, n_bytes);
	*range = (struct scratch_range){s->file_bytes + s->n_buffer, (uint32_t)n_bytes, n_rows};
	s->n_buffer += n_bytes;
	return 0;
}

static struct scratch_range find_range(const struct row_scratch *s, uint64_t block)
{
	if ((block + 1) * sizeof(struct scratch_range) > spill_size(s->index))
		return (struct scratch_range){0};
	return ((const struct scratch_range *)spill_data(s->index))[block];
}

bool row_scratch_has(const struct row_scratch *s, uint64_t block)
{
	return find_range(s, block).n_bytes != 0;
}

int row_scratch_load(struct row_scratch *s, uint64_t block, struct row_end *end, uint32_t *n_rows,
		     struct err *err)
{
	struct scratch_range range = find_range(s, block);
	const uint8_t *at = (const uint8_t *)s->packed;
	int r = 0;

	if (s->n_buffer)
		r = flush(s, err);
	if (r == 0)
		r = temp_file_read(s->fd, range.offset, s->packed, range.n_bytes, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < N_END_COLUMNS; i++) {
		struct pack_head head;
		size_t n_bytes = 0;

		memcpy(&head, at, sizeof(head));
		if (!pack_check(&head, &n_bytes))
			return err_set(err, ERR_IO,
				       "a temporary file holds other bytes than were written");
		pack_decode(&head, at + sizeof(head), s->column);
		at += sizeof(head) + n_bytes;
		for (uint32_t k = 0; k < range.n_rows; k++)
			set_field(&end[k], end_columns[i], s->column[k]);
	}
	*n_rows = range.n_rows;
	return 0;
}

int row_scratch_load_put(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 struct row_end *end, uint32_t *n_rows, struct err *err)
{
	for (size_t i = 0; i < N_END_COLUMNS; i++) {
		int r = store_writer_read_block(w, end_columns[i], block, s->column, n_rows, err);

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < *n_rows; k++)
			set_field(&end[k], end_columns[i], s->column[k]);
	}
	return 0;
}
