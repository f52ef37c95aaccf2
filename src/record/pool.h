/* record/pool.h - the blocks of a session: taking, giving, waiting.
 *
 * Lock-free: a bit per block and area. Bounded: when all blocks are full and the limit is reached
 * the thread waits for the writer, which waits for nobody; nothing is dropped.
 */
#ifndef RECORD_POOL_H
#define RECORD_POOL_H

#include "record/record.h"

/* Takes a free block. Waits for the writer when there is none; false when the writer does not
 * come back within POOL_PATIENCE_NS (it never should). Then nobody waits any more until it does: the
 * program loses events, which are counted, but not its time. */
bool pool_take(struct recorder *rec, struct session *session, struct area **area, uint32_t *slot);

/* Takes a free block if there is one. */
bool pool_try_take(struct session *session, struct area **area, uint32_t *slot);

/* Full blocks, or few free ones, for which the writer is woken; it looks after a while in any case. */
#define POOL_WAKE_BLOCKS 4

/* Hands a full (or finished) block to the writer. */
void pool_give_full(struct recorder *rec, struct area *area, uint32_t slot);

/* Writer: the full blocks of an area, as bits; they are the writer's until pool_give_free(). */
uint64_t pool_take_full(struct area *area);

/* Full blocks of all areas, about. */
unsigned pool_count_full(const struct session *session);

/* Writer: the block's contents are safe elsewhere; anyone may have it. */
void pool_give_free(struct recorder *rec, struct area *area, uint32_t slot);

/* The current session, waiting for one that was asked for; NULL when it could not be made. */
struct session *pool_wait_session(struct recorder *rec);

#endif
