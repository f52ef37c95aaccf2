/* record/lane.h - a thread's streams of events, and what the recorder keeps per thread.
 *
 * LANEDOC
 */
#ifndef RECORD_LANE_H
#define RECORD_LANE_H

#include "format/event_encode.h"
#include "record/address_owner.h"
#include "record/estimated_time.h"
#include "record/record.h"
#include "record/stack_id_cache.h"
#include "unwind/path.h"

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
	struct estimated_time time;
	struct area *area; /* where block lies */
	uint32_t slot; /* its number in the area */
	uint32_t number;
	uint32_t next_index; /* of the lane's next block */
	uint32_t generation; /* of loaded code, as of the last stack */
	uint64_t lost_events;

	uint32_t n_walks; /* until LANE_SETTLES */
	size_t path_capacity; /* frames that the unwinder's path has room for */

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
	struct stack_id_cache stack_ids;
	uintptr_t after[LANE_LEAVES]; /* by leaf: the one that came after it */
	struct module_noted noted[MODULE_LIST_NOTED];
};

static ALWAYS_INLINE struct unwind_thread *lane_unwinder(const struct lane *lane)
{
	return (struct unwind_thread *)(uintptr_t)(lane + 1);
}

struct thread {
	uint32_t fast_epoch; /* == record_epoch: as below, and nothing is unusual: see capture.h */
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
static ALWAYS_INLINE struct thread *lane_thread_of_first(struct lane *lane)
{
	return (struct thread *)((uint8_t *)lane - offsetof(struct thread, first));
}

/* What a lane needs besides itself: table_bytes of zeros right after it. They are large and touched lazily. */
size_t lane_table_bytes(void);

/* The lane is in zeroed memory, followed by lane_table_bytes(). */
void lane_init(struct lane *lane, struct thread *t, unsigned number);

/* Everything starts anew: a new thread in the recording knows nothing of the slot's last owner. */
void lane_reset(struct lane *lane);

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
