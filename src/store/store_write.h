/* store/store_write.h - making a store.
 *
 * Blocks of columns come in any order, also from several threads at once; a block may be given
 * more than once, the last one counts (the space of the earlier is wasted). Tables come when they
 * are known, each once. Nothing is visible under the store's name before store_writer_commit(),
 * which renames; a store that is not committed leaves no file.
 *
 * Memory does not grow with the number of rows: the directory of blocks lies in a mapped
 * temporary file.
 */
#ifndef STORE_STORE_WRITE_H
#define STORE_STORE_WRITE_H

#include "store/store.h"
#include "util/spill.h"

struct store_writer; /* opaque: defined in store_write.c */

/* path: the name that the store gets at the end. Errors name it and what to do. */
int store_writer_create(const char *path, const struct store_identity *identity,
			struct store_writer **ret, struct err *err);
void store_writer_destroy(struct store_writer *w); /* NULL does nothing; not committed: no trace */

/* Packs and writes one block of a column; n_rows is STORE_BLOCK_ROWS but for the last block. */
int store_writer_put_block(struct store_writer *w, enum store_column c, uint64_t block,
			   const uint64_t *value, uint32_t n_rows, struct err *err);

/* Writes a table of n items; the size of an item is known from its number. A table that is
 * never given is empty. */
int store_writer_put_table(struct store_writer *w, enum store_table table, const void *item,
			   size_t n_items, struct err *err);

/* The same for items that may lie in a file: they do not come into memory all at once. */
int store_writer_put_spilled(struct store_writer *w, enum store_table table,
			     const struct spill *items, size_t n_items, struct err *err);

/* Blocks of every column and all tables are there: writes the directory, seals, renames. Checks that
 * all blocks came, but not what is in them: store_open() does. Destroy the writer afterwards. */
int store_writer_commit(struct store_writer *w, uint64_t n_rows, struct err *err);

#endif
