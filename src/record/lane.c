/* record/lane.c - see lane.h. */
#include "record/lane.h"

#include "base/bits.h"
#include "record/clock.h"
#include "record/options.h"
#include "record/own_memory.h"
#include "record/pool.h"

#define FIRST_CACHE_CAPACITY 512
#define FEW_THREADS 8

/* Cuts the next piece off a mapping. Each piece begins a cache line. */
static void *cut(uint8_t **rest, size_t bytes)
{
	void *piece = *rest;

	*rest += align_up(bytes, 64);
	return piece;
}

size_t lane_table_bytes(void)
{
	const size_t n = FIRST_CACHE_CAPACITY;

	return (1 + CONFIG_AUDIT) * unwind_thread_bytes + STACK_ID_CACHE_FIRST_BYTES +
	       STACK_CACHE_BYTES(n) + LANE_OTHER_BYTES(n) + 512;
}

void lane_set_other_memory(struct lane *lane, void *memory, size_t n_keys)
{
	size_t n_frames = n_keys / 2 - 1; /* a mark for each frame, and one for the end */

	lane->other_key = memory;
	lane->frames.addr = (uintptr_t *)(lane->other_key + n_keys);
	lane->frames.guess = (uint64_t *)(lane->frames.addr + n_frames);
	lane->other_id = (uint32_t *)(lane->frames.guess + UNWIND_GUESS_WORDS(n_frames));
	lane->other_capacity = n_keys;
	lane->frames.capacity = n_frames;
	lane->n_other = 0;
}

void lane_init(struct lane *lane, struct thread *t, unsigned number)
{
	const size_t n = FIRST_CACHE_CAPACITY;
	uint8_t *memory = (uint8_t *)(lane + 1);

	lane->thread = t;
	lane->number = number;
	cut(&memory, unwind_thread_bytes); /* lane_unwinder() */
	stack_id_cache_init(&lane->stack_ids, cut(&memory, STACK_ID_CACHE_FIRST_BYTES),
			    &t->rec->stack_id_cache_bytes);
	lane->cache_capacity = n;
	stack_cache_set_memory(lane_unwinder(lane), cut(&memory, STACK_CACHE_BYTES(n)), n);
	lane_set_other_memory(lane, cut(&memory, LANE_OTHER_BYTES(n)), n);
	if (CONFIG_AUDIT)
		lane->auditor = cut(&memory, unwind_thread_bytes);
}

void lane_reset(struct lane *lane)
{
	lane->block = NULL;
	event_encoder_begin(&lane->enc, NULL, NULL, 0);
	lane->enc.next_stack = 1;
	lane->next_index = 0;
	lane->allocator = 0;
	lane->n_other = 0;
	lane->after_leaf = lane->after;
	stack_cache_forget_ids(lane_unwinder(lane));
	COUNT_RESET(lane->lost_events);
	stack_id_cache_reset(&lane->stack_ids);
	unwind_thread_init(lane_unwinder(lane), options_active.USE_SHADOW_STACK);
	if (CONFIG_AUDIT)
		unwind_thread_init(lane->auditor, false);
}

void lane_touch_tables(struct lane *lane)
{
	if (atomic_load(&lane->thread->rec->n_threads) <= FEW_THREADS)
		own_memory_touch(lane + 1, lane_table_bytes());
}

void lane_finish_block(struct lane *lane)
{
	struct block *block = lane->block;

	if (!block)
		return;
	lane_publish(lane);
	lane->block = NULL;
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
	block->lane_index = lane->next_index++ |
			    (options_active.CULL_TEMPORARY_ALLOCATIONS ? BLOCK_INDEX_TO_CULL : 0);
	block->start_ticks = clock_ticks();
	block->first_stack = lane->enc.next_stack;
	block->generation = lane->generation;
	block->lost_before = lane->lost_events;
	block->checksum = block_checksum((const uint8_t *)block);
	atomic_store_explicit(&block->state, BLOCK_OPEN, memory_order_release);
	event_encoder_begin(&lane->enc, block->data, block->data + BLOCK_DATA_BYTES,
			    block->start_ticks);
	lane->block = block;
	lane_update_fast_path(lane);
	return true;
}
