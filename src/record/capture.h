/* record/capture.h - recording one call: what every hook does around the real function.
 *
 *	struct unwind_start at = CAPTURE_CALLER();
 *	struct lane *lane = capture_enter(&at);
 *	if (!lane)
 *		return real.malloc(size);
 *	p = real.malloc(size);
 *	capture_alloc(lane, &at, ...);
 *	capture_leave(lane);
 *
 * Words. A lane is one stream of events: of a thread, or of a signal handler that interrupted a
 * hook (lane.h). A block is memory of the program. An event block is the part of the recording that
 * a lane fills with events. An event has a short form of a few bytes, or a long form that has room
 * for everything (format/event_encode.h).
 *
 * Between enter and leave the thread's depth is above 0. A hook that finds depth above 0 walks its
 * stack (capture_enter_slow()):
 *   - The real function called the hook (an allocator that calls mmap, a calloc made of malloc):
 *     the call is part of a call that is being recorded already, and is not recorded.
 *   - A signal handler interrupted a hook, and called this one: the handler's lane gets the event.
 *
 * Order at one address. An allocation is recorded after the real function returned the block. A
 * release is recorded, and published to other lanes (address_owner.h), before the real function
 * gets the block back. So whatever other threads do, allocations and releases at one address
 * alternate. Their times may differ from this order: see clock_fence().
 *
 * Two sets of functions. The functions with _fast in their name are inline in the hooks of malloc,
 * calloc, realloc and free, and handle nearly all calls of nearly all programs. The others handle
 * everything. A _fast function that cannot handle its call returns 0, NULL or false, and has not
 * put the event. Then the hook calls the other function, and passes on what is known: the id of the
 * stack, or 0, and the moment of a release. A release is published once only.
 *
 * Threads: a lane is used by its own thread only. Nothing here changes errno. An event that finds
 * no room is counted in lane->lost_events.
 */
#ifndef RECORD_CAPTURE_H
#define RECORD_CAPTURE_H

#include "arch/arch.h"
#include "record/clock.h"
#include "record/options.h"
#include "record/stack.h"
#include "record/thread.h"

/* Where the hook was called from. Used in the hook itself, which must not be inlined. */
#define CAPTURE_CALLER()                                                                           \
	((struct unwind_start){                                                                    \
		.pc = ARCH_CALLER_PC(),                                                            \
		.sp = ARCH_CALLER_SP(),                                                            \
		.fp = ARCH_CALLER_FP(),                                                            \
	})

/* A copy of at, for functions that are called rarely: the original can then stay in registers. */
#define CAPTURE_COPY(at) (&(struct unwind_start){(at).pc, (at).sp, (at).fp})

/* Is the address in the code of the recorder? */
bool capture_is_own_code(uintptr_t addr);

/* The rest of capture_enter(): the first event of a process or of a thread, a change of mode, a
 * nested call. */
COLD struct lane *capture_enter_slow(const struct unwind_start *at);

/* The lane for this call. NULL: the call is not to be recorded, and capture_leave() must not be
 * called. A lane is also returned while recording is paused (lane->thread->mode is RECORD_PAUSED):
 * then releases are recorded, allocations are not. */
static ALWAYS_INLINE struct lane *capture_enter(const struct unwind_start *at)
{
	struct thread *t = thread_self;

	if (unlikely(!t || atomic_load_explicit(&t->depth, memory_order_relaxed) ||
		     t->epoch != atomic_load_explicit(&record_epoch, memory_order_relaxed)))
		return capture_enter_slow(at);
	atomic_store_explicit(&t->depth, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* a handler sees depth before we use a lane */
	return &t->first;
}

/* The end of what capture_enter() or capture_enter_fast() began. Depth becomes what it was before:
 * depth is n when lane n is entered, and n + 1 inside. */
static ALWAYS_INLINE void capture_leave(struct lane *lane)
{
	atomic_store_explicit(&lane->thread->depth, lane->number, memory_order_release);
}

/* The fast path. A thread uses the fast path while its fast_epoch equals record_epoch. So one
 * comparison shows that recording is on, times come from the CPU's counter, blocks are chunks of
 * glibc, and malloc need not give zeroed memory (thread_refresh()). The fast path calls hardly any
 * function, so all values stay in registers. */

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

/* Does the block have as many usable bytes as glibc usually gives for this size? glibc keeps the
 * size of a chunk, with three flags, in the word before the block. True: the word is as expected
 * and the block is no mapping of its own, so malloc_usable_size() would return
 * event_usual_usable(). False: ask malloc_usable_size(). */
static ALWAYS_INLINE bool capture_is_usual_chunk(const void *block, size_t size_bytes)
{
	const size_t previous_in_use = 1, other_arena = 4;
	size_t word = ((const size_t *)block)[-1];

	return (word & ~(previous_in_use | other_arena)) == event_usual_chunk(size_bytes);
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

/* The time of an event, and the owner tag that it leaves at its address (address_owner.h). */
struct capture_moment {
	uint64_t ticks; /* 0: not known yet, and the time may be estimated */
	uint64_t owner_tag; /* 0 in a program with one lane */
};

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

/* The event of a call, without extras. */
static ALWAYS_INLINE struct event_call capture_call(const void *block, size_t size_bytes,
						    uint32_t stack, struct capture_moment when)
{
	return (struct event_call){
		.ticks = when.ticks,
		.addr = (uintptr_t)block,
		.size_bytes = size_bytes,
		.owner_tag = when.owner_tag,
		.stack = stack,
	};
}

/* Puts an event that does not fit the short form. False: there was no room; the event is lost and
 * counted. */
bool capture_put_long(struct lane *lane, unsigned kind, const void *block, size_t size_bytes,
		      uint32_t stack, struct capture_moment when);

/* Puts the allocation of a block whose usable size is not what glibc usually gives. Counts it if
 * there is no room. */
void capture_put_unusual(struct lane *lane, unsigned kind, const void *block, size_t size_bytes,
			 uint32_t stack, struct capture_moment when);

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

/* The moment of a release. A hook that is about to release a block calls this first, once. If
 * another lane may have used the address, the time is read behind a fence, so that it is not
 * earlier than the block's allocation, and the release is published to other lanes. Otherwise ticks
 * stays 0, and the time may be estimated; address_owner.h decides about publishing. */
static ALWAYS_INLINE struct capture_moment capture_publish_release(struct lane *lane,
								   const void *block)
{
	struct capture_moment when = {.ticks = 0, .owner_tag = 0};

	if (!clock_has_many_lanes())
		return when;
	when.owner_tag = address_owner_on_release(&lane->enc, block);
	if (when.owner_tag)
		return when;
	__builtin_prefetch(address_owner_stamp_slot(block), 1);
	clock_fence();
	when.ticks = clock_ticks();
	when.owner_tag = address_owner_publish_free(block, when.ticks);
	return when;
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

/* A realloc that has begun: its begin is the release of the old block, its end the allocation of
 * the new one. */
struct capture_realloc {
	const void *block; /* the old one */
	uint8_t *record; /* the event of the begin, in the short form; NULL: in the long form */
	uint32_t stack; /* of both events */
	bool is_recorded; /* the event of the begin was put. A hook that begins by
			   * capture_realloc_begin_fast() sets it to true. */
};

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

/* The block stayed where it was. The event of the begin now stands for both events. It must be the
 * lane's last event, in the short form. It was published already: one byte changes, so a reader
 * sees the begin alone or both. */
static ALWAYS_INLINE void capture_keep_in_place(struct lane *lane, const struct capture_realloc *r)
{
	event_make_in_place(r->record);
	address_owner_on_resize_in_place(&lane->enc, r->block);
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

/* Puts an allocation by malloc, calloc or realloc(NULL), and always reads its time. kind:
 * EVENT_MALLOC or EVENT_CALLOC. block: not NULL. stack: its id if it is known already, or 0. */
void capture_alloc(struct lane *lane, const struct unwind_start *at, unsigned kind,
		   const void *block, size_t size_bytes, uint32_t stack);

/* Puts an allocation by a function that takes an alignment. block: not NULL. */
void capture_aligned(struct lane *lane, const struct unwind_start *at, const void *block,
		     size_t size_bytes, size_t alignment);

/* A block of an allocator that is not glibc's: nothing around the block may be read. */
struct capture_block {
	const void *block;
	size_t size_bytes; /* wanted */
	size_t usable_bytes;
	size_t alignment; /* wanted; 0: none */
};

/* Puts an allocation by another allocator than the C library's. kind: EVENT_MALLOC, EVENT_CALLOC,
 * EVENT_ALIGNED or EVENT_REALLOC_END. stack: its id if it is known already, or 0. */
void capture_put_block(struct lane *lane, const struct unwind_start *at, unsigned kind,
		       const struct capture_block *b, uint32_t stack);

/* Puts the free of a block that is about to be given back. stack: its id if it is known already, or
 * 0. when: what capture_publish_release() returned. */
void capture_free(struct lane *lane, const struct unwind_start *at, const void *block,
		  uint32_t stack, struct capture_moment when);

/* Puts the begin of a realloc that is about to be made. The caller sets r->block, and r->stack: the
 * stack's id if known already, or zero. Sets the rest of r. when: what capture_publish_release()
 * returned. */
void capture_realloc_begin(struct lane *lane, const struct unwind_start *at,
			   struct capture_realloc *r, size_t size_bytes,
			   struct capture_moment when);

/* Puts the end of a realloc that succeeded and whose begin was put (r->is_recorded). block: its
 * result. A realloc that failed, or that freed the block, is a rare event (hooks_malloc.c). */
void capture_realloc_end(struct lane *lane, const struct capture_realloc *r, const void *block,
			 size_t size_bytes);

/* Puts a rare event without a stack: n fields. */
void capture_rare(struct lane *lane, unsigned kind, const uint64_t *field, unsigned n);

/* Puts a rare event whose last field is the stack. field has room for one more than n. */
void capture_rare_call(struct lane *lane, const struct unwind_start *at, unsigned kind,
		       uint64_t *field, unsigned n);

/* Puts a rare event without a stack from anywhere: enters and leaves by itself. */
void capture_standalone(unsigned kind, const uint64_t *field, unsigned n);

#endif
