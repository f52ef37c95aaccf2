/* store/store_write.c - see store_write.h.
 *
 * Each column gathers its packed blocks and writes them in pieces of up to COLUMN_BYTES. So the
 * blocks of a column lie together, and a question about few columns reads few pages. A block gets
 * its offset when its piece is written; until then the column's list of waiting blocks has it.
 */
#include "store/store_write.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "store/checksum64.h"
#include "store/store_i.h"
#include "util/atomic_file.h"
#include "util/file.h"
#include "util/spill.h"

#define TABLE_PIECE_BYTES ((size_t)16 << 20) /* written at a time */
#define COLUMN_BYTES (512u * 1024) /* the most packed bytes of a column that wait to be written */
#define COLUMN_BLOCKS                                                                              \
	(COLUMN_BYTES / 64) /* at most, and they fit: a block takes 64 bytes or more */
#define DIRECTORY_MEMORY_BYTES (8u * 1024 * 1024) /* a longer directory lies in a file */
#define PUTS_PER_TRIM (256u * 1024) /* 8 MiB of entries */
#define BLOCKS_PER_TRIM (PUTS_PER_TRIM / STORE_N_COLUMNS)

_Static_assert(COLUMN_BYTES >= 2 * PACK_MAX_BYTES, "a block fits");

/* Blocks of one column that are not in the file yet. */
struct column_buffer {
	uint8_t *data; /* COLUMN_BYTES */
	size_t n_bytes; /* a multiple of STORE_ALIGN */
	struct {
		uint64_t block;
		size_t at; /* in data */
	} * waiting; /* COLUMN_BLOCKS, in order of arrival */
	size_t n_waiting;
};

struct store_writer {
	pthread_mutex_t lock; /* guards all below */
	struct atomic_file *file;
	struct spill *directory; /* struct store_entry, STORE_N_COLUMNS per block */
	uint64_t n_blocks; /* 1 + the greatest number of a block that was put */
	uint64_t n_puts;
	uint64_t replaced_bytes; /* of blocks that were put again */
	struct column_buffer column[STORE_N_COLUMNS];
	struct store_header header;
	struct err failure; /* the first one; a writer that failed can only be destroyed */
};

static int make_column(struct column_buffer *c, struct err *err)
{
	c->data = malloc(COLUMN_BYTES);
	c->waiting = malloc(COLUMN_BLOCKS * sizeof(*c->waiting));
	if (!c->data || !c->waiting)
		return err_set_memory(err, COLUMN_BYTES);
	return 0;
}

static void fill_header(struct store_header *h, const struct store_identity *identity)
{
	*h = (struct store_header){
		.magic = STORE_MAGIC,
		.version = STORE_VERSION,
		.header_bytes = sizeof(*h),
		.block_rows = STORE_BLOCK_ROWS,
		.n_columns = STORE_N_COLUMNS,
		.n_tables = STORE_N_TABLES,
		.entry_bytes = sizeof(struct store_entry),
		.identity = *identity,
	};
	memcpy(h->item_bytes, store_item_bytes, sizeof(h->item_bytes));
}

static int append_zeroes(struct store_writer *w, size_t len, struct err *err)
{
	static const uint8_t zero[STORE_HEADER_BYTES];

	ASSERT(len <= sizeof(zero));
	return atomic_file_append(w->file, zero, len, err);
}

/* old: NULL for a new store; otherwise it becomes the store that is continued, opened after the
 * file is locked. */
static int make_writer(const char *path, const struct store_identity *identity, struct store **old,
		       struct store_writer **ret, struct err *err)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	char *folder = file_folder(path);
	int r;

	if (!w || !folder) {
		free(w);
		free(folder);
		return err_set_memory(err, sizeof(*w));
	}
	pthread_mutex_init(&w->lock, NULL);
	fill_header(&w->header, identity);
	r = spill_create(folder, DIRECTORY_MEMORY_BYTES, &w->directory, err);
	for (unsigned c = 0; r == 0 && c < STORE_N_COLUMNS; c++)
		r = make_column(&w->column[c], err);
	if (r == 0)
		r = old ? atomic_file_extend(path, &w->file, err)
			: atomic_file_create(path, 0600, 0, &w->file, err);
	if (r == 0)
		r = old ? store_open(path, old, err) : append_zeroes(w, STORE_HEADER_BYTES, err);
	free(folder);
	if (r < 0) {
		store_writer_destroy(w);
		return r;
	}
	*ret = w;
	return 0;
}

int store_writer_create(const char *path, const struct store_identity *identity,
			struct store_writer **ret, struct err *err)
{
	return make_writer(path, identity, NULL, ret, err);
}

int store_writer_resume(const char *path, const struct store_identity *identity, struct store **old,
			struct store_writer **ret, struct err *err)
{
	int r = make_writer(path, identity, old, ret, err);

	if (r == 0)
		(*ret)->header.table[STORE_STATE] = store_state_extent(*old);
	return r;
}

void store_writer_destroy(struct store_writer *w)
{
	if (!w)
		return;
	for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
		free(w->column[c].data);
		free(w->column[c].waiting);
	}
	atomic_file_discard(w->file);
	spill_destroy(w->directory);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Keeps the first failure; returns r. */
static int keep_failure(struct store_writer *w, int r, struct err *err)
{
	if (r < 0 && w->failure.code == ERR_NONE) {
		int code = -r;

		if (err)
			w->failure = *err;
		else
			err_set(&w->failure, code, "the store could not be written");
	}
	return r;
}

static int check_failed(const struct store_writer *w, struct err *err)
{
	if (w->failure.code == ERR_NONE)
		return 0;
	if (err)
		*err = w->failure;
	return -(int)w->failure.code;
}

static int align_file(struct store_writer *w, struct err *err)
{
	uint64_t size = atomic_file_size(w->file);

	return append_zeroes(w, align_up(size, STORE_ALIGN) - size, err);
}

static struct store_entry *entry_of(struct store_writer *w, enum store_column c, uint64_t block)
{
	struct store_entry *entry = spill_data(w->directory);

	return &entry[block * STORE_N_COLUMNS + c];
}

/* Writes the waiting blocks of a column and puts their offsets into the directory. */
static int flush_column(struct store_writer *w, enum store_column c, struct err *err)
{
	struct column_buffer *col = &w->column[c];
	uint64_t offset;
	int r = align_file(w, err);

	if (r < 0)
		return r;
	offset = atomic_file_size(w->file);
	r = atomic_file_append(w->file, col->data, col->n_bytes, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < col->n_waiting; i++)
		entry_of(w, c, col->waiting[i].block)->offset = offset + col->waiting[i].at;
	col->n_bytes = 0;
	col->n_waiting = 0;
	return 0;
}

/* Makes the directory long enough for a block. */
static int reserve_block(struct store_writer *w, uint64_t block, struct err *err)
{
	const size_t row_bytes = STORE_N_COLUMNS * sizeof(struct store_entry);
	uint64_t n = spill_size(w->directory) / row_bytes;

	if (block >= n) {
		uint64_t want = n + n / 2 + 64;
		int r;

		if (block >= PTRDIFF_MAX / row_bytes / 2)
			return err_set(err, ERR_LIMIT, "block %" PRIu64 " is beyond any store",
				       block);
		r = spill_resize(w->directory, (block < want ? want : block + 1) * row_bytes, err);
		if (r < 0)
			return r;
	}
	if (block >= w->n_blocks)
		w->n_blocks = block + 1;
	if (++w->n_puts % PUTS_PER_TRIM == 0)
		spill_trim(w->directory);
	return 0;
}

/* A packed block. */
struct packed_block {
	_Alignas(STORE_ALIGN) uint8_t data[PACK_MAX_BYTES];
	size_t len;
	uint64_t block;
	struct store_entry entry;
};

/* The lock is held. */
static int add_block(struct store_writer *w, enum store_column c, const struct packed_block *p,
		     struct err *err)
{
	struct column_buffer *col = &w->column[c];
	size_t room = align_up(p->len, STORE_ALIGN), old_bytes = 0;
	int r = reserve_block(w, p->block, err);

	if (r == 0 && (room > COLUMN_BYTES - col->n_bytes || col->n_waiting == COLUMN_BLOCKS))
		r = flush_column(w, c, err);
	if (r < 0)
		return r;
	if (pack_check(&entry_of(w, c, p->block)->head, &old_bytes))
		w->replaced_bytes += align_up(old_bytes, STORE_ALIGN);
	*entry_of(w, c, p->block) = p->entry;
	if (p->len == 0)
		return 0;
	memcpy(col->data + col->n_bytes, p->data, p->len);
	memset(col->data + col->n_bytes + p->len, 0, room - p->len);
	col->waiting[col->n_waiting].block = p->block;
	col->waiting[col->n_waiting].at = col->n_bytes;
	col->n_waiting++;
	col->n_bytes += room;
	return 0;
}

int store_writer_put_block(struct store_writer *w, enum store_column c, uint64_t block,
			   const uint64_t *value, uint32_t n_rows, struct err *err)
{
	struct packed_block p;
	int r;

	ASSERT(n_rows >= 1 && n_rows <= STORE_BLOCK_ROWS && (unsigned)c < STORE_N_COLUMNS);
	p.block = block;
	p.entry.offset = STORE_HEADER_BYTES;
	p.len = pack_encode(value, n_rows, c == STORE_ALLOC_NS, &p.entry.head, p.data);
	pthread_mutex_lock(&w->lock);
	r = check_failed(w, err);
	if (r == 0)
		r = keep_failure(w, add_block(w, c, &p, err), err);
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* spill: what the items lie in; their pages leave memory as they are written. NULL: memory. */
static int write_table(struct store_writer *w, enum store_table table, const void *item,
		       size_t n_items, const struct spill *spill, struct err *err)
{
	struct store_extent *at = &w->header.table[table];
	size_t n_bytes;
	int r;

	if (n_items > PTRDIFF_MAX / store_item_bytes[table])
		return err_set(err, ERR_LIMIT, "a table of %zu items is beyond any store", n_items);
	r = align_file(w, err);
	if (r < 0)
		return r;
	*at = (struct store_extent){atomic_file_size(w->file), n_items};
	n_bytes = n_items * store_item_bytes[table];
	for (size_t done = 0; r == 0 && done < n_bytes; done += TABLE_PIECE_BYTES) {
		size_t n = n_bytes - done < TABLE_PIECE_BYTES ? n_bytes - done : TABLE_PIECE_BYTES;

		r = atomic_file_append(w->file, (const uint8_t *)item + done, n, err);
		if (spill)
			spill_trim_part(spill, done, n);
	}
	return r;
}

static int put_table(struct store_writer *w, enum store_table table, const void *item,
		     size_t n_items, const struct spill *spill, struct err *err)
{
	int r;

	ASSERT((unsigned)table < STORE_N_TABLES);
	pthread_mutex_lock(&w->lock);
	r = check_failed(w, err);
	if (r == 0)
		r = keep_failure(w, write_table(w, table, item, n_items, spill, err), err);
	pthread_mutex_unlock(&w->lock);
	return r;
}

int store_writer_put_table(struct store_writer *w, enum store_table table, const void *item,
			   size_t n_items, struct err *err)
{
	return put_table(w, table, item, n_items, NULL, err);
}

int store_writer_put_spilled(struct store_writer *w, enum store_table table,
			     const struct spill *items, size_t n_items, struct err *err)
{
	ASSERT(n_items * store_item_bytes[table] <= spill_size(items));
	return put_table(w, table, spill_data(items), n_items, items, err);
}

int store_writer_begin_table(struct store_writer *w, enum store_table table, struct err *err)
{
	int r = check_failed(w, err);

	ASSERT((unsigned)table < STORE_N_TABLES);
	if (r == 0)
		r = keep_failure(w, align_file(w, err), err);
	if (r == 0)
		w->header.table[table] = (struct store_extent){.offset = atomic_file_size(w->file)};
	return r;
}

int store_writer_add_items(struct store_writer *w, enum store_table table, const void *item,
			   size_t n_items, struct err *err)
{
	int r = check_failed(w, err);

	if (r == 0)
		r = keep_failure(
			w,
			atomic_file_append(w->file, item, n_items * store_item_bytes[table], err),
			err);
	if (r == 0)
		w->header.table[table].n_items += n_items;
	return r;
}

/* ---- stores that grow ---- */

int store_writer_sync(struct store_writer *w, struct err *err)
{
	int r;

	pthread_mutex_lock(&w->lock);
	r = check_failed(w, err);
	for (unsigned c = 0; r == 0 && c < STORE_N_COLUMNS; c++)
		r = keep_failure(w, flush_column(w, c, err), err);
	if (r == 0)
		r = keep_failure(w, atomic_file_flush(w->file, err), err);
	pthread_mutex_unlock(&w->lock);
	return r;
}

void *store_writer_directory(struct store_writer *w, uint64_t n_blocks, size_t *n_bytes,
			     struct err *err)
{
	static struct store_entry none;

	*n_bytes = 0;
	if (n_blocks == 0)
		return &none;
	if (reserve_block(w, n_blocks - 1, err) < 0)
		return NULL;
	*n_bytes = n_blocks * STORE_N_COLUMNS * sizeof(struct store_entry);
	return spill_data(w->directory);
}

int store_writer_read_block(struct store_writer *w, enum store_column c, uint64_t block,
			    uint64_t *value, uint32_t *n_rows, struct err *err)
{
	_Alignas(STORE_ALIGN) uint8_t packed[2 * PACK_MAX_BYTES + 8 * PACK_MAX_VALUES];
	const struct store_entry *e = entry_of(w, c, block);
	const struct file file = {.fd = atomic_file_fd(w->file)};
	size_t len = 0;
	int r;

	if (block >= w->n_blocks || !pack_check(&e->head, &len) || len > sizeof(packed))
		return err_set(err, ERR_FORMAT, "block %" PRIu64 " of column %u is not possible",
			       block, (unsigned)c);
	r = file_read_all(&file, e->offset, packed, len, err);
	if (r < 0) {
		err_prefix(err, "a block of the store cannot be read again");
		return r;
	}
	pack_decode(&e->head, packed, value);
	*n_rows = e->head.last + 1u;
	return 0;
}

uint64_t store_writer_size(const struct store_writer *w)
{
	return atomic_file_size(w->file);
}

uint64_t store_writer_replaced_bytes(const struct store_writer *w)
{
	return w->replaced_bytes;
}

/* Was every block of every column put, each with the right number of rows? */
static int check_blocks(struct store_writer *w, uint64_t n_rows, struct err *err)
{
	uint64_t n_blocks = store_blocks_for(n_rows);

	if (w->n_blocks != n_blocks)
		return err_set(err, ERR_FORMAT,
			       "a store of %" PRIu64 " rows has %" PRIu64
			       " blocks of rows, but %" PRIu64 " were written",
			       n_rows, n_blocks, w->n_blocks);
	for (uint64_t block = 0; block < n_blocks; block++) {
		if (block % BLOCKS_PER_TRIM == 0)
			spill_trim(w->directory);
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			const struct pack_head *h = &entry_of(w, c, block)->head;

			if (h->encoding == PACK_NONE ||
			    h->last + 1u != store_rows_of(n_rows, block))
				return err_set(err, ERR_FORMAT,
					       "block %" PRIu64 " of column %u was not written, or "
					       "not with all its rows",
					       block, c);
		}
	}
	return 0;
}

static int write_directory(struct store_writer *w, struct err *err)
{
	struct store_header *h = &w->header;
	const size_t row_bytes = STORE_N_COLUMNS * sizeof(struct store_entry);
	const size_t step = DIRECTORY_MEMORY_BYTES / row_bytes * row_bytes;
	size_t size = w->n_blocks * row_bytes;
	struct checksum64 sum;
	int r;

	r = align_file(w, err);
	if (r < 0)
		return r;
	h->directory_offset = atomic_file_size(w->file);
	checksum64_init(&sum);
	for (size_t at = 0; at < size; at += step) {
		const uint8_t *from = (const uint8_t *)spill_data(w->directory) + at;
		size_t len = size - at < step ? size - at : step;

		checksum64_add(&sum, from, len);
		r = atomic_file_append(w->file, from, len, err);
		if (r < 0)
			return r;
		spill_trim(w->directory);
	}
	h->directory_checksum = checksum64_sum(&sum);
	return 0;
}

static int finish(struct store_writer *w, uint64_t n_rows, struct err *err)
{
	struct store_header *h = &w->header;
	int r = check_blocks(w, n_rows, err);

	for (unsigned c = 0; r == 0 && c < STORE_N_COLUMNS; c++)
		r = flush_column(w, c, err);
	if (r == 0)
		r = write_directory(w, err);
	if (r < 0)
		return r;
	for (unsigned t = 0; t < STORE_N_TABLES; t++) {
		if (h->table[t].offset == 0) /* never put: empty */
			h->table[t].offset = STORE_HEADER_BYTES;
	}
	h->n_rows = n_rows;
	h->file_bytes = atomic_file_size(w->file);
	h->checksum = checksum64_of(h, offsetof(struct store_header, checksum));
	r = atomic_file_pwrite(w->file, 0, h, sizeof(*h), err);
	return r;
}

int store_writer_commit(struct store_writer *w, uint64_t n_rows, struct err *err)
{
	int r;

	pthread_mutex_lock(&w->lock);
	r = check_failed(w, err);
	if (r == 0)
		r = finish(w, n_rows, err);
	if (r == 0) {
		r = atomic_file_commit(w->file, err);
		w->file = NULL;
	}
	keep_failure(w, r, err);
	if (r == 0) /* refuse a second commit */
		w->failure = (struct err){.code = ERR_REFUSED, .text = "the store is finished"};
	pthread_mutex_unlock(&w->lock);
	return r;
}
