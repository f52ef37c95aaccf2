/* record/thread.h - the threads of the target, as the recorder knows them.
 *
 * A thread is found through thread_self, which its first event sets. Its state is struct thread
 * (lane.h), a slot in the list recorder.threads, which only grows.
 *
 * A thread that ends does not say so: it may still free memory after its last thread-local
 * destructor. The writer notices that the tid is gone, claims the slot, takes the blocks and frees
 * the slot for another thread. A new thread may get the same tid before the writer has noticed;
 * then the new thread claims the slot. owner_tid decides:
 *
 *	0 (free) --new thread--> tid --gone: writer or new thread--> THREAD_SLOT_CLAIMED --> 0 or tid
 *
 * Threads: a function without a note is for the thread itself.
 */
#ifndef RECORD_THREAD_H
#define RECORD_THREAD_H

#include "record/lane.h"

extern _Thread_local struct thread *thread_self;

/* Takes a free slot, or makes one, for the calling thread and sets thread_self. NULL: no memory. */
struct thread *thread_attach(struct recorder *rec);

/* Claims the slot of a thread that is gone. Of the writer and of a new thread with the same tid
 * exactly one gets true; it finishes the slot's blocks and then stores a new owner_tid, or 0. */
bool thread_claim_slot(struct thread *t, uint32_t tid);
#define THREAD_SLOT_CLAIMED UINT32_MAX

/* The next event takes the slow path (capture_enter_slow()). */
static inline void thread_forget_epoch(struct thread *t)
{
	t->epoch = t->fast_epoch = 0;
}

/* Brings the mode and the session of the thread up to date with record_epoch. May wait for a new
 * session. */
void thread_refresh(struct thread *t);

/* Hands over the blocks of all lanes, full or not. Only while the thread is in no hook. */
void thread_finish_blocks(struct thread *t);

/* The lane for this depth of interruption; made when it is missing. NULL: no memory. */
struct lane *thread_get_lane(struct thread *t, unsigned depth);

#endif
