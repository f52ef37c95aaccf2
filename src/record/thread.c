/* record/thread.c - see thread.h. */
#include "record/thread.h"

#include <string.h>

#include "record/capture.h"
#include "record/clock.h"
#include "record/pool.h"
#include "record/stack.h"
#include "record/sys.h"

#define FIRST_CACHE_CAPACITY 512
#define FEW_THREADS 8

_Thread_local struct thread *thread_self;
_Alignas(64) _Atomic uint64_t own_blocks_told[OWN_BLOCKS_TOLD];

/* Pieces of one mapping, each on a cache line of its own. */
static void *cut(uint8_t **rest, size_t bytes)
{
	void *piece = *rest;

	*rest += align_up(bytes, 64);
	return piece;
}

/* What a lane needs besides itself. */
static size_t table_bytes(void)
{
	const size_t n = FIRST_CACHE_CAPACITY;

	return (1 + CONFIG_AUDIT) * unwind_thread_bytes + EDGES_FIRST_BYTES + STACK_CACHE_BYTES(n) +
	       n * 24 + 512;
}

/* Behind the lane are table_bytes() of zeros. They are large and touched lazily. */
static void init_lane(struct lane *lane, struct thread *t, unsigned number)
{
	const size_t n = FIRST_CACHE_CAPACITY;
	uint8_t *memory = (uint8_t *)(lane + 1);

	lane->thread = t;
	lane->number = number;
	cut(&memory, unwind_thread_bytes); /* lane_unwinder() */
	edges_init(&lane->edges, cut(&memory, EDGES_FIRST_BYTES), &t->rec->edge_bytes);
	lane->cache_capacity = n;
	stack_cache_set_memory(lane_unwinder(lane), cut(&memory, STACK_CACHE_BYTES(n)), n);
	lane->other_key = cut(&memory, n * sizeof(uint64_t));
	lane->frames.addr = cut(&memory, n * sizeof(uintptr_t));
	lane->other_id = cut(&memory, n * sizeof(uint32_t));
	lane->other_capacity = n;
	lane->frames.capacity = n - 2; /* the keys also hold two marks */
	if (CONFIG_AUDIT)
		lane->auditor = cut(&memory, unwind_thread_bytes);
}

/* Everything starts anew: a new thread in the recording knows nothing of the slot's last owner. */
static void reset_lane(struct lane *lane)
{
	lane->block = NULL;
	event_encoder_begin(&lane->enc, NULL, NULL, 0);
	lane->enc.next_stack = 1;
	lane->next_index = 0;
	lane->n_other = 0;
	lane->after_leaf = lane->after;
	stack_cache_forget_ids(lane_unwinder(lane));
	COUNT_RESET(lane->lost_events);
	edges_reset(&lane->edges);
	unwind_thread_init(lane_unwinder(lane), record_options.USE_SHADOW_STACK);
	if (CONFIG_AUDIT)
		unwind_thread_init(lane->auditor, false);
}

void lane_touch_tables(struct lane *lane)
{
	if (atomic_load(&lane->thread->rec->n_threads) <= FEW_THREADS)
		record_touch(lane + 1, table_bytes());
}

struct lane *thread_get_lane(struct thread *t, unsigned depth)
{
	struct lane *lane = t->lane[depth];

	if (lane)
		return lane;
	lane = record_map(sizeof(*lane) + table_bytes());
	if (!lane)
		return NULL;
	init_lane(lane, t, depth);
	reset_lane(lane);
	return t->lane[depth] = lane;
}

bool thread_claim_slot(struct thread *t, uint32_t tid)
{
	return atomic_compare_exchange_strong(&t->owner_tid, &tid, THREAD_SLOT_CLAIMED);
}

/* The slot of an earlier thread that had our tid and that the writer has not missed yet. */
static bool take_over(struct thread *t, uint32_t tid)
{
	if (!thread_claim_slot(t, tid))
		return false;
	(void)atomic_load_explicit(&t->depth, memory_order_acquire); /* its last hook is over */
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (!t->lane[i])
			continue;
		lane_finish_block(t->lane[i]);
		atomic_fetch_add(&t->rec->lost_events, t->lane[i]->lost_events);
		COUNT_RESET(t->lane[i]->lost_events);
	}
	t->session = NULL;
	atomic_store(&t->owner_tid, tid);
	return true;
}

/* A slot whose thread is gone, or NULL. Its lanes hold no blocks any more. */
static struct thread *take_free_slot(struct recorder *rec, uint32_t tid)
{
	for (struct thread *t = atomic_load(&rec->threads); t; t = t->next) {
		uint32_t expected = 0;

		if (take_over(t, tid))
			return t;
		if (atomic_compare_exchange_strong(&t->owner_tid, &expected, tid))
			return t;
	}
	return NULL;
}

static struct thread *add_slot(struct recorder *rec, uint32_t tid)
{
	struct thread *t = record_map(sizeof(*t) + table_bytes());

	if (!t)
		return NULL;
	t->rec = rec;
	atomic_store(&t->owner_tid, tid);
	t->lane[0] = &t->first;
	init_lane(&t->first, t, 0);
	reset_lane(&t->first);
	t->next = atomic_load(&rec->threads);
	while (!atomic_compare_exchange_weak(&rec->threads, &t->next, t))
		;
	return t;
}

static void begin_lanes(struct thread *t)
{
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			reset_lane(t->lane[i]);
	}
	t->number = 1 + atomic_fetch_add(&t->rec->n_threads, 1);
	if (t->number > 1) /* before it can hand over a block, or get one */
		atomic_store(&clock_is_shared, 1);
	t->start_ticks = clock_ticks();
}

struct thread *thread_attach(struct recorder *rec)
{
	uint32_t tid = sys_gettid();
	struct thread *t = take_free_slot(rec, tid);

	if (!t)
		t = add_slot(rec, tid);
	if (!t)
		return NULL;
	t->depth = 0;
	t->session = NULL;
	thread_forget_epoch(t);
	thread_self = t;
	return t;
}

void thread_finish_blocks(struct thread *t)
{
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			lane_finish_block(t->lane[i]);
	}
}

static void move_to(struct thread *t, struct session *session)
{
	if (session == t->session)
		return;
	thread_finish_blocks(t);
	begin_lanes(t);
	atomic_store(&t->session, session);
}

void thread_refresh(struct thread *t)
{
	uint32_t epoch = atomic_load(&record_epoch);
	struct session *session;

	/* The writer may give up a session when no thread names it any more. So name it first and
	 * then look whether it still is the current one. */
	do {
		session = pool_wait_session(t->rec);
		move_to(t, session);
	} while (session != atomic_load(&t->rec->session));
	if (session && t->redefine != atomic_load(&session->redefine)) {
		t->redefine = atomic_load(&session->redefine);
		for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
			if (t->lane[i])
				stack_forget(t->lane[i]);
		}
	}
	t->mode = session ? atomic_load(&record_mode) : RECORD_OFF;
	t->epoch = t->mode == RECORD_OFF ? 0 : epoch; /* off: stay on the slow way, which says no */
	t->has_free_stacks = record_options.GRAB_BACKTRACES_ON_FREE;
	t->quick_epoch = t->mode == RECORD_ON && capture_may_be_quick() ? epoch : 0;
}

void lane_finish_block(struct lane *lane)
{
	struct block *block = lane->block;

	if (!block)
		return;
	lane_publish(lane);
	lane->block = NULL;
	/* Should events be lost now: what it knew of their blocks is forgotten. */
	event_encoder_begin(&lane->enc, NULL, NULL, lane->enc.ticks);
	pool_give_full(lane->thread->rec, lane->area, lane->slot);
}

bool lane_new_block(struct lane *lane)
{
	struct thread *t = lane->thread;
	struct session *session = t->session;
	struct block *block;

	lane_finish_block(lane);
	if (!session || !pool_take(t->rec, session, &lane->area, &lane->slot))
		return false;
	block = &lane->area->blocks[lane->slot];
	atomic_store_explicit(&block->state, BLOCK_FREE, memory_order_relaxed);
	atomic_store_explicit(&block->used_bytes, 0, memory_order_release);
	block->magic = BLOCK_MAGIC;
	block->sequence = 1 + atomic_fetch_add(&session->next_block, 1);
	block->thread = t->number;
	block->lane = lane->number;
	block->tid = atomic_load(&t->owner_tid);
	block->lane_index = lane->next_index++;
	block->start_ticks = clock_ticks();
	block->first_stack = lane->enc.next_stack;
	block->generation = lane->generation;
	block->lost_before = lane->lost_events;
	block->checksum = block_checksum((const uint8_t *)block);
	atomic_store_explicit(&block->state, BLOCK_OPEN, memory_order_release);
	event_encoder_begin(&lane->enc, block->data, block->data + BLOCK_DATA_BYTES,
			    block->start_ticks);
	lane->block = block;
	return true;
}
