/* ingest/live_cold.h - old live blocks, packed and sorted by address.
 *
 * live.h keeps the blocks that were allocated last in a hash table. When the table is full, most of
 * its blocks, the oldest ones, are moved here. Most old blocks are never asked for again.
 *
 *   run   Blocks that came together, sorted by address. Each page of a run holds
 *         LIVE_COLD_PAGE_BLOCKS blocks, about 8 bytes each: differences to the block before. An
 *         index holds the first address of each page, one bit per block says that the block is gone.
 *         A search may have to look at each run. All runs are merged into one when searches have
 *         looked in vain at a quarter as many runs as there are blocks: so merging costs no more
 *         than the searches that it follows, and nothing where blocks stay to the end.
 *   filter  A Bloom filter of all addresses. It answers "is not here" for nearly all new addresses
 *         without a look at the runs.
 *
 * Runs that exceed the budget lie in temporary files, written from the start to the end. Searches of
 * addresses near each other, as programs free them, read the same page. Threads: one.
 */
#ifndef INGEST_LIVE_COLD_H
#define INGEST_LIVE_COLD_H

#include "ingest/live_block.h"
#include "util/err.h"

#define LIVE_COLD_PAGE_BLOCKS 32u

struct live_cold; /* opaque: defined in live_cold.c */

/* folder, for temporary files, is borrowed. The filter may take a half of budget_bytes, the runs in
 * memory take the other half. ERR_MEMORY. */
int live_cold_create(const char *folder, size_t budget_bytes, struct live_cold **ret,
		     struct err *err);
void live_cold_destroy(struct live_cold *c); /* NULL does nothing */

/* Takes n blocks, whose addresses ascend; none of them is in c. block_at(user, i) gives them in this
 * order. ERR_MEMORY or ERR_IO: nothing may be called but live_cold_destroy(). */
int live_cold_add(struct live_cold *c, size_t n,
		  const struct live_block *(*block_at)(void *user, size_t i), void *user,
		  struct err *err);

/* The number of blocks. */
uint64_t live_cold_count(const struct live_cold *c);

/* False: no block is at addr. True: perhaps. */
bool live_cold_may_hold(const struct live_cold *c, uint64_t addr);

/* The block at addr, or NULL. Valid until the next call of a function of c. */
const struct live_block *live_cold_find(struct live_cold *c, uint64_t addr);

/* Moves the block at addr out to *ret. False: there is none. */
bool live_cold_take(struct live_cold *c, uint64_t addr, struct live_block *ret);

/* Visits all blocks. visit() returns false to end that. */
void live_cold_each(struct live_cold *c, bool (*visit)(void *user, const struct live_block *block),
		    void *user);

#endif
