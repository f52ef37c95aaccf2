/* record/capture.h - recording one call: what every hook does around the real function.
 *
 *	struct unwind_start at = CAPTURE_CALLER();
 *	struct lane *lane = capture_enter(&at);
 *	if (!lane)
 *		return real.malloc(size);
 *	p = real.malloc(size);
 *	capture_malloc(lane, &at, ...);
 *	capture_leave(lane);
 *
 * Between enter and leave the thread's depth is raised, so a hook that the real function reaches
 * (an allocator that calls mmap, calloc made of malloc) knows that it is part of a call that is
 * being recorded already. Nothing here changes errno.
 */
#ifndef RECORD_CAPTURE_H
#define RECORD_CAPTURE_H

#include "arch/arch.h"
#include "record/thread.h"

/* To be used in the hook itself, which must not be inlined. */
#define CAPTURE_CALLER()                                                                           \
	((struct unwind_start){                                                                    \
		.pc = ARCH_CALLER_PC(),                                                            \
		.sp = ARCH_CALLER_SP(),                                                            \
		.fp = ARCH_CALLER_FP(),                                                            \
	})

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
	return t->lane[0];
}

static ALWAYS_INLINE void capture_leave(struct lane *lane)
{
	atomic_store_explicit(&lane->thread->depth, lane->number, memory_order_release);
}

/* A block was obtained. */
void capture_malloc(struct lane *lane, const struct unwind_start *at, const void *block,
		    size_t size_bytes);
void capture_calloc(struct lane *lane, const struct unwind_start *at, const void *block,
		    size_t size_bytes);
void capture_aligned(struct lane *lane, const struct unwind_start *at, const void *block,
		     size_t size_bytes, size_t alignment);

/* A block is about to be given back. */
void capture_free(struct lane *lane, const struct unwind_start *at, const void *block);

/* A realloc under way. */
struct capture_realloc {
	const void *block; /* the old one */
	uint8_t *record; /* where its begin lies, when it may yet become the whole story */
	uint32_t stack;
	bool is_recorded;
};

/* A block is about to be moved or to change its size. */
void capture_realloc_begin(struct lane *lane, const struct unwind_start *at,
			   struct capture_realloc *r, size_t size_bytes);

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
