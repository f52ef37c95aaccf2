/* ingest/rows.h - the rows of a store while they are made.
 *
 * A row is an allocation. Rows come in the order of their allocations. Most end after a short time,
 * some after a long time, some never. So a block of STORE_BLOCK_ROWS rows goes through these
 * states:
 *
 *   in the window   The newest ROWS_WINDOW_BLOCKS blocks are plain arrays in memory. An end that
 *                   comes now is a store into an array.
 *   closed          A thread of its own, the packer, packs the block. The allocations go into the
 *                   store. The ends go into the store as well if all rows of the block have ended,
 *                   and otherwise into a temporary file (row_scratch.h).
 *   packed          An end that comes now is late: it goes into a log in a temporary file
 *                   (late_ends.h).
 *   finished        rows_finish() reads each block with late ends once, adds them, and writes the
 *                   ends into the store.
 *
 * Memory is bounded whatever the number of rows. Threads: one caller. Errors: what the store and
 * the temporary files give (ERR_IO, ERR_MEMORY, ERR_LIMIT). An error of the packer is reported by
 * the next rows_add() that begins a block, by rows_sync() or by rows_finish().
 */
#ifndef INGEST_ROWS_H
#define INGEST_ROWS_H

#include "ingest/checkpoint_io.h"
#include "ingest/row.h"

#define ROWS_WINDOW_BLOCKS 192u

struct rows; /* opaque: defined in rows.c */

/* Makes an empty set of rows. writer and folder (for temporary files) are borrowed until
 * rows_destroy(). */
int rows_create(struct store_writer *writer, const char *folder, struct rows **ret,
		struct err *err);
void rows_destroy(struct rows *r); /* NULL does nothing */

/* Adds a row that begins with these STORE_FLAGS; its number is the count of rows before it. The
 * caller fills in all fields of the result before it calls another function. NULL: the error is in
 * err. */
struct row_alloc *rows_add(struct rows *r, uint32_t flags, struct err *err);

/* The number of rows so far. */
uint64_t rows_count(const struct rows *r);

/* Adds to what is known of the end of a row. Flags are or-ed. A lifetime that is not 0 sets
 * lifetime, free stack and free thread; a chain that is not 0 sets chain and position. */
int rows_set_end(struct rows *r, uint64_t row, const struct row_end *end, struct err *err);

/* Prefetches the end of a row that is likely to be set within the next calls. */
void rows_prefetch(const struct rows *r, uint64_t row);

/* For incremental.h: puts all that is known of all full blocks into the store, so that a checkpoint
 * has to hold the last block only. Rows may be added afterwards, and rows of all blocks may end. */
int rows_sync(struct rows *r, struct err *err);

/* Writes the last block, and where the full ones lie in the store, to a checkpoint. Directly after
 * rows_sync(). */
void rows_save(struct rows *r, struct checkpoint_io_out *out);

/* Reads what rows_save() wrote into rows that were just made, whose writer appends to the same
 * store. */
int rows_load(struct rows *r, struct checkpoint_io_in *in);

/* All ends are known: writes the rest. Afterwards only rows_count() and rows_destroy() may be
 * called. */
int rows_finish(struct rows *r, struct err *err);

#endif
