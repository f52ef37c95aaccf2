/* record/pool.h - the blocks of a session: threads take free blocks, the writer takes full ones.
 *
 *	        pool_take()                pool_give_full()
 *	 free -------------> a lane fills it -------------> full
 *	  ^                                                  | pool_take_full()
 *	  |                  pool_give_free()                v
 *	  +--------------------------------------- the writer copies it
 *
 * Lock-free: an area has a bit for each free block and a bit for each full block. The number of
 * blocks is bounded. When all blocks are in use, a thread waits for the writer, which waits for
 * nobody; so nothing is dropped while the writer works. Should the writer not come back for
 * POOL_PATIENCE_NS (30 s), threads stop waiting until the writer gives a block again: the program
 * loses events, which are counted, but no more time.
 */
#ifndef RECORD_POOL_H
#define RECORD_POOL_H

#include "record/record.h"

/* Thread: takes a free block, and waits for the writer when there is none. False: the writer did
 * not come back in time (see above), the session has no blocks, or the recorder has given up. */
bool pool_take(struct recorder *rec, struct session *session, struct area **area, uint32_t *slot);

/* Takes a free block if there is one. Does not wait. */
bool pool_try_take(struct session *session, struct area **area, uint32_t *slot);

/* The writer is woken when an area has this many full blocks, or no more free blocks than this. The
 * writer also looks by itself after a while. */
#define POOL_WAKE_BLOCKS 4

/* Thread: hands a block to the writer, full or not. */
void pool_give_full(struct recorder *rec, struct area *area, uint32_t slot);

/* Writer: takes the full blocks of an area, as bits. They are the writer's until
 * pool_give_free(). */
uint64_t pool_take_full(struct area *area);

/* Full blocks of all areas; threads may add some meanwhile. */
unsigned pool_count_full(const struct session *session);

/* Writer: the block's contents are safe elsewhere (or lost and counted); any thread may take the
 * block. */
void pool_give_free(struct recorder *rec, struct area *area, uint32_t slot);

/* Thread: the current session. Waits for a session that was asked for, ten seconds at most. NULL:
 * there is none, because the writer could not create its file. */
struct session *pool_wait_session(struct recorder *rec);

#endif
