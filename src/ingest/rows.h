/* ingest/rows.h - the rows of a store while they are made: births now, deaths later.
 *
 * Rows come in the order of birth; most end soon, some never. The newest ROWS_WINDOW_BLOCKS blocks
 * are kept as they are, so an end that comes soon is a store into memory. An older block is packed
 * by a thread of its own: what is known of births goes into the store at once, what is known of
 * ends goes into a scratch file when rows of the block still live. Ends of such rows are late: they
 * are kept in a log, sorted roughly by row, and put in at the end (rows_finish).
 *
 * Memory is bounded whatever the number of rows. Threads: one caller.
 */
#ifndef INGEST_ROWS_H
#define INGEST_ROWS_H

#include "ingest/checkpoint_io.h"
#include "store/store_write.h"

#define ROWS_WINDOW_BLOCKS 192u

struct row_alloc {
	uint64_t alloc_ns;
	uint64_t size_bytes;
	uint64_t addr;
	uint64_t marker;
	uint32_t stack;
	uint32_t thread;
	uint32_t extra_bytes;
};

struct row_end {
	uint64_t lifetime_ns; /* as STORE_LIFETIME_NS: 0 = not ended */
	uint64_t chain; /* as STORE_CHAIN */
	uint32_t chain_position;
	uint32_t free_stack;
	uint32_t free_thread;
	uint32_t flags; /* as STORE_FLAGS */
};

struct rows; /* opaque: defined in rows.c */

/* writer is borrowed; folder is where temporary files go. */
int rows_create(struct store_writer *writer, const char *folder, struct rows **ret,
		struct err *err);
void rows_destroy(struct rows *r); /* NULL does nothing */

/* Adds a row that begins; its number is the count of those before it. The caller fills in the birth,
 * field by field, before the next call; NULL: what went wrong is in err. */
struct row_alloc *rows_add(struct rows *r, uint32_t flags, struct err *err);
uint64_t rows_count(const struct rows *r);

/* Adds what is known of a row's end: flags are or-ed, fields that are not 0 are set. */
int rows_set_end(struct rows *r, uint64_t row, const struct row_end *end, struct err *err);

/* An end of this row may come soon. */
void rows_prefetch(const struct rows *r, uint64_t row);

/* For incremental.h. What is known of all blocks that are full goes into the store, so that
 * only the block that is not is left to be kept; rows go on afterwards. */
int rows_sync(struct rows *r, struct err *err);

/* After rows_sync(). Loaded into one that was just made, with a writer that goes on. */
void rows_save(struct rows *r, struct checkpoint_io_out *out);
int rows_load(struct rows *r, struct checkpoint_io_in *in);

/* All is known: writes the rest. Afterwards only rows_count() and rows_destroy(). */
int rows_finish(struct rows *r, struct err *err);

#endif
