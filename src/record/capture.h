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
 *     the call is part of a call that is being recorded already, and is not recorded. Unless the C
 *     library makes it, for memory of its own: the next lane gets the event.
 *   - A signal handler interrupted a hook, and called this one: the handler's lane gets the event.
 *
 * Order at one address. An allocation is recorded after the real function returned the block. A
 * release is recorded, and published to other lanes (address_owner.h), before the real function
 * gets the block back. So whatever other threads do, allocations and releases at one address
 * alternate. Their times may differ from this order: see clock_fence().
 *
 * The hooks of malloc, calloc, realloc and free first try the inline functions of capture_fast.h,
 * which handle nearly all calls of nearly all programs. The functions here handle every call.
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

/* The time of an event, and the owner tag that it leaves at its address (address_owner.h). */
struct capture_moment {
	uint64_t ticks; /* 0: not known yet, and the time may be estimated */
	uint64_t owner_tag; /* 0 in a program with one lane */
};

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

/* A realloc that has begun: its begin is the release of the old block, its end the allocation of
 * the new one. */
struct capture_realloc {
	const void *block; /* the old one */
	uint8_t *record; /* the event of the begin, in the short form; NULL: in the long form */
	uint32_t stack; /* of both events */
	bool is_recorded; /* the event of the begin was put. A hook that begins by
			   * capture_realloc_begin_fast() sets it to true. */
};

/* The block stayed where it was. The event of the begin now stands for both events. It must be the
 * lane's last event, in the short form. It was published already: one byte changes, so a reader
 * sees the begin alone or both. */
static ALWAYS_INLINE void capture_keep_in_place(struct lane *lane, const struct capture_realloc *r)
{
	event_make_in_place(r->record);
	address_owner_on_resize_in_place(&lane->enc, r->block);
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

/* The same while recording is on, if the id of the stack and the moment are known. */
void capture_put_known_block(struct lane *lane, unsigned kind, const struct capture_block *b,
			     uint32_t stack, struct capture_moment when);

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
