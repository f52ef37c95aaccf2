/* record/thread.h - what the recorder keeps per thread of the target.
 *
 * A thread is found through thread_self, set at its first event. Its lanes are the places events
 * go to: lane 0 normally; lane n when a signal handler's event interrupts the recording of
 * another event n levels deep. Each lane has a block, an encoder, an unwinder and a stack table
 * of its own, so an interrupted lane is never touched by what interrupts it.
 *
 * A thread that ends tells nobody: it may still free memory after the last thread-local
 * destructor. The writer notices that its tid is gone, takes its blocks, and the slot is free for
 * another thread.
 */
#ifndef RECORD_THREAD_H
#define RECORD_THREAD_H

#include "record/lane.h"

extern _Thread_local struct thread *thread_self;

/* Takes a slot for the calling thread and sets thread_self; NULL when there is no memory. */
struct thread *thread_attach(struct recorder *rec);

/* Takes the slot of a thread that is gone: true for exactly one of the writer and a new thread
 * that happens to have the same tid. The winner gives the slot a new owner (or 0). */
bool thread_claim_slot(struct thread *t, uint32_t tid);
#define THREAD_SLOT_CLAIMED UINT32_MAX

/* The next event takes the slow way in. */
static inline void thread_forget_epoch(struct thread *t)
{
	t->epoch = t->fast_epoch = 0;
}

/* Brings mode and session up to date with record_epoch. */
void thread_refresh(struct thread *t);

/* Hands over the blocks of the calling thread, full or not, outside of any hook. */
void thread_finish_blocks(struct thread *t);

/* Lane of this depth, made when missing; NULL when there is no memory. */
struct lane *thread_get_lane(struct thread *t, unsigned depth);

#endif
