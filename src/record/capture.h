/* record/capture.h - recording one call: what every hook does around the real function.
 *
 *	struct unwind_start at = CAPTURE_CALLER();
 *	struct lane *lane = capture_enter(&at);
 *	if (!lane)
 *		return real.malloc(size);
 *	p = real.malloc(size);
 *	capture_obtained(lane, &at, ...);
 *	capture_leave(lane);
 *
 * Between enter and leave the thread's depth is raised, so a hook that the real function reaches
 * (an allocator that calls mmap, calloc made of malloc) knows that it is part of a call that is
 * being recorded already. Nothing here changes errno.
 */
#ifndef RECORD_CAPTURE_H
#define RECORD_CAPTURE_H

#include "arch/arch.h"
#include "record/clock.h"
#include "record/stack.h"
#include "record/thread.h"

/* To be used in the hook itself, which must not be inlined. */
#define CAPTURE_CALLER()                                                                           \
	((struct unwind_start){                                                                    \
		.pc = ARCH_CALLER_PC(),                                                            \
		.sp = ARCH_CALLER_SP(),                                                            \
		.fp = ARCH_CALLER_FP(),                                                            \
	})

/* For functions that are called rarely: a copy for them, so that the original can stay in registers. */
#define CAPTURE_COPY(at) (&(struct unwind_start){(at).pc, (at).sp, (at).fp})

/* The rare ways in: first event of the process or thread, a change of mode, a nested call. */
COLD struct lane *capture_enter_slow(const struct unwind_start *at);

/* The lane for this call, or NULL when it is not to be recorded. */
static ALWAYS_INLINE struct lane *capture_enter(const struct unwind_start *at)
{
	struct thread *t = thread_self;

	if (unlikely(!t || atomic_load_explicit(&t->depth, memory_order_relaxed) ||
		     t->epoch != atomic_load_explicit(&record_epoch, memory_order_relaxed)))
		return capture_enter_slow(at);
	atomic_store_explicit(&t->depth, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* a handler sees depth before we touch a lane */
	return &t->first;
}

static ALWAYS_INLINE void capture_leave(struct lane *lane)
{
	atomic_store_explicit(&lane->thread->depth, lane->number, memory_order_release);
}

/* Quick capture: what nearly all calls of malloc, calloc and free need and no more, inline in the
 * hook. It is for threads that record in the usual way, which quick_epoch tells in one comparison:
 * recording is on, times come from the CPU, blocks are chunks of glibc. Next to nothing is called, so all of
 * it stays in registers. Whatever else there may be is left to the functions below, before anything
 * was done. */
bool capture_may_be_quick(void);

/* The lane for this call, or NULL: capture_enter() must be used. */
static ALWAYS_INLINE struct lane *capture_enter_quick(void)
{
	struct thread *t = thread_self;

	if (unlikely(!t || atomic_load_explicit(&t->depth, memory_order_relaxed) ||
		     t->quick_epoch != atomic_load_explicit(&record_epoch, memory_order_relaxed)))
		return NULL;
	atomic_store_explicit(&t->depth, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* as in capture_enter() */
	return &t->first;
}

static ALWAYS_INLINE void capture_leave_quick(struct lane *lane)
{
	atomic_store_explicit(&thread_of_first(lane)->depth, 0, memory_order_release);
}

/* Does glibc's allocator give as many usable bytes as it usually does for this size? It keeps the
 * size of a chunk, with three flags, in the word before the block; where that is what it should be
 * and the block is no mapping of its own, malloc_usable_size() would tell the same. Anything else
 * is left to that function. */
static ALWAYS_INLINE bool capture_is_usual_chunk(const void *block, size_t size_bytes)
{
	const size_t previous_in_use = 1, other_arena = 4;
	size_t word = ((const size_t *)block)[-1];

	return (word & ~(previous_in_use | other_arena)) == event_usual_chunk(size_bytes);
}

/* The time of an event: carried on, or read. Some CPUs first wait until everything before the reading is
 * done, 10 ns and all misses of the program's loads, and begin nothing behind it. A release finds
 * its stack meanwhile and then reads the counter. An allocation reads it first: its memo is still being
 * fetched. */
static ALWAYS_INLINE uint64_t capture_ticks_quick(struct lane *lane, bool may_carry)
{
	uint64_t ticks;

	if (may_carry && likely(carried_time_take(&lane->time)))
		return lane->enc.ticks + 1;
	ticks = arch_ticks() >> CLOCK_TICK_SHIFT;
	carried_time_note(&lane->time, lane->enc.ticks, ticks);
	return ticks;
}

/* When an event was, and what to note with its address (own_blocks.h). */
struct capture_moment {
	uint64_t ticks; /* 0: not known yet, and it may be carried */
	uint64_t note;
};

/* A block was born, later than what other lanes did with its address before. */
static ALWAYS_INLINE struct capture_moment capture_birth_quick(struct lane *lane, const void *block)
{
	struct capture_moment when = {.note = 0};

	if (!clock_is_of_many()) {
		when.ticks = capture_ticks_quick(lane, true);
		return when;
	}
	when.note = own_blocks_born_again(&lane->enc, block);
	when.ticks = capture_ticks_quick(lane, when.note);
	if (!when.note)
		when.note = own_blocks_note_birth(when.ticks);
	return when;
}

static ALWAYS_INLINE struct event_call capture_call(const void *block, size_t size_bytes,
						    uint32_t stack, struct capture_moment when)
{
	return (struct event_call){
		.ticks = when.ticks,
		.addr = (uintptr_t)block,
		.size_bytes = size_bytes,
		.note = when.note,
		.stack = stack,
	};
}

/* What does not fit the short form, and a block that is more than what glibc usually gives. False: it is
 * lost, and counted. */
bool capture_put_long(struct lane *lane, unsigned kind, const void *block, size_t size_bytes,
		      uint32_t stack, struct capture_moment when);
void capture_put_unusual(struct lane *lane, unsigned kind, const void *block, size_t size_bytes,
			 uint32_t stack, struct capture_moment when);

/* A call with this stack. False: it does not fit, and nothing was done. The begin of a realloc must be in
 * the short form. */
static ALWAYS_INLINE bool capture_put_quick(struct lane *lane, unsigned kind, const void *block,
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

/* Where the stack will be looked for, so that it is in the cache when the real function is done. */
static ALWAYS_INLINE struct walk_memo *capture_prepare_quick(struct lane *lane,
							     const struct unwind_start *at)
{
	struct walk_memo *memo = walk_memo_slot(lane_unwinder(lane), at);

	if (!memo)
		__builtin_unreachable();
	__builtin_prefetch(memo);
	return memo;
}

/* The stack of this call, if it is one of the many that are known at once; else 0. memo: what
 * capture_prepare_quick() gave, or NULL. */
static ALWAYS_INLINE uint32_t capture_stack_quick(struct lane *lane, struct walk_memo *memo,
						  const struct unwind_start *at)
{
	return CONFIG_AUDIT ? 0 : stack_quick(lane, memo, at);
}

/* A block that malloc, calloc or realloc gave. */
static ALWAYS_INLINE bool capture_block_quick(struct lane *lane, unsigned kind, const void *block,
					      size_t size_bytes, uint32_t stack,
					      struct capture_moment when)
{
	if (likely(capture_is_usual_chunk(block, size_bytes)))
		return capture_put_quick(lane, kind, block, size_bytes, stack, when);
	capture_put_unusual(lane, kind, block, size_bytes, stack, when);
	return true;
}

/* when: known as soon as the block was there. */
static ALWAYS_INLINE bool capture_obtained_quick(struct lane *lane, unsigned kind,
						 const void *block, size_t size_bytes,
						 uint32_t stack, struct capture_moment when)
{
	return likely(stack && block) &&
	       capture_block_quick(lane, kind, block, size_bytes, stack, when);
}

/* First of all when a block is released: its time must not be earlier than that of its birth. */
static ALWAYS_INLINE struct capture_moment capture_wait_for_block(struct lane *lane,
								  const void *block)
{
	struct capture_moment when = {.ticks = 0, .note = 0};

	if (!clock_is_of_many())
		return when;
	when.note = own_blocks_released(&lane->enc, block);
	if (when.note)
		return when;
	__builtin_prefetch(own_blocks_told_at(block), 1);
	clock_wait();
	when.ticks = clock_ticks();
	when.note = own_blocks_tell(block, when.ticks);
	return when;
}

/* A block that is about to be freed. when: what capture_wait_for_block() gave. *stack is 0, or becomes
 * its stack. */
static ALWAYS_INLINE bool capture_free_quick(struct lane *lane, const struct unwind_start *at,
					     const void *block, struct capture_moment when,
					     uint32_t *stack)
{
	if (likely(thread_of_first(lane)->has_free_stacks)) {
		*stack = capture_stack_quick(lane, NULL, at);
		if (unlikely(!*stack))
			return false;
	}
	if (!when.ticks)
		when.ticks = capture_ticks_quick(lane, true);
	return capture_put_quick(lane, EVENT_FREE, block, 0, *stack, when);
}

/* A realloc under way. */
struct capture_realloc {
	const void *block; /* the old one */
	uint8_t *record; /* where its begin lies, when it may yet become the whole story */
	uint32_t stack;
	bool is_recorded;
};

/* A realloc that is about to begin, and one that has ended; what is in r comes from the former. */
static ALWAYS_INLINE bool capture_realloc_begin_quick(struct lane *lane,
						      const struct unwind_start *at,
						      struct capture_realloc *r, size_t size_bytes,
						      struct capture_moment when)
{
	r->stack = capture_stack_quick(lane, NULL, at);
	r->record = lane->enc.pos;
	if (unlikely(!r->stack))
		return false;
	if (!when.ticks)
		when.ticks = capture_ticks_quick(lane, true);
	return capture_put_quick(lane, EVENT_REALLOC_BEGIN, r->block, size_bytes, r->stack, when);
}

/* A call has one time, that of its beginning, unless it matters that its end is later: other threads or
 * handlers of signals may have made events meanwhile, or a large block was copied. */
#define CAPTURE_SMALL_BYTES (16 * KIB)

static ALWAYS_INLINE struct capture_moment capture_end_quick(struct lane *lane, size_t size_bytes)
{
	struct capture_moment when = {.ticks = lane->enc.ticks, .note = 0};

	if (likely(!clock_is_of_many() && size_bytes <= CAPTURE_SMALL_BYTES))
		return when;
	when.ticks = capture_ticks_quick(lane, false);
	if (clock_is_of_many())
		when.note = own_blocks_note_birth(when.ticks);
	return when;
}

/* The block stayed where it was; its begin is the last event, in the short form. */
static ALWAYS_INLINE void capture_keep_in_place(struct lane *lane, const struct capture_realloc *r)
{
	event_make_in_place(r->record);
	own_blocks_stay(&lane->enc, r->block);
}

static ALWAYS_INLINE bool capture_realloc_end_quick(struct lane *lane,
						    const struct capture_realloc *r,
						    const void *block, size_t size_bytes)
{
	if (unlikely(!block))
		return false;
	if (block != r->block || unlikely(!capture_is_usual_chunk(block, size_bytes)))
		return capture_block_quick(lane, EVENT_REALLOC_END, block, size_bytes, r->stack,
					   capture_end_quick(lane, size_bytes));
	capture_keep_in_place(lane, r);
	return true;
}

/* A block was obtained by malloc or calloc, which kind tells. stack: 0, or it is known already. */
void capture_obtained(struct lane *lane, const struct unwind_start *at, unsigned kind,
		      const void *block, size_t size_bytes, uint32_t stack);
void capture_aligned(struct lane *lane, const struct unwind_start *at, const void *block,
		     size_t size_bytes, size_t alignment);

/* A block is about to be given back; when: it was waited for. stack: likewise. */
void capture_free(struct lane *lane, const struct unwind_start *at, const void *block,
		  uint32_t stack, struct capture_moment when);

/* A block is about to be moved or to change its size; when: it was waited for. r->stack: likewise. */
void capture_realloc_begin(struct lane *lane, const struct unwind_start *at,
			   struct capture_realloc *r, size_t size_bytes,
			   struct capture_moment when);

/* It was, without failure. */
void capture_realloc_end(struct lane *lane, const struct capture_realloc *r, const void *block,
			 size_t size_bytes);

/* A rare event without a stack. */
void capture_rare(struct lane *lane, unsigned kind, const uint64_t *field, unsigned n);

/* A rare event whose last field is the stack. field has room for one more than n. */
void capture_rare_call(struct lane *lane, const struct unwind_start *at, unsigned kind,
		       uint64_t *field, unsigned n);

/* A rare event from wherever we are, entering and leaving by itself. */
void capture_note(unsigned kind, const uint64_t *field, unsigned n);

#endif
