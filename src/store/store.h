/* store/store.h - reading a store: a recording made ready for questions.
 *
 * The file is mapped and never loaded: tables are used where they lie, blocks of columns are
 * unpacked into the caller's buffer when they are asked for. Opening checks the header, the
 * directory and the bounds of everything in it, so nothing that is reached through this header
 * lies outside of the file; the contents of a damaged file may be nonsense but never harm.
 * A table's own references (stack -> node -> code) are checked when the store is opened, and so is
 * that every value of STORE_STACK, STORE_FREE_STACK, STORE_THREAD, STORE_FREE_THREAD and STORE_CHAIN is good as
 * an index in its table: readers use them as they come. Rows that a store_chain names are not
 * checked; store_value() gives 0 for a row that is not there.
 *
 * Memory: pages that were read are given back after every 32 MiB of packed blocks, so a scan of
 * any length holds little; readers need not care.
 * A store is written once and renamed into place; nobody may write to it or cut it off while it is
 * open (that would be a SIGBUS). Removing or replacing the file by rename does no harm.
 *
 * Threads: any number of readers.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "store/columns.h"
#include "util/err.h"

struct store; /* opaque: defined in store.c */

/* Which recording a store was made from, and how much of it. */
struct store_identity {
	uint8_t recording_id[16]; /* from the header of the .dat */
	uint64_t size_bytes; /* of the .dat when it was read */
	uint64_t changed_ns; /* its modification time then */
};

/* Of a recording that is still being written changed_ns is this bit, and the time at which it was read:
 * such a store can be gone on with, but never be taken for that of the recording as it is now. */
#define STORE_GROWING_NS (1ull << 63)

static inline bool store_identity_grows(const struct store_identity *i)
{
	return i->changed_ns & STORE_GROWING_NS;
}

/* ERR_VERSION: made by another version, ERR_FORMAT: not a finished store, or a damaged one. */
int store_open(const char *path, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL does nothing */

const struct store_identity *store_identity(const struct store *s);

/* Takes what was read in one go out of memory: only a hint. */
void store_drop_pages(const void *from, size_t len);

uint64_t store_state_offset(const struct store *s); /* in the file: of STORE_STATE */

/* The items of a table, borrowed until store_close(). */
const void *store_table(const struct store *s, enum store_table table, size_t *n_items);

/* Shorthands for it. Each index must be below the table's count (asserted). */
const struct store_facts *store_facts(const struct store *s);
const struct store_stack *store_stack(const struct store *s, uint32_t stack);
const struct store_node *store_node(const struct store *s, uint32_t node);
const struct store_code *store_code(const struct store *s, uint32_t code);
const struct store_module *store_module(const struct store *s, uint32_t module);
const struct store_thread *store_thread(const struct store *s, uint32_t thread);
const struct store_chain *store_chain(const struct store *s, uint64_t chain);
size_t store_n_stacks(const struct store *s);

/* A string; ends with a zero byte that does not count in *len. len may be NULL. */
const char *store_string(const struct store *s, uint32_t string, size_t *len);

/* The words for store_node.end: "complete", "no_info" ... */
const char *store_end_name(unsigned end);
/* The same in a few words, for people: "code without unwind information". NULL: complete. */
const char *store_end_reason(unsigned end);

/* "malloc", "realloc" ... from STORE_FLAGS. */
const char *store_kind_name(uint64_t flags);

/* Is an entry of the table of threads a thread of the program? The entry of number 0 stands for
 * "thread not known" and counts as one only when events name it. */
bool store_is_thread(const struct store_thread *t);
size_t store_count_threads(const struct store *s);

/* The kernel's id of a thread, by index; 0 for a wrong index (a damaged store may have any). */
uint64_t store_tid(const struct store *s, uint64_t thread);

/* Makes of sum, which may be zeroed, what it and the bucket behind it amount to. */
void store_bucket_append(struct store_bucket *sum, const struct store_bucket *b);

/* ---- rows ---- */

/* A store may be made without rows, for questions that its tables answer. Then the number of rows
 * is 0, though store_facts() tells how many allocations there were. */
bool store_has_rows(const struct store *s);
uint64_t store_n_rows(const struct store *s);
uint64_t store_n_blocks(const struct store *s); /* of each column */

/* Rows of a block: STORE_BLOCK_ROWS but for the last. */
uint32_t store_block_rows(const struct store *s, uint64_t block);

/* Smallest and greatest value of a column in a block: what cannot match need not be read. */
uint64_t store_block_min(const struct store *s, enum store_column c, uint64_t block);
uint64_t store_block_max(const struct store *s, enum store_column c, uint64_t block);

/* Unpacks a block of a column. out has room for STORE_BLOCK_ROWS values; those of the block's
 * rows are written, what lies behind them is overwritten with nonsense. Values always lie between
 * store_block_min() and store_block_max(), also those of a damaged block. */
void store_read_block(const struct store *s, enum store_column c, uint64_t block, uint64_t *out);

/* One value, 0 when there is no such row. For few rows: it unpacks the whole block. */
uint64_t store_value(const struct store *s, enum store_column c, uint64_t row);

#endif
