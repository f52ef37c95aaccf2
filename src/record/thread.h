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

#include "format/event_encode.h"
#include "record/carried_time.h"
#include "record/edges.h"
#include "record/own_blocks.h"
#include "record/record.h"
#include "unwind/stack_cache.h"

#define LANE_LEAVES 64

/* Its unwinder lies right behind it, so that neither has to be looked up: a program that allocates now
 * and then finds all this out of the CPU's caches, and then each pointer to follow is a wait of its own.
 * What every event needs comes first. */
struct lane {
	_Alignas(64) struct event_encoder enc;
	struct block *block; /* NULL: none (yet, or none to be had) */
	struct thread *thread;
	uintptr_t leaf; /* the last one: see stack_expect() */
	uintptr_t *after_leaf; /* its place in after[] */
	struct carried_time time;
	struct area *area; /* where block lies */
	uint32_t slot; /* its number in the area */
	uint32_t number;
	uint32_t next_index; /* of the lane's next block */
	uint32_t generation; /* of loaded code, as of the last stack */
	uint64_t lost_events;

	uint32_t n_walks; /* until LANE_SETTLES */
	size_t cache_capacity; /* frames that the unwinder's path has room for */

	/* The last stack that was not of the path's kind, outermost first: keys and ids. */
	uint64_t *other_key;
	uint32_t *other_id;
	size_t n_other;
	size_t other_capacity;
	struct unwind_frames frames;
	struct unwind_thread *auditor; /* CONFIG_AUDIT: walks in full, without caches */
	struct audit_node *audit_nodes; /* likewise: what ids stand for */
	uint64_t n_audited;
	uint64_t n_differing;
	struct edges edges;
	uintptr_t after[LANE_LEAVES]; /* by leaf: the one that came after it */
	struct module_noted noted[MODULE_LIST_NOTED];
};

static ALWAYS_INLINE struct unwind_thread *lane_unwinder(const struct lane *lane)
{
	return (struct unwind_thread *)(uintptr_t)(lane + 1);
}

struct thread {
	uint32_t quick_epoch; /* == record_epoch: as below, and nothing is unusual: see capture.h */
	_Atomic uint32_t
		depth; /* hooks under way in this thread; its release at the end of a hook is
				   what the writer acquires when the thread is gone */
	uint32_t epoch; /* == record_epoch: mode and session are current */
	uint32_t mode; /* enum record_mode as of epoch */
	_Atomic uint32_t number; /* in the recording, from 1 */
	bool has_free_stacks; /* GRAB_BACKTRACES_ON_FREE, near at hand */
	struct lane *lane[BLOCK_N_LANES]; /* 0 is always there, others when first needed */
	_Atomic(struct session *) session; /* NULL: not (yet, any more) recording */
	uint32_t redefine; /* session's value as of epoch */
	struct recorder *rec;

	struct thread *next;
	_Atomic uint32_t owner_tid; /* 0: the slot is free; or THREAD_SLOT_CLAIMED */
	_Atomic uint64_t start_ticks;
	uint32_t announced_number; /* writer: thread whose name was written ... */
	uint32_t n_announced; /* ... so many times */
	struct lane first; /* lane[0]. The last member: its unwinder lies behind it. */
};

_Static_assert(offsetof(struct thread, first) + sizeof(struct lane) == sizeof(struct thread),
	       "lane_unwinder()");

/* Of a lane that is a thread's first. */
static ALWAYS_INLINE struct thread *thread_of_first(struct lane *lane)
{
	return (struct thread *)((uint8_t *)lane - offsetof(struct thread, first));
}

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
	t->epoch = t->quick_epoch = 0;
}

/* Brings mode and session up to date with record_epoch. */
void thread_refresh(struct thread *t);

/* Hands over the blocks of the calling thread, full or not, outside of any hook. */
void thread_finish_blocks(struct thread *t);

/* Lane of this depth, made when missing; NULL when there is no memory. */
struct lane *thread_get_lane(struct thread *t, unsigned depth);

/* Publishes and hands over the lane's block, if it has one. Called by the owner, or by the writer
 * when the owner is gone. */
void lane_finish_block(struct lane *lane);

/* Gives the lane an empty block, handing over the one it has. False when none could be had; the
 * lane then has no room and its next event is lost. */
bool lane_new_block(struct lane *lane);

/* After so many stacks that had to be walked, most pages of its tables are going to be used: they are
 * touched at once. Not where there are many threads: memory is worth more than a millisecond there. */
#define LANE_SETTLES 32

COLD void lane_touch_tables(struct lane *lane);

/* Room for n more records in the lane's block, getting a new one if need be. */
static ALWAYS_INLINE bool lane_has_room(struct lane *lane, unsigned n)
{
	return likely(event_encoder_has_room(&lane->enc, n)) || lane_new_block(lane);
}

/* Makes everything that was encoded visible to readers of the file. */
static ALWAYS_INLINE void lane_publish(struct lane *lane)
{
	atomic_store_explicit(&lane->block->used_bytes,
			      (uint32_t)(lane->enc.pos - lane->block->data), memory_order_release);
}

#endif
