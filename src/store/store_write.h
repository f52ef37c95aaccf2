/* store/store_write.h - making a store.
 *
 * Order: store_writer_create(), then blocks and tables in any order, then store_writer_commit() and
 * store_writer_destroy(). A block that is put again replaces the earlier one, whose space in the
 * file is wasted. Each table is put once. The store appears under its name at the commit, by a
 * rename; a store that is not committed leaves no file.
 *
 * Memory does not grow with the number of rows: 512 KiB per column, and a directory of blocks that
 * moves to a temporary file beyond 8 MiB.
 *
 * Threads: store_writer_put_block(), _put_table() and _put_spilled() from any number of threads at
 * once; the other functions while no other call runs.
 * Errors: 0 or -ERR_x. After a put failed, every further put and the commit return the same error;
 * destroy the writer then.
 */
#ifndef STORE_STORE_WRITE_H
#define STORE_STORE_WRITE_H

#include "store/store.h"
#include "util/spill.h"

struct store_writer; /* opaque: defined in store_write.c */

/* Begins a store. path: the name that the commit gives it. Errors name the path. */
int store_writer_create(const char *path, const struct store_identity *identity,
			struct store_writer **ret, struct err *err);
void store_writer_destroy(
	struct store_writer *w); /* without a commit no file stays; NULL: nothing */

/* Packs and writes one block of a column. n_rows is STORE_BLOCK_ROWS in all blocks but the last. */
int store_writer_put_block(struct store_writer *w, enum store_column c, uint64_t block,
			   const uint64_t *value, uint32_t n_rows, struct err *err);

/* Writes a table of n_items items; store_item_bytes[table] is the size of an item. A table that is
 * never put is empty. */
int store_writer_put_table(struct store_writer *w, enum store_table table, const void *item,
			   size_t n_items, struct err *err);

/* The same for items in a spill: pages that are written leave memory. */
int store_writer_put_spilled(struct store_writer *w, enum store_table table,
			     const struct spill *items, size_t n_items, struct err *err);

/* Writes a table in pieces. Nothing else may be put between the pieces. */
int store_writer_begin_table(struct store_writer *w, enum store_table table, struct err *err);
int store_writer_add_items(struct store_writer *w, enum store_table table, const void *item,
			   size_t n_items, struct err *err);

/* ---- stores that grow ---- */

/* Continues the store at path. *old becomes that store, for the caller to close.
 *	- One process at a time: waits ten seconds for another one, then -ERR_REFUSED.
 *	- The blocks of the store stay where they are. The caller fills store_writer_directory()
 *	  with the entries of those that are still valid.
 *	- All tables must be put again, except STORE_STATE: without store_writer_begin_table() the
 *	  old one stays.
 *	- Readers see the old store until store_writer_commit(). */
int store_writer_resume(const char *path, const struct store_identity *identity, struct store **old,
			struct store_writer **ret, struct err *err);

/* Writes all blocks that wait in memory, so that every block has its offset in the file. */
int store_writer_sync(struct store_writer *w, struct err *err);

/* The directory entries of the first n_blocks blocks, *n_bytes bytes: to be saved after
 * store_writer_sync(), or to be filled with what was saved after store_writer_resume(). The bytes
 * mean nothing to others. Borrowed until the next block is put. NULL: no memory. */
void *store_writer_directory(struct store_writer *w, uint64_t n_blocks, size_t *n_bytes,
			     struct err *err);

/* Unpacks a block that is in the file (store_writer_sync()); *n_rows is its number of rows. value
 * has room for STORE_BLOCK_ROWS. */
int store_writer_read_block(struct store_writer *w, enum store_column c, uint64_t block,
			    uint64_t *value, uint32_t *n_rows, struct err *err);

/* Bytes of the file so far, and bytes of blocks that were replaced since this writer began. */
uint64_t store_writer_size(const struct store_writer *w);
uint64_t store_writer_replaced_bytes(const struct store_writer *w);

/* Finishes the store: writes the directory and the header, and renames the file. -ERR_FORMAT: a
 * block of the n_rows rows was never put, or has a wrong number of rows. The contents of blocks and
 * tables are not checked here; store_open() does that. Destroy the writer afterwards. */
int store_writer_commit(struct store_writer *w, uint64_t n_rows, struct err *err);

#endif
