/* store/store.h - reading a store: a recording in the form in which questions are answered.
 *
 * The file is mapped, not loaded: readers use tables where they lie, and unpack blocks of columns
 * into buffers of their own.
 *
 * What store_open() checks, so that readers need not:
 *	- the header, and that everything that the header and the directory name lies inside the
 *	  file;
 *	- references between tables (stack -> node -> code -> module, and texts);
 *	- that every value of STORE_STACK, STORE_FREE_STACK, STORE_THREAD, STORE_FREE_THREAD and
 *	  STORE_CHAIN is an index of its table.
 * A damaged file may therefore give wrong figures, but no access outside of the file. Not checked:
 * the rows that a store_chain names. store_value() returns 0 for a row that does not exist.
 *
 * Memory: after every 32 MiB of packed blocks the store gives the pages of a large file back, so a
 * scan of any length holds little memory.
 *
 * The file: a store appears by a rename when it is complete. A store that grows (docs/STORE.md,
 * 1.3) is appended to, but nothing that an open store refers to changes. Removing the file or
 * replacing it by a rename does no harm; cutting it off would end readers with SIGBUS.
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
	uint64_t changed_ns; /* modification time of the .dat then */
};

/* The store of a recording that is still being written has this bit in changed_ns, and the time of
 * the reading in the other bits. So its identity never equals that of the recording as it is now; a
 * later reading continues the store. */
#define STORE_GROWING_NS (1ull << 63)

static inline bool store_identity_grows(const struct store_identity *i)
{
	return i->changed_ns & STORE_GROWING_NS;
}

/* Opens and checks a store. -ERR_VERSION: another version of the program made it; -ERR_FORMAT: not
 * a finished store, or a damaged one; -ERR_IO, -ERR_MEMORY. The text names the path. */
int store_open(const char *path, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL does nothing */

const struct store_identity *store_identity(const struct store *s);

/* Gives the pages of [from, from + len) back to the system; they come back when they are touched.
 * Only for mapped files. A hint: it cannot fail. */
void store_drop_pages(const void *from, size_t len);

/* Did another program cut the file short while it was open? Zeros are read then where the file
 * ends, so what was computed meanwhile may be wrong. */
bool store_is_cut(const struct store *s);
#define STORE_CUT_TEXT                                                                             \
	"another program cut the recording's store short while it was in use; open the recording " \
	"again"

uint64_t store_state_offset(const struct store *s); /* of STORE_STATE in the file */

/* The items of a table, borrowed until store_close(). */
const void *store_table(const struct store *s, enum store_table table, size_t *n_items);

/* Items of tables by index, borrowed in the same way. Each index must be below the number of items
 * (asserted). */
const struct store_facts *store_facts(const struct store *s);
const struct store_stack *store_stack(const struct store *s, uint32_t stack);
const struct store_node *store_node(const struct store *s, uint32_t node);
const struct store_code *store_code(const struct store *s, uint32_t code);
const struct store_module *store_module(const struct store *s, uint32_t module);
const struct store_thread *store_thread(const struct store *s, uint32_t thread);
const struct store_chain *store_chain(const struct store *s, uint64_t chain);
size_t store_n_stacks(const struct store *s);

/* A string. It ends with a zero byte that does not count in *len. len may be NULL. */
const char *store_string(const struct store *s, uint32_t string, size_t *len);

/* The name of store_node.end, for programs: "complete", "no_info" ... */
const char *store_end_name(unsigned end);
/* The same for people: "code without unwind information". NULL: the stack is complete. */
const char *store_end_reason(unsigned end);

/* The kind in a value of STORE_FLAGS: "malloc", "realloc" ... */
const char *store_kind_name(uint64_t flags);

/* The name of the allocator that gave the block of a row with these STORE_FLAGS: "libc", or the name of
 * an allocator inside the program. Borrowed from the store. */
const char *store_allocator_name(const struct store *s, uint64_t flags);

/* Is an entry of the table of threads a thread of the program? The entry of number 0 stands for
 * "thread not known" and counts as one only when events name it. */
bool store_is_thread(const struct store_thread *t);
size_t store_count_threads(const struct store *s);

/* The kernel's id of a thread, by its index in STORE_THREADS; 0 for an index beyond the table. */
uint64_t store_tid(const struct store *s, uint64_t thread);

/* Extends the bucket sum, which may be zeroed, by the next bucket b: maxima, sums, and the state at
 * the end of b. */
void store_bucket_append(struct store_bucket *sum, const struct store_bucket *b);

/* ---- rows ---- */

/* A store may be made without rows, for questions that its tables answer. Then store_n_rows() is 0,
 * and store_facts()->n_rows has the number of allocations. */
bool store_has_rows(const struct store *s);
uint64_t store_n_rows(const struct store *s);
uint64_t store_n_blocks(const struct store *s); /* of each column */

/* Rows of a block: STORE_BLOCK_ROWS but for the last. */
uint32_t store_block_rows(const struct store *s, uint64_t block);

/* Smallest and greatest value of a column in a block: a scan skips blocks that cannot match. */
uint64_t store_block_min(const struct store *s, enum store_column c, uint64_t block);
uint64_t store_block_max(const struct store *s, enum store_column c, uint64_t block);

/* Unpacks a block of a column. out has room for STORE_BLOCK_ROWS values; entries beyond the block's
 * rows become meaningless. Values always lie between store_block_min() and store_block_max(), also
 * in a damaged block. Cannot fail: bytes that cannot be read count as zeroes. */
void store_read_block(const struct store *s, enum store_column c, uint64_t block, uint64_t *out);

/* One value, or 0 when there is no such row. For few rows only: each call unpacks a whole block. */
uint64_t store_value(const struct store *s, enum store_column c, uint64_t row);

#endif
