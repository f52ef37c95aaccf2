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

/* ---- stores that grow ---- */

/* Goes on with the store at path, which nobody else may do meanwhile (-ERR_REFUSED); *old is that
 * store, to be closed. Its blocks stay where they are, but which of them count is for the caller to say
 * (store_writer_directory()); tables come anew, but for STORE_STATE if it does not. It stays as it is until store_writer_commit(). */
int store_writer_resume(const char *path, const struct store_identity *identity, struct store **old,
			struct store_writer **ret, struct err *err);

/* Blocks that wait are written, so that all of them have their place. */
int store_writer_sync(struct store_writer *w, struct err *err);

/* What tells where the first n_blocks blocks are, to be kept and to be set: *n_bytes of bytes that mean
 * nothing to others. After store_writer_sync(), or store_writer_resume(). NULL: no memory. */
void *store_writer_directory(struct store_writer *w, uint64_t n_blocks, size_t *n_bytes,
			     struct err *err);

/* Unpacks a block that has its place, of n_rows rows; value has room for STORE_BLOCK_ROWS. */
int store_writer_read_block(struct store_writer *w, enum store_column c, uint64_t block,
			    uint64_t *value, uint32_t *n_rows, struct err *err);

/* The table STORE_STATE, in pieces: nothing else is put between them. */
int store_writer_begin_state(struct store_writer *w, struct err *err);
int store_writer_add_state(struct store_writer *w, const void *bytes, size_t len, struct err *err);

/* Bytes of the file so far, and of those blocks in it that were given again since it was made or gone on
 * with. */
uint64_t store_writer_size(const struct store_writer *w);
uint64_t store_writer_replaced_bytes(const struct store_writer *w);

/* Blocks of every column and all tables are there: writes the directory and the header, renames. Checks that
 * all blocks came, but not what is in them: store_open() does. Destroy the writer afterwards. */
int store_writer_commit(struct store_writer *w, uint64_t n_rows, struct err *err);

#endif
