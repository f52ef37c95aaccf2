/* ingest/rows.c - see rows.h. */
#include "ingest/rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest/late_ends.h"
#include "ingest/row_scratch.h"

#define QUEUE_BLOCKS 16u /* blocks that may wait for the packer, besides those of the window */
#define RING_BLOCKS (ROWS_WINDOW_BLOCKS + QUEUE_BLOCKS)

/* A block of rows in memory. */
struct row_block {
	struct row_alloc alloc[STORE_BLOCK_ROWS];
	struct row_end end[STORE_BLOCK_ROWS];
	uint32_t n_rows;
	uint32_t n_ended;
};

/* Blocks are numbered from 0 and lie in ring[number % RING_BLOCKS]:
 *
 *   0 ...... n_packed ...... n_closed ...... n_rows / STORE_BLOCK_ROWS
 *   packed   the packer's    the window
 */
struct rows {
	struct store_writer *writer;
	struct late_ends *late_ends;
	struct row_scratch *scratch;
	struct row_block *ring[RING_BLOCKS]; /* made when first needed */
	uint64_t n_rows;
	uint64_t n_closed; /* only the caller changes it, with lock held */
	uint64_t n_synced; /* blocks that rows_sync() put into the store */
	const char *folder;

	pthread_t packer;
	bool has_packer;
	pthread_mutex_t lock; /* guards all fields below, and n_closed */
	pthread_cond_t changed;
	uint64_t n_packed;
	bool is_last; /* no more blocks will be closed */
	int result; /* of the packer: 0 or an error, whose text is in err */
	struct err err;
};

/* ---- the packer thread ---- */

#define COLUMN_OF(field)                                                                           \
	for (uint32_t i = 0; i < b->n_rows; i++)                                                   \
		ret[i] = b->alloc[i].field;                                                        \
	break

static void alloc_column(const struct row_block *b, enum store_column c, uint64_t *ret)
{
	switch (c) {
	case STORE_ALLOC_NS:
		COLUMN_OF(alloc_ns);
	case STORE_SIZE_BYTES:
		COLUMN_OF(size_bytes);
	case STORE_ADDR:
		COLUMN_OF(addr);
	case STORE_STACK:
		COLUMN_OF(stack);
	case STORE_THREAD:
		COLUMN_OF(thread);
	case STORE_EXTRA_BYTES:
		COLUMN_OF(extra_bytes);
	default:
		COLUMN_OF(marker);
	}
}

static const enum store_column alloc_columns[] = {
	STORE_ALLOC_NS, STORE_SIZE_BYTES,  STORE_ADDR,   STORE_STACK,
	STORE_THREAD,   STORE_EXTRA_BYTES, STORE_MARKER,
};

static int put_allocs(struct rows *r, uint64_t block, const struct row_block *b, uint64_t *column,
		      struct err *err)
{
	int n = 0;

	for (size_t i = 0; n == 0 && i < ARRAY_LEN(alloc_columns); i++) {
		alloc_column(b, alloc_columns[i], column);
		n = store_writer_put_block(r->writer, alloc_columns[i], block, column, b->n_rows,
					   err);
	}
	return n;
}

/* Packs a block. is_final: none of its rows can end any more. */
static int pack(struct rows *r, uint64_t block, const struct row_block *b, bool is_final,
		struct err *err)
{
	uint64_t *column = row_scratch_column(r->scratch);
	int n = put_allocs(r, block, b, column, err);

	if (n < 0)
		return n;
	if (is_final || b->n_ended == b->n_rows)
		return row_scratch_put_ends(r->scratch, r->writer, block, b->end, b->n_rows, err);
	return row_scratch_save(r->scratch, block, b->end, b->n_rows, err);
}

static void *run_packer(void *arg)
{
	struct rows *r = arg;
	int n = 0;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		uint64_t block;
		bool is_last;

		while (r->n_closed == r->n_packed && !r->is_last)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->n_closed == r->n_packed)
			break;
		block = r->n_packed;
		is_last = r->is_last;
		pthread_mutex_unlock(&r->lock);
		if (n == 0)
			n = pack(r, block, r->ring[block % RING_BLOCKS], is_last, &r->err);
		pthread_mutex_lock(&r->lock);
		r->result = n;
		r->n_packed++;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- the caller's thread ---- */

/* Makes the temporary files for late ends and for the ends of blocks whose rows have not all
 * ended. */
static int make_files(struct rows *r, struct err *err)
{
	int n = late_ends_create(r->folder, &r->late_ends, err);

	return n < 0 ? n : row_scratch_create(r->folder, &r->scratch, err);
}

int rows_create(struct store_writer *writer, const char *folder, struct rows **ret, struct err *err)
{
	struct rows *r = calloc(1, sizeof(*r));
	int n;

	if (!r)
		return err_set_memory(err, sizeof(*r));
	r->writer = writer;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->folder = folder;
	n = make_files(r, err);
	if (n == 0) {
		n = pthread_create(&r->packer, NULL, run_packer, r);
		r->has_packer = n == 0;
		if (n != 0)
			n = err_set_errno(err, n, "no thread can be started");
	}
	if (n < 0) {
		rows_destroy(r);
		return n;
	}
	*ret = r;
	return 0;
}

/* Waits until the packer has packed all closed blocks and ended. */
static void stop_packer(struct rows *r)
{
	if (!r->has_packer)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_last = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->packer, NULL);
	r->has_packer = false;
}

void rows_destroy(struct rows *r)
{
	if (!r)
		return;
	stop_packer(r);
	for (size_t i = 0; i < RING_BLOCKS; i++)
		free(r->ring[i]);
	row_scratch_destroy(r->scratch);
	late_ends_destroy(r->late_ends);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

uint64_t rows_count(const struct rows *r)
{
	return r->n_rows;
}

static int packer_result(struct rows *r, struct err *err)
{
	if (r->result < 0 && err)
		*err = r->err;
	return r->result;
}

/* Makes room in the ring for a block: closes the oldest block of the window, and waits until the
 * block that had the slot of the new one is packed. */
static int begin_block(struct rows *r, uint64_t block, struct err *err)
{
	struct row_block **slot = &r->ring[block % RING_BLOCKS];
	int n;

	pthread_mutex_lock(&r->lock);
	if (block - r->n_closed >= ROWS_WINDOW_BLOCKS) {
		r->n_closed++;
		pthread_cond_broadcast(&r->changed);
	}
	while (block >= RING_BLOCKS && r->n_packed <= block - RING_BLOCKS)
		pthread_cond_wait(&r->changed, &r->lock);
	n = packer_result(r, err);
	pthread_mutex_unlock(&r->lock);
	if (n < 0)
		return n;
	if (!*slot)
		*slot = malloc(sizeof(**slot));
	if (!*slot)
		return err_set_memory(err, sizeof(**slot));
	(*slot)->n_rows = (*slot)->n_ended = 0;
	return 0;
}

struct row_alloc *rows_add(struct rows *r, uint32_t flags, struct err *err)
{
	uint64_t block = r->n_rows / STORE_BLOCK_ROWS;
	struct row_block *b;

	if (r->n_rows % STORE_BLOCK_ROWS == 0 && begin_block(r, block, err) < 0)
		return NULL;
	b = r->ring[block % RING_BLOCKS];
	b->end[b->n_rows] = (struct row_end){.flags = flags};
	r->n_rows++;
	return &b->alloc[b->n_rows++];
}

/* Adds what is known of an end: see rows_set_end(). */
static void merge_end(struct row_end *at, const struct row_end *more)
{
	at->flags |= more->flags;
	if (more->lifetime_ns) {
		at->lifetime_ns = more->lifetime_ns;
		at->free_stack = more->free_stack;
		at->free_thread = more->free_thread;
	}
	if (more->chain) {
		at->chain = more->chain;
		at->chain_position = more->chain_position;
	}
}

int rows_set_end(struct rows *r, uint64_t row, const struct row_end *end, struct err *err)
{
	uint64_t block = row / STORE_BLOCK_ROWS;
	struct row_block *b;

	ASSERT(row < r->n_rows);
	if (unlikely(block < r->n_closed))
		return late_ends_add(r->late_ends, row, end, err);
	b = r->ring[block % RING_BLOCKS];
	b->n_ended += end->lifetime_ns != 0;
	merge_end(&b->end[row % STORE_BLOCK_ROWS], end);
	return 0;
}

void rows_prefetch(const struct rows *r, uint64_t row)
{
	uint64_t block = row / STORE_BLOCK_ROWS;

	if (row < r->n_rows && block >= r->n_closed)
		__builtin_prefetch(&r->ring[block % RING_BLOCKS]->end[row % STORE_BLOCK_ROWS], 1);
}

/* ---- the end ---- */

/* Loads the ends of a packed block to ret. *is_there false: the block has no late ends (is_late)
 * and all of its ends are in the store, where they stay as they are. */
static int load_ends(struct rows *r, uint64_t block, bool is_late, struct row_block *ret,
		     bool *is_there, struct err *err)
{
	*is_there = true;
	if (row_scratch_has(r->scratch, block))
		return row_scratch_load(r->scratch, block, ret->end, &ret->n_rows, err);
	if (is_late && block < r->n_synced)
		return row_scratch_load_put(r->scratch, r->writer, block, ret->end, &ret->n_rows,
					    err);
	*is_there = false;
	return 0;
}

/* A block of the ring that is not in use: the one after the block that is being filled. */
static struct row_block *unused_block(struct rows *r, struct err *err)
{
	struct row_block **slot = &r->ring[(r->n_closed + 1) % RING_BLOCKS];

	if (!*slot)
		*slot = malloc(sizeof(**slot));
	if (!*slot)
		err_set_memory(err, sizeof(**slot));
	return *slot;
}

/* Adds the late ends of one bin to its blocks, up to block n_blocks, and writes the ends into the
 * store. */
static int finish_bin(struct rows *r, uint64_t bin, uint64_t n_blocks, struct err *err)
{
	uint64_t first = bin * LATE_ENDS_BIN_BLOCKS;
	uint64_t last =
		first + LATE_ENDS_BIN_BLOCKS < n_blocks ? first + LATE_ENDS_BIN_BLOCKS : n_blocks;
	const struct late_ends_entry *late = NULL;
	struct row_block *b = unused_block(r, err);
	size_t n_late = 0, at = 0;
	int n = b ? late_ends_read(r->late_ends, bin, &late, &n_late, err) : -ERR_MEMORY;

	for (uint64_t block = first; n == 0 && block < last; block++) {
		uint32_t first_row = (uint32_t)(block - first) * STORE_BLOCK_ROWS;
		size_t first_late = at;
		bool is_there;

		while (at < n_late && late[at].row - first_row < STORE_BLOCK_ROWS)
			at++;
		n = load_ends(r, block, at > first_late, b, &is_there, err);
		if (n < 0 || !is_there)
			continue;
		for (size_t i = first_late; i < at; i++)
			merge_end(&b->end[late[i].row - first_row], &late[i].end);
		n = row_scratch_put_ends(r->scratch, r->writer, block, b->end, b->n_rows, err);
	}
	return n;
}

int rows_finish(struct rows *r, struct err *err)
{
	uint64_t n_blocks = (r->n_rows + STORE_BLOCK_ROWS - 1) / STORE_BLOCK_ROWS;
	uint64_t n_early;
	int n = 0;

	pthread_mutex_lock(&r->lock);
	n_early = r->n_closed; /* those after it are packed now: all of their ends are known */
	while (r->n_packed < n_early)
		pthread_cond_wait(&r->changed, &r->lock);
	r->is_last = true;
	r->n_closed = n_blocks;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	stop_packer(r);
	n = packer_result(r, err);
	for (uint64_t bin = 0; n == 0 && bin * LATE_ENDS_BIN_BLOCKS < n_early; bin++)
		n = finish_bin(r, bin, n_early, err);
	return n;
}

/* ---- checkpoints ---- */

int rows_sync(struct rows *r, struct err *err)
{
	int n;

	pthread_mutex_lock(&r->lock);
	r->n_closed = r->n_rows / STORE_BLOCK_ROWS;
	pthread_cond_broadcast(&r->changed);
	while (r->n_packed < r->n_closed)
		pthread_cond_wait(&r->changed, &r->lock);
	n = packer_result(r, err);
	pthread_mutex_unlock(&r->lock);
	for (uint64_t bin = 0; n == 0 && bin * LATE_ENDS_BIN_BLOCKS < r->n_closed; bin++)
		n = finish_bin(r, bin, r->n_closed, err);
	if (n == 0)
		n = store_writer_sync(r->writer, err);
	if (n < 0)
		return n;
	r->n_synced = r->n_closed;
	late_ends_destroy(r->late_ends);
	row_scratch_destroy(r->scratch);
	r->late_ends = NULL;
	r->scratch = NULL;
	return make_files(r, err);
}

void rows_save(struct rows *r, struct checkpoint_io_out *out)
{
	size_t n_bytes = 0;
	void *directory = store_writer_directory(r->writer, r->n_synced, &n_bytes, out->err);

	ASSERT(r->n_synced == r->n_rows / STORE_BLOCK_ROWS);
	if (!directory)
		out->result = -ERR_MEMORY;
	checkpoint_io_put_u64(out, r->n_rows);
	checkpoint_io_put(out, directory, n_bytes);
	if (r->n_rows % STORE_BLOCK_ROWS) {
		const struct row_block *b = r->ring[r->n_synced % RING_BLOCKS];

		checkpoint_io_put_u64(out, b->n_ended);
		checkpoint_io_put(out, b->alloc, b->n_rows * sizeof(*b->alloc));
		checkpoint_io_put(out, b->end, b->n_rows * sizeof(*b->end));
	}
}

/* Reads the last block, which is not full. */
static int load_block(struct rows *r, struct checkpoint_io_in *in)
{
	struct row_block *b = malloc(sizeof(*b));

	if (!b)
		return in->result = err_set_memory(in->err, sizeof(*b));
	r->ring[r->n_closed % RING_BLOCKS] = b;
	b->n_rows = (uint32_t)(r->n_rows % STORE_BLOCK_ROWS);
	b->n_ended = (uint32_t)checkpoint_io_get_u64(in);
	checkpoint_io_get(in, b->alloc, b->n_rows * sizeof(*b->alloc));
	checkpoint_io_get(in, b->end, b->n_rows * sizeof(*b->end));
	return in->result;
}

int rows_load(struct rows *r, struct checkpoint_io_in *in)
{
	uint64_t n_rows = checkpoint_io_get_u64(in);
	size_t n_bytes = 0;
	void *directory;

	/* Each full block has an entry in the directory that follows: a wrong number cannot ask for
	 * much memory. */
	if (in->result == 0 && n_rows / STORE_BLOCK_ROWS > (size_t)(in->end - in->at))
		checkpoint_io_fail(in, "more rows than it holds");
	if (in->result < 0)
		return in->result;
	directory = store_writer_directory(r->writer, n_rows / STORE_BLOCK_ROWS, &n_bytes, in->err);
	if (!directory)
		return in->result = -ERR_MEMORY;
	checkpoint_io_get(in, directory, n_bytes);
	pthread_mutex_lock(&r->lock);
	r->n_rows = n_rows;
	r->n_closed = r->n_packed = r->n_synced = n_rows / STORE_BLOCK_ROWS;
	pthread_mutex_unlock(&r->lock);
	return n_rows % STORE_BLOCK_ROWS ? load_block(r, in) : in->result;
}
