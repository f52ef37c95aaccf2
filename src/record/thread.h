/* record/thread.h - the threads of the target, as the recorder knows them.
 *
 * A thread is found through thread_self, which its first event sets. Its state is struct thread
 * (lane.h), a slot in the list recorder.threads, which only grows. A thread has a lane (a stream of
 * events) of its own, and more lanes for signal handlers that interrupt a hook. A block here is an
 * event block: the part of the recording that a lane fills with events.
 *
 * A thread that ends does not say so: it may still free memory after its last thread-local
 * destructor. Later the writer (writer_process.h) asks the kernel whether the tid exists,
 * claims the slot of a thread that is gone, hands over its blocks and frees the slot. A new thread
 * may get the same tid before the writer has noticed: thread_attach() then claims the old slot and
 * keeps it. owner_tid decides:
 *
 *	0 (free) --new thread--> tid --gone: writer or new thread--> THREAD_SLOT_CLAIMED
 *	THREAD_SLOT_CLAIMED --writer--> 0, or --new thread--> tid
 *
 * A forked child starts without threads: its thread_self is NULL again (start.c).
 *
 * Threads: the thread itself calls these functions, unless their comments name others.
 */
#ifndef RECORD_THREAD_H
#define RECORD_THREAD_H

#include "record/lane.h"

extern _Thread_local struct thread *thread_self;

/* Takes for the calling thread the slot of an earlier thread with its tid, or a free slot, or a new
 * one; sets thread_self. NULL: no memory; the event is lost, and the next event tries again. */
struct thread *thread_attach(struct recorder *rec);

/* Claims the slot if owner_tid is still tid, the tid of a thread that is gone. Called by the writer
 * and by a new thread with the same tid: exactly one of them gets true. The winner calls
 * lane_finish_block() for each lane, adds up the lost events, sets session to NULL, and at last
 * stores owner_tid: the writer 0, the new thread its tid. The loser leaves the slot alone. */
bool thread_claim_slot(struct thread *t, uint32_t tid);
#define THREAD_SLOT_CLAIMED UINT32_MAX

/* The next event takes the slow path (capture_enter_slow()): record_epoch is never 0. Called by the
 * thread itself, or by the writer for a slot that the writer has claimed. */
static inline void thread_forget_epoch(struct thread *t)
{
	t->epoch = t->fast_epoch = t->usual_fast_epoch = 0;
}

/* Brings the mode (on, paused, off) and the session (a recording file) of the thread up to date
 * with record_epoch, which grows when the mode or the session changes. Sets epoch, and also
 * fast_epoch if the fast path of capture.h may be used. May wait up to ten seconds for a new
 * session (pool_wait_session()). */
void thread_refresh(struct thread *t);

/* Hands the blocks of all lanes, full or not, to the writer. Only while no event of the thread is
 * being recorded. */
void thread_finish_blocks(struct thread *t);

/* The lane with the number depth, made if it is missing. Lane 0 is the thread's own; lane n is for
 * a signal handler that interrupted a hook of lane n - 1. depth is below BLOCK_N_LANES. NULL: no
 * memory. */
struct lane *thread_get_lane(struct thread *t, unsigned depth);

/* Blocks that may exist. The list has a slot for each thread that runs, or that ran at the same time as
 * others. */
uint32_t thread_max_blocks(const struct recorder *rec);

#endif
