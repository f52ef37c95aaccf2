/* record/capture_fast.h - the fast path of the hooks of malloc, calloc, realloc and free.
 *
 * hooks_allocator.c uses parts of it for the same functions of allocators inside the program.
 *
 * These functions are inline in the hooks, and handle nearly all calls of nearly all programs. The
 * functions of capture.h, which explains the words, handle every call. A function here that cannot
 * handle its call returns 0, NULL or false, and has not put the event. Then the hook calls the
 * function of capture.h, and passes on what is known: the id of the stack, or 0, and the moment of a
 * release: the release must not be published a second time. A malloc:
 *
 *	lane = capture_enter_fast();			NULL: the hook uses capture.h from here
 *	memo = capture_prepare_fast(lane, &at);
 *	p = real.malloc(size);
 *	when = capture_alloc_moment_fast(lane, p);
 *	stack = capture_stack_fast(lane, memo, &at);	0: capture_alloc_fast() returns false
 *	capture_alloc_fast(lane, ..., stack, when);	false: capture_alloc() puts the event
 *	capture_leave_fast(lane);
 *
 * A thread uses the fast path while its fast_epoch equals record_epoch. So one comparison shows
 * that recording is on, times come from the CPU's counter, blocks are chunks of glibc, and malloc
 * need not give zeroed memory (thread_refresh()). The fast path calls hardly any function, so all
 * values stay in registers.
 *
 * Threads: a lane is used by its own thread only. Nothing here changes errno.
 */
#ifndef RECORD_CAPTURE_FAST_H
#define RECORD_CAPTURE_FAST_H

#include "record/capture.h"

/* The thread's own lane, or NULL: capture_enter() must be used. */
static ALWAYS_INLINE struct lane *capture_enter_fast(void)
{
	struct thread *t = thread_self;

	if (unlikely(!t || atomic_load_explicit(&t->depth, memory_order_relaxed) ||
		     t->fast_epoch != atomic_load_explicit(&record_epoch, memory_order_relaxed)))
		return NULL;
	atomic_store_explicit(&t->depth, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* as in capture_enter() */
	return &t->first;
}

/* The same as capture_leave(), for what capture_enter_fast() began only. */
static ALWAYS_INLINE void capture_leave_fast(struct lane *lane)
{
	atomic_store_explicit(&lane_thread_of_first(lane)->depth, 0, memory_order_release);
}

/* The time of an event: estimated, if may_estimate and estimated_time.h allow it, or read.
 *
 * When to read: some CPUs wait for everything before the reading (10 ns, and all cache misses of
 * the program's loads) and begin nothing after it. So a release first finds its stack and then
 * reads the counter. An allocation reads the counter first, while the memo of its stack is still
 * being fetched. */
static ALWAYS_INLINE uint64_t capture_ticks_fast(struct lane *lane, bool may_estimate)
{
	uint64_t ticks;

	if (may_estimate && likely(estimated_time_use(&lane->time)))
		return lane->enc.ticks + 1;
	ticks = arch_ticks() >> CLOCK_TICK_SHIFT;
	estimated_time_on_reading(&lane->time, lane->enc.ticks, ticks);
	return ticks;
}

/* The moment of an allocation that has just returned this block, or NULL. If another lane may have
 * used the address, the time is read; otherwise the time may be estimated. The time is read without
 * a fence, so it may be earlier than the release before it (clock_fence()). */
static ALWAYS_INLINE struct capture_moment capture_alloc_moment_fast(struct lane *lane,
								     const void *block)
{
	struct capture_moment when = {.owner_tag = 0};

	if (!clock_has_many_lanes()) {
		when.ticks = capture_ticks_fast(lane, true);
		return when;
	}
	when.owner_tag = address_owner_on_alloc(&lane->enc, block);
	when.ticks = capture_ticks_fast(lane, when.owner_tag);
	if (!when.owner_tag)
		when.owner_tag = address_owner_alloc_tag(when.ticks);
	return when;
}

/* Puts the event of a call. False: nothing was put, because the lane's event block has no room, or
 * because the begin of a realloc does not fit the short form. Other events that do not fit the
 * short form are put in the long form. */
static ALWAYS_INLINE bool capture_put_fast(struct lane *lane, unsigned kind, const void *block,
					   size_t size_bytes, uint32_t stack,
					   struct capture_moment when)
{
	struct event_call call = capture_call(block, size_bytes, stack, when);

	if (unlikely(!event_encoder_has_room(&lane->enc, 1)))
		return false;
	if (likely(event_put_short(&lane->enc, kind, &call)))
		lane_publish(lane);
	else if (kind == EVENT_REALLOC_BEGIN)
		return false;
	else
		capture_put_long(lane, kind, block, size_bytes, stack, when);
	return true;
}

/* Prefetches the memo of the stack (a walk that was seen before: unwind/walk_memo.h), so that the
 * memo is in the cache when the real function returns. Never NULL. */
static ALWAYS_INLINE struct walk_memo *capture_prepare_fast(struct lane *lane,
							    const struct unwind_start *at)
{
	struct walk_memo *memo = walk_memo_slot(lane_unwinder(lane), at);

	if (!memo)
		__builtin_unreachable();
	__builtin_prefetch(memo);
	return memo;
}

/* The id of the stack of this call, if the caches of stack.h know it at once; else 0. memo: what
 * capture_prepare_fast() returned, or NULL. Always 0 with CONFIG_AUDIT, a build that compares each
 * stack with a walk in full. */
static ALWAYS_INLINE uint32_t capture_stack_fast(struct lane *lane, struct walk_memo *memo,
						 const struct unwind_start *at)
{
	return CONFIG_AUDIT ? 0 : stack_find_fast(lane, memo, at);
}

/* Puts the allocation of a block that malloc, calloc or realloc returned. False: as
 * capture_put_fast(). */
static ALWAYS_INLINE bool capture_chunk_fast(struct lane *lane, unsigned kind, const void *block,
					     size_t size_bytes, uint32_t stack,
					     struct capture_moment when)
{
	if (likely(capture_is_usual_chunk(block, size_bytes)))
		return capture_put_fast(lane, kind, block, size_bytes, stack, when);
	capture_put_unusual(lane, kind, block, size_bytes, stack, when);
	return true;
}

/* Puts the allocation of a block that malloc or calloc returned. False: block is NULL, or stack is
 * 0, or as capture_put_fast(). when: what capture_alloc_moment_fast() returned. */
static ALWAYS_INLINE bool capture_alloc_fast(struct lane *lane, unsigned kind, const void *block,
					     size_t size_bytes, uint32_t stack,
					     struct capture_moment when)
{
	return likely(stack && block) &&
	       capture_chunk_fast(lane, kind, block, size_bytes, stack, when);
}

/* Puts the free of a block. when: what capture_publish_release() returned. *stack must be 0 and
 * becomes the id of the stack if the id is found, also if the result is false. False: the stack is
 * not known at once, or as capture_put_fast(). */
static ALWAYS_INLINE bool capture_free_fast(struct lane *lane, const struct unwind_start *at,
					    const void *block, struct capture_moment when,
					    uint32_t *stack)
{
	if (likely(lane_thread_of_first(lane)->has_free_stacks)) {
		*stack = capture_stack_fast(lane, NULL, at);
		if (unlikely(!*stack))
			return false;
	}
	if (!when.ticks)
		when.ticks = capture_ticks_fast(lane, true);
	return capture_put_fast(lane, EVENT_FREE, block, 0, *stack, when);
}

/* Puts the begin of a realloc: r->block is about to be released. Sets r->stack and r->record. when:
 * what capture_publish_release() returned. False: the stack is not known at once, or as
 * capture_put_fast(). */
static ALWAYS_INLINE bool capture_realloc_begin_fast(struct lane *lane,
						     const struct unwind_start *at,
						     struct capture_realloc *r, size_t size_bytes,
						     struct capture_moment when)
{
	r->stack = capture_stack_fast(lane, NULL, at);
	r->record = lane->enc.pos;
	if (unlikely(!r->stack))
		return false;
	if (!when.ticks)
		when.ticks = capture_ticks_fast(lane, true);
	return capture_put_fast(lane, EVENT_REALLOC_BEGIN, r->block, size_bytes, r->stack, when);
}

/* The end of a realloc has the time of its begin if the program has one lane and the new block has
 * at most CAPTURE_SMALL_BYTES. Else the end may be much later (other lanes made events meanwhile,
 * or the copying took long), and the time is read. */
#define CAPTURE_SMALL_BYTES (16 * KIB)

/* The moment of the end of a realloc that needs an event of its own. */
static ALWAYS_INLINE struct capture_moment capture_end_fast(struct lane *lane, size_t size_bytes)
{
	struct capture_moment when = {.ticks = lane->enc.ticks, .owner_tag = 0};

	if (likely(!clock_has_many_lanes() && size_bytes <= CAPTURE_SMALL_BYTES))
		return when;
	when.ticks = capture_ticks_fast(lane, false);
	if (clock_has_many_lanes())
		when.owner_tag = address_owner_alloc_tag(when.ticks);
	return when;
}

/* Puts the end of a realloc whose begin capture_realloc_begin_fast() put. block: the result of
 * realloc. False: the realloc failed, or as capture_put_fast(). */
static ALWAYS_INLINE bool capture_realloc_end_fast(struct lane *lane,
						   const struct capture_realloc *r,
						   const void *block, size_t size_bytes)
{
	if (unlikely(!block))
		return false;
	if (block != r->block || unlikely(!capture_is_usual_chunk(block, size_bytes)))
		return capture_chunk_fast(lane, EVENT_REALLOC_END, block, size_bytes, r->stack,
					  capture_end_fast(lane, size_bytes));
	capture_keep_in_place(lane, r);
	return true;
}

#endif
