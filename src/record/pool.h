/* record/pool.h - the blocks of a session: threads take free blocks, the writer takes full ones.
 *
 *	        pool_take()                pool_give_full()
 *	 free -------------> a lane fills it -------------> full
 *	  ^                                                  | pool_take_full()
 *	  |                  pool_give_free()                v
 *	  +--------------------------------------- the writer copies it
 *
 * A session is one recording file. Its blocks lie in areas of the file; a slot is the index of a
 * block in its area. An area has a bit for each free block and a bit for each full block, so no
 * lock is needed. A block with neither bit belongs to one lane of a thread, or to the writer.
 *
 * When no block is free, a thread waits for the writer. The writer adds areas up to a bound, and
 * never waits for a thread; so nothing is dropped while the writer works. If one thread has waited
 * 30 s for a block, no thread waits any more until the next pool_give_free(): the program loses
 * events, which are counted, but no more time.
 */
#ifndef RECORD_POOL_H
#define RECORD_POOL_H

#include "record/record.h"

/* Thread: takes a free block, and waits for the writer when there is none. False, and *area and
 * *slot are unchanged: threads do not wait any more (see above), the session has no area, or the
 * recorder has given up (recorder.why_given_up). */
bool pool_take(struct recorder *rec, struct session *session, struct area **area, uint32_t *slot);

/* Thread or writer: takes a free block if there is one. Does not wait. The writer takes output blocks
 * of culling (cull.h), and other blocks only to see whether one is free: then it gives them back. */
bool pool_try_take(struct session *session, struct area **area, uint32_t *slot);

/* pool_give_full() wakes the writer if the area then has at least this many full blocks, or at most
 * this many free blocks. The writer also looks by itself after a while, and a thread that must wait
 * wakes the writer. */
#define POOL_WAKE_BLOCKS 4

/* Thread, or the writer for a thread that is gone: hands a block over as full, even if the block
 * has room left. */
void pool_give_full(struct recorder *rec, struct area *area, uint32_t slot);

/* Writer: takes all full blocks of an area. Bit n of the result is slot n. The blocks are the
 * writer's until pool_give_free(). */
uint64_t pool_take_full(struct area *area);

/* Writer: gives back what pool_take_full() took. */
void pool_give_back(struct recorder *rec, struct area *area, uint32_t slot);

/* A new writer, first of all: what a writer that was killed had taken is full again, unless it is
 * written. A block that was written and not yet marked appears twice in the recording, under one
 * sequence number, and counts once. */
void pool_retake(struct area *area);

/* Writer: the number of full blocks in all areas; threads may add some meanwhile. */
unsigned pool_count_full(const struct session *session);

/* Writer: the block's contents are safe elsewhere (or lost and counted); any thread may take the
 * block. */
void pool_give_free(struct recorder *rec, struct area *area, uint32_t slot);

/* Thread: the current session. If a newer session is wanted (recorder.want_session), first waits
 * until the writer has made it or could not, ten seconds at most. Without the newer session the
 * result is the older one. NULL: there is no session at all. */
struct session *pool_wait_session(struct recorder *rec);

#endif
