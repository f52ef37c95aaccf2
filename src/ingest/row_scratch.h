/* ingest/row_scratch.h - the ends of blocks whose rows have not all ended, packed, in a temporary
 * file.
 *
 * Private to rows.c: its packer thread calls row_scratch_save() and row_scratch_put_ends() while it
 * runs; the other functions are for the caller's thread while the packer waits or has ended. Also
 * the only module that knows which columns of a store hold the end of a row.
 */
#ifndef INGEST_ROW_SCRATCH_H
#define INGEST_ROW_SCRATCH_H

#include "ingest/row.h"
#include "store/store_write.h"

struct row_scratch; /* opaque: defined in row_scratch.c */

/* folder (for the temporary file) is borrowed until row_scratch_destroy(). ERR_MEMORY or ERR_IO. */
int row_scratch_create(const char *folder, struct row_scratch **ret, struct err *err);
void row_scratch_destroy(struct row_scratch *s); /* NULL does nothing */

/* A buffer for one column of a block. The next call of another function overwrites it. */
uint64_t *row_scratch_column(struct row_scratch *s);

/* Writes the columns of the ends of a block into the store. */
int row_scratch_put_ends(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 const struct row_end *end, uint32_t n_rows, struct err *err);

/* Keeps the ends of a block in the temporary file. Blocks come in rising order. */
int row_scratch_save(struct row_scratch *s, uint64_t block, const struct row_end *end,
		     uint32_t n_rows, struct err *err);

/* Was the block saved? */
bool row_scratch_has(const struct row_scratch *s, uint64_t block);

/* Reads what row_scratch_save() kept; end has room for STORE_BLOCK_ROWS. ERR_IO also when the file
 * holds other bytes than were written. */
int row_scratch_load(struct row_scratch *s, uint64_t block, struct row_end *end, uint32_t *n_rows,
		     struct err *err);

/* The same for a block that row_scratch_put_ends() wrote: reads the ends from the store. */
int row_scratch_load_put(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 struct row_end *end, uint32_t *n_rows, struct err *err);

#endif
