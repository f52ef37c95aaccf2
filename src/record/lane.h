/* record/lane.h - a lane: one stream of events of a thread. And struct thread, which holds the
 * lanes.
 *
 * Lane 0 takes the events of a thread. Lane n takes the events of a signal handler that interrupted
 * the recording of another event n levels deep. Each lane has a block, an encoder, an unwinder and
 * a cache of stack ids of its own, so whatever interrupts a lane never touches that lane.
 *
 *	struct thread        mapped together, in this order
 *	+-----------------+--------------------+---------+------------------+--------------+--------
 *	| epoch, depth .. | struct lane first  | its     | first table of   | the          | other
 *	| lane[0] ---------->                  | unwinder| its stack_ids    | unwinder's   | stacks
 *	| lane[1] ----+   | block --> block in |         |                  | stack cache  |
 *	+-------------|---+  the file (MAP_SHARED) ------+------------------+--------------+--------
 *	              +--> struct lane, its unwinder and tables: a mapping of its own, made when needed
 *
 * The unwinder lies right after its lane, so that its address is known without a load: a program
 * that allocates now and then finds all of this out of the CPU's caches, and each pointer that must
 * be followed is a wait of its own.
 *
 * Threads: a lane is written by its own thread only. The writer reads counters (COUNT_READ) and,
 * when the thread is gone, takes the lane's block.
 */
#ifndef RECORD_LANE_H
#define RECORD_LANE_H

#include "format/event_encode.h"
#include "record/address_owner.h"
#include "record/estimated_time.h"
#include "record/record.h"
#include "record/stack_id_cache.h"
#include "unwind/stack_cache.h"

#define LANE_LEAVES 64

/* What every event needs comes first. */
struct lane {
	_Alignas(64) struct event_encoder enc;
	struct block *block; /* where events go; NULL: the lane has none yet, or got none */
	struct thread *thread;
	uintptr_t leaf; /* the last caller of a hook: see stack_expect() */
	uintptr_t *after_leaf; /* the entry of leaf in after[] */
	struct estimated_time time;
	struct area *area; /* of block */
	uint32_t slot; /* number of block in area */
	uint32_t number; /* index in thread->lane[] */
	uint32_t next_index; /* block.lane_index of the lane's next block */
	uint32_t generation; /* of loaded code, as of the last stack */
	uint64_t lost_events;
	uint32_t allocator; /* of the call under way: see lane_set_allocator() */

	uint32_t n_walks; /* stacks that had to be walked, up to LANE_SETTLES */
	size_t cache_capacity; /* frames that the unwinder's stack cache has room for */

	/* The last stack that was not simple (unwind/stack_cache.h), outermost frame first: keys
	 * and ids (stack.c). */
	uint64_t *other_key;
	uint32_t *other_id;
	size_t n_other;
	size_t other_capacity;
	struct unwind_frames frames;
	struct unwind_thread *auditor; /* CONFIG_AUDIT: walks in full, without caches */
	struct audit_node *audit_nodes; /* CONFIG_AUDIT: by id, its frame and parent */
	uint64_t n_audited;
	uint64_t n_differing;
	struct stack_id_cache stack_ids;
	uintptr_t after[LANE_LEAVES]; /* by hash of a leaf: the leaf that came after it */
	struct module_list_range listed[MODULE_LIST_N_RANGES]; /* see module_list_add() */
};

/* The unwinder of the lane, right after it. */
static ALWAYS_INLINE struct unwind_thread *lane_unwinder(const struct lane *lane)
{
	return (struct unwind_thread *)(uintptr_t)(lane + 1);
}

/* What the recorder keeps of a thread of the target. The slot of a thread that is gone is used
 * again (thread.h). */
struct thread {
	uint32_t
		fast_epoch; /* == record_epoch: as epoch, and the fast path of capture.h may be used */
	_Atomic uint32_t depth; /* hooks under way. A hook's end stores with release order; the
				 * writer acquires it when the thread is gone. */
	uint32_t usual_fast_epoch; /* value of fast_epoch while allocator 0 is the encoder's: see
				    * lane_update_fast_path() */
	uint32_t epoch; /* == record_epoch: mode and session are up to date */
	uint32_t mode; /* enum record_mode as of epoch */
	_Atomic uint32_t number; /* in the recording, from 1 */
	bool has_free_stacks; /* GRAB_BACKTRACES_ON_FREE, in a cache line that the hook has anyway */
	struct lane *lane[BLOCK_N_LANES]; /* lane[0] is &first; others are NULL until needed */
	_Atomic(struct session *) session; /* that the lanes take blocks from; NULL: none */
	uint32_t redefine; /* the value of session->redefine as of epoch */
	struct recorder *rec;

	struct thread *next; /* in recorder.threads */
	_Atomic uint32_t owner_tid; /* 0: the slot is free; or THREAD_SLOT_CLAIMED */
	_Atomic uint64_t start_ticks;
	uint32_t announced_number; /* writer: number of the thread whose name it wrote ... */
	uint32_t n_announced; /* ... this many times */
	struct lane first; /* lane[0]. The last member: its unwinder lies right after it. */
};

_Static_assert(offsetof(struct thread, first) + sizeof(struct lane) == sizeof(struct thread),
	       "lane_unwinder()");

/* The thread whose first lane this is. */
static ALWAYS_INLINE struct thread *lane_thread_of_first(struct lane *lane)
{
	return (struct thread *)((uint8_t *)lane - offsetof(struct thread, first));
}

/* The fast path of capture_fast.h is for blocks of allocator 0, and does not ask which allocator the
 * encoder has. So a thread uses the fast path only while its first lane's encoder has allocator 0.
 * To be called when that may have changed. */
static ALWAYS_INLINE void lane_update_fast_path(struct lane *lane)
{
	struct thread *t = lane->thread;

	if (lane == &t->first)
		t->fast_epoch = lane->enc.allocator ? 0 : t->usual_fast_epoch;
}

/* The call under way is about blocks of this allocator (format/event.h); hooks of allocators inside
 * the program set the number when they have entered the lane, and set 0 before they leave. The
 * event of the call brings the encoder up to date (capture.c). */
static ALWAYS_INLINE void lane_set_allocator(struct lane *lane, uint32_t allocator)
{
	lane->allocator = allocator;
}

/* Bytes that a lane needs right after itself: its unwinder and its tables. Large, and touched
 * lazily. */
size_t lane_table_bytes(void);

/* Makes a lane of zeroed memory, lane_table_bytes() of zeros behind it. lane_reset() must
 * follow. */
void lane_init(struct lane *lane, struct thread *t, unsigned number);

/* Forgets all that the lane knows: a new thread of the recording knows nothing of the slot's last
 * thread. */
void lane_reset(struct lane *lane);

/* Publishes the lane's block, if it has one, and hands it to the writer. For the lane's thread, or
 * for whoever claimed the slot of a thread that is gone. The encoder forgets its addresses and
 * owner tags: should events be lost from now on, the lane must not take an address for its own. */
void lane_finish_block(struct lane *lane);

/* Hands over the lane's block and gets an empty one; may wait for the writer (pool_take()). False:
 * none could be had; the lane has no room, and its next event is lost. */
bool lane_new_block(struct lane *lane);

/* Gives the lane memory for a stack of up to n_keys keys that is not simple (lane.other_key):
 * LANE_OTHER_BYTES(n_keys) bytes, aligned to 8. */
#define LANE_OTHER_BYTES(n_keys) ((n_keys)*20 + 64)
void lane_set_other_memory(struct lane *lane, void *memory, size_t n_keys);

/* After this many stacks that had to be walked, most pages of the lane's tables are going to be
 * used, and lane_touch_tables() touches them all at once. It does nothing where there are many
 * threads: memory is worth more than a millisecond there. */
#define LANE_SETTLES 32
COLD void lane_touch_tables(struct lane *lane);

/* Is there room for n more events in the lane's block, or in a new one? */
static ALWAYS_INLINE bool lane_has_room(struct lane *lane, unsigned n)
{
	return likely(event_encoder_has_room(&lane->enc, n)) || lane_new_block(lane);
}

/* Makes everything that was encoded visible to the writer and to readers of the file. */
static ALWAYS_INLINE void lane_publish(struct lane *lane)
{
	atomic_store_explicit(&lane->block->used_bytes,
			      (uint32_t)(lane->enc.pos - lane->block->data), memory_order_release);
}

#endif
