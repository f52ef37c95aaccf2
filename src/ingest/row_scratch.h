/* ingest/row_scratch.h - ends of rows of blocks that are not complete yet, packed, in a temporary
 * file.
 *
 * For rows.c only: its packer thread saves, and the caller loads when the packer is done.
 */
#ifndef INGEST_ROW_SCRATCH_H
#define INGEST_ROW_SCRATCH_H

#include "ingest/rows.h"

struct row_scratch; /* opaque: defined in row_scratch.c */

int row_scratch_create(const char *folder, struct row_scratch **ret, struct err *err);
void row_scratch_destroy(struct row_scratch *s); /* NULL does nothing */

/* Room for one column of a block, for whoever packs at the moment. */
uint64_t *row_scratch_column(struct row_scratch *s);

/* Puts what is known of the ends of a block's rows into the store. */
int row_scratch_put_ends(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 const struct row_end *end, uint32_t n_rows, struct err *err);

/* Keeps them for later; blocks come in rising order. */
int row_scratch_save(struct row_scratch *s, uint64_t block, const struct row_end *end,
		     uint32_t n_rows, struct err *err);
bool row_scratch_has(const struct row_scratch *s, uint64_t block);

/* Gives back what was saved; end has room for STORE_BLOCK_ROWS. */
int row_scratch_load(struct row_scratch *s, uint64_t block, struct row_end *end, uint32_t *n_rows,
		     struct err *err);

/* The same of a block that was put into the store and has its place there. */
int row_scratch_load_put(struct row_scratch *s, struct store_writer *w, uint64_t block,
			 struct row_end *end, uint32_t *n_rows, struct err *err);

#endif
