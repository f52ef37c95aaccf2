/* store/store_i.h - the file of a store: header, directory. docs/STORE.md explains it. */
#ifndef STORE_STORE_I_H
#define STORE_STORE_I_H

#include "store/pack.h"
#include "store/store.h"

#define STORE_MAGIC "MPSTORE" /* with its zero byte: 8 bytes */
#define STORE_HEADER_BYTES 4096u /* kept for the header; blocks and tables begin after it */
#define STORE_ALIGN 64u /* of blocks, tables and the directory */
#define STORE_HEADER_TABLES 32u /* the most tables that the header has room for */

struct store_extent {
	uint64_t offset; /* in the file */
	uint64_t n_items;
};

/* At offset 0. The writer writes the header last: a file with a right checksum here is complete. */
struct store_header {
	char magic[8];
	uint32_t version; /* STORE_VERSION; its offset never changes */
	uint32_t header_bytes; /* sizeof(struct store_header) */
	uint32_t block_rows;
	uint32_t n_columns;
	uint32_t n_tables;
	uint32_t entry_bytes; /* sizeof(struct store_entry) */
	uint32_t item_bytes[STORE_HEADER_TABLES];
	struct store_identity identity;
	uint64_t n_rows;
	uint64_t file_bytes;
	uint64_t directory_offset;
	uint64_t directory_checksum;
	struct store_extent table[STORE_HEADER_TABLES];
	uint64_t checksum; /* of all fields before this one */
};

/* A block of a column. The directory holds the entries of block 0 in the order of the columns, then
 * the entries of block 1, and so on. */
struct store_entry {
	uint64_t offset; /* in the file; means nothing when the block takes no bytes */
	struct pack_head head;
};

_Static_assert(sizeof(struct store_identity) == 32, "lies in the file");
_Static_assert(sizeof(struct store_header) == 32 + 128 + 32 + 32 + 512 + 8, "no holes");
_Static_assert(sizeof(struct store_header) <= STORE_HEADER_BYTES, "fits");
_Static_assert(sizeof(struct store_entry) == 32, "lies in the file");
_Static_assert(STORE_N_TABLES <= STORE_HEADER_TABLES, "fits");
_Static_assert(STORE_BLOCK_ROWS == PACK_MAX_VALUES, "a block is packed in one piece");

static inline uint64_t store_blocks_for(uint64_t n_rows)
{
	return n_rows / STORE_BLOCK_ROWS + (n_rows % STORE_BLOCK_ROWS != 0);
}

/* Rows of a block; block is less than store_blocks_for(n_rows). */
static inline uint32_t store_rows_of(uint64_t n_rows, uint64_t block)
{
	uint64_t left = n_rows - block * STORE_BLOCK_ROWS;

	return left < STORE_BLOCK_ROWS ? (uint32_t)left : STORE_BLOCK_ROWS;
}

struct store_extent store_state_extent(const struct store *s); /* where STORE_STATE lies */

/* The tables of a store, wherever their bytes lie. */
struct store_tables {
	const void *item[STORE_N_TABLES];
	size_t n[STORE_N_TABLES];
};

/* Checks that every reference between tables leads to an item (docs/STORE.md, section 3). n_rows is
 * the header's. 0, or -ERR_FORMAT with the item that is wrong. store_tables.c */
int store_tables_check(const struct store_tables *t, uint64_t n_rows, struct err *err);

/* ---- suppressed.c, and what it needs ---- */

struct store_suppressed; /* opaque: defined in suppressed.c */

/* Puts the items that were never released and are suppressed right in a block of STORE_LIFETIME_NS. */
void store_suppressed_apply(const struct store_suppressed *x, const struct store *s, uint64_t block,
			    uint64_t *lifetime);
void store_suppressed_destroy(struct store_suppressed *x); /* NULL does nothing */

/* Puts as many other items in the place of a table's. They are borrowed until store_close(). */
void store_replace_table(struct store *s, enum store_table table, const void *items);

/* The store owns x from now on. */
void store_set_suppressed(struct store *s, struct store_suppressed *x);
const struct store_suppressed *store_get_suppressed(const struct store *s); /* NULL: none */

#endif
